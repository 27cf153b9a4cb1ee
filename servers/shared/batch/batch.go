// Package batch decodes, checks and encodes the contract's batch with one of several libraries, for the Go servers.
package batch

import (
	"errors"
	"math"
	"strconv"
	"unicode/utf8"
)

const (
	maxItems      = 4096 // operations of a batch, filters and readColumns of an operation
	maxCharacters = 64   // of a column, a database, a table
	maxDepth      = 128  // of nested objects and arrays, the root being level 1
)

// Batch is the request body, as encoding/json/v2 and simdjson-go decode it. The members' names are given for encoding/json/v2;
// a zero value means "not given" throughout.
type Batch struct {
	Operations list[Operation] `json:"operations"`
}

// list is a slice; it is a type for encoding/json/v2 to stop at its bound.
type list[T any] []T

type Operation struct {
	Method      string `json:"method"`
	RelativeURL string `json:"relative-url"`
	Body        Body   `json:"body"`
}

type Body struct {
	Filters     list[Filter]     `json:"filters"`
	ReadColumns list[ReadColumn] `json:"readColumns,omitzero"`
	OperationID Optional         `json:"operationId,omitzero"`
}

type Filter struct {
	Column string `json:"column"`
	Value  Scalar `json:"value"`
}

type ReadColumn struct {
	Column         string   `json:"column"`
	DataReturnType Optional `json:"dataReturnType,omitzero"`
}

// Optional is a string that need not be given, which is not the same as an empty one.
type Optional struct {
	Text  string
	Given bool
}

func (o *Optional) IsZero() bool { return !o.Given }

// Scalar is the value of a filter: whatever JSON has but for arrays and objects.
type Scalar struct {
	Kind   ScalarKind
	Bool   bool
	Number float64
	Text   string
}

type ScalarKind uint8

const (
	Missing ScalarKind = iota
	Null
	Bool
	Number
	Text
)

// Receipt proves that a batch was decoded: every count and sum needs every value.
type Receipt struct {
	Operations, Filters, ReadColumns, Nulls, TextBytes int
	NumberSum                                          float64
}

var (
	errOperations  = errors.New("operations: 1 to 4096 objects are required")
	errMethod      = errors.New(`method: the string "POST" is required`)
	errRelativeURL = errors.New("relative-url: a string of at least 1 character is required")
	errFilters     = errors.New("body.filters: 1 to 4096 objects are required")
	errReadColumns = errors.New("body.readColumns: at most 4096 objects are accepted")
	errColumn      = errors.New("column: a string of 1 to 64 characters is required")
	errValue       = errors.New("value: a string, a number, a boolean or null is required")
	errNumberSum   = errors.New("value: the sum of the numbers overflows a double")
	errItems       = errors.New("at most 4096 objects are accepted")
	errDepth       = errors.New("nested more than 128 levels deep")
)

// Check holds the batch against the contract's bounds and sums it up.
func (b *Batch) Check() (r Receipt, err error) {
	if len(b.Operations) == 0 || len(b.Operations) > maxItems {
		return r, errOperations
	}
	r.Operations = len(b.Operations)
	for i := range b.Operations {
		if err = b.Operations[i].check(&r); err != nil {
			return r, err
		}
	}
	if math.IsInf(r.NumberSum, 0) {
		return r, errNumberSum
	}
	return r, nil
}

func (o *Operation) check(r *Receipt) error {
	err := r.countOperation(o.Method, o.RelativeURL, len(o.Body.Filters), len(o.Body.ReadColumns), o.Body.OperationID.Text)
	for i := 0; err == nil && i < len(o.Body.Filters); i++ {
		err = r.countFilter(o.Body.Filters[i].Column, &o.Body.Filters[i].Value)
	}
	for i := 0; err == nil && i < len(o.Body.ReadColumns); i++ {
		err = r.countReadColumn(o.Body.ReadColumns[i].Column, o.Body.ReadColumns[i].DataReturnType.Text)
	}
	return err
}

func (r *Receipt) countOperation(method, relativeURL string, filters, readColumns int, operationID string) error {
	switch {
	case method != "POST":
		return errMethod
	case relativeURL == "":
		return errRelativeURL
	case filters == 0 || filters > maxItems:
		return errFilters
	case readColumns > maxItems:
		return errReadColumns
	}
	r.Filters += filters
	r.ReadColumns += readColumns
	r.TextBytes += len(method) + len(relativeURL) + len(operationID)
	return nil
}

func (r *Receipt) countFilter(column string, value *Scalar) error {
	if !isName(column) {
		return errColumn
	}
	switch value.Kind {
	case Missing:
		return errValue
	case Null:
		r.Nulls++
	case Number:
		r.NumberSum += value.Number
	}
	r.TextBytes += len(column) + len(value.Text)
	return nil
}

func (r *Receipt) countReadColumn(column, dataReturnType string) error {
	if !isName(column) {
		return errColumn
	}
	r.TextBytes += len(column) + len(dataReturnType)
	return nil
}

// isName tells whether s has 1 to 64 characters; they are only counted when the bytes do not settle it.
func isName(s string) bool {
	return s != "" && (len(s) <= maxCharacters ||
		len(s) <= maxCharacters*utf8.UTFMax && utf8.RuneCountInString(s) <= maxCharacters)
}

// AppendJSON appends the receipt to out.
func (r Receipt) AppendJSON(out []byte) []byte {
	out = strconv.AppendInt(append(out, `{"operations":`...), int64(r.Operations), 10)
	out = strconv.AppendInt(append(out, `,"filters":`...), int64(r.Filters), 10)
	out = strconv.AppendInt(append(out, `,"readColumns":`...), int64(r.ReadColumns), 10)
	out = strconv.AppendInt(append(out, `,"nulls":`...), int64(r.Nulls), 10)
	out = strconv.AppendInt(append(out, `,"textBytes":`...), int64(r.TextBytes), 10)
	out = strconv.AppendFloat(append(out, `,"numberSum":`...), r.NumberSum, 'g', -1, 64)
	return append(out, '}')
}
