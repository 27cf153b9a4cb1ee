package batch

// keptItems bounds the memory that one operation hands on to the next request: usual batches fit, and a codec that has seen
// large lists in list after list does not hold the sum of them.
const keptItems = 16

// notGiven stands where a kept pointer may receive a text. The body was found to be valid UTF-8, so no text equals it.
const notGiven = "\xff"

// empty makes the batch as good as a new one for a decoder that decodes into the slices and pointers that it finds, and
// allocates those that are nil. Items beyond the length are emptied too: the decoder would merge into them.
func (b *boundBatch) empty() {
	operations := b.Operations[:cap(b.Operations)]
	for i := range operations {
		body := operations[i].Body
		filters, columns := kept(body.Filters), kept(body.ReadColumns)
		clear(filters)
		for j := range columns {
			columns[j] = boundReadColumn{DataReturnType: unset(columns[j].DataReturnType)}
		}
		operations[i] = boundOperation{Body: boundBody{
			Filters: filters[:0], ReadColumns: columns[:0], OperationID: unset(body.OperationID),
		}}
	}
	b.Operations = operations[:0]
}

// settle makes nil what was not given. The decoder gives an empty list no capacity, so one with capacity was not given.
func (b *boundBatch) settle() {
	for i := range b.Operations {
		body := &b.Operations[i].Body
		if body.OperationID != nil && *body.OperationID == notGiven {
			body.OperationID = nil
		}
		if len(body.ReadColumns) == 0 && cap(body.ReadColumns) > 0 {
			body.ReadColumns = nil
		}
		for j := range body.ReadColumns {
			if text := body.ReadColumns[j].DataReturnType; text != nil && *text == notGiven {
				body.ReadColumns[j].DataReturnType = nil
			}
		}
	}
}

func kept[T any](items []T) []T {
	if cap(items) > keptItems {
		return nil
	}
	return items[:cap(items)]
}

func unset(text *string) *string {
	if text != nil {
		*text = notGiven
	}
	return text
}
