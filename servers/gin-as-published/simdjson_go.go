package main

import "github.com/minio/simdjson-go"

// parse reads a batch as the published program does: with a new parser for each request, a search of the object for each
// member, a copy of each string, and without any validation. What is missing or of another type stays nil or empty.
func parse(text []byte) (*batch, error) {
	tape, err := simdjson.Parse(text, nil)
	if err != nil {
		return nil, err
	}
	read := new(batch)
	err = tape.ForEach(func(root simdjson.Iter) error {
		read.Operations = list(&root, "operations", readOperation)
		return nil
	})
	return read, err
}

func readOperation(from *simdjson.Iter) operation {
	op := operation{Method: text(from, "method"), RelativeURL: text(from, "relative-url"), Body: new(body)}
	if found, err := from.FindElement(nil, "body"); err == nil {
		op.Body.Filters = list(&found.Iter, "filters", readFilter)
		op.Body.ReadColumns = list(&found.Iter, "readColumns", readReadColumn)
		op.Body.OperationID = text(&found.Iter, "operationId")
	}
	return op
}

func readFilter(from *simdjson.Iter) filter {
	return filter{Column: text(from, "column"), Value: text(from, "value")}
}

func readReadColumn(from *simdjson.Iter) readColumn {
	return readColumn{Column: text(from, "column"), DataReturnType: text(from, "dataReturnType")}
}

// list reads every item of an array, which is searched for by its name.
func list[T any](from *simdjson.Iter, name string, read func(*simdjson.Iter) T) *[]T {
	found, err := from.FindElement(nil, name)
	if err != nil {
		return nil
	}
	array, err := found.Iter.Array(nil)
	if err != nil {
		return nil
	}
	items := make([]T, 0)
	array.ForEach(func(item simdjson.Iter) { items = append(items, read(&item)) })
	return &items
}

func text(from *simdjson.Iter, name string) *string {
	found, err := from.FindElement(nil, name)
	if err != nil {
		return nil
	}
	value, _ := found.Iter.String()
	return &value
}
