package batch

import (
	"bytes"
	"math"
)

// boundBatch is a batch as most users of a Go decoder write it: nil is "not given". The types of Batch have methods of
// encoding/json/v2, which the other decoders do not know, or would call as well.
//
// A value is nil when it is null, and when it is not given: restrict refuses the latter.
type boundBatch struct {
	Operations []boundOperation `json:"operations"`
}

type boundOperation struct {
	Method      string    `json:"method"`
	RelativeURL string    `json:"relative-url"`
	Body        boundBody `json:"body"`
}

type boundBody struct {
	Filters     []boundFilter     `json:"filters"`
	ReadColumns []boundReadColumn `json:"readColumns,omitzero"`
	OperationID *string           `json:"operationId,omitempty"`
}

type boundFilter struct {
	Column string `json:"column"`
	Value  any    `json:"value"`
}

type boundReadColumn struct {
	Column         string  `json:"column"`
	DataReturnType *string `json:"dataReturnType,omitempty"`
}

// check is Batch.Check for the bound types.
func (b *boundBatch) check() (r Receipt, err error) {
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

func (o *boundOperation) check(r *Receipt) error {
	err := r.countOperation(o.Method, o.RelativeURL, len(o.Body.Filters), len(o.Body.ReadColumns), deref(o.Body.OperationID))
	for i := 0; err == nil && i < len(o.Body.Filters); i++ {
		value, ok := scalarOf(o.Body.Filters[i].Value)
		if !ok {
			return errValue
		}
		err = r.countFilter(o.Body.Filters[i].Column, &value)
	}
	for i := 0; err == nil && i < len(o.Body.ReadColumns); i++ {
		err = r.countReadColumn(o.Body.ReadColumns[i].Column, deref(o.Body.ReadColumns[i].DataReturnType))
	}
	return err
}

// scalarOf is false for an array or an object.
func scalarOf(value any) (Scalar, bool) {
	switch value := value.(type) {
	case nil:
		return Scalar{Kind: Null}, true
	case bool:
		return Scalar{Kind: Bool, Bool: value}, true
	case float64:
		return Scalar{Kind: Number, Number: value}, true
	case string:
		return Scalar{Kind: Text, Text: value}, true
	default:
		return Scalar{}, false
	}
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// mayHoldTooMany tells whether an array of the body could have more items than the contract allows.
func mayHoldTooMany(body []byte) bool { return bytes.Count(body, []byte{','}) >= maxItems }

// holdsNothingElse tells whether the body's members are those of the batch that was decoded from it, and no others: none
// is unknown, given twice, or missing. It holds the number of colons against the members that the batch must have been
// given. Where it cannot tell, for a colon in a string or a null, it returns false.
func (b *boundBatch) holdsNothingElse(body []byte) bool {
	members := 1
	for i := range b.Operations {
		body := &b.Operations[i].Body
		members += 4 + 2*len(body.Filters) + len(body.ReadColumns)
		for j := range body.Filters {
			if body.Filters[j].Value == nil {
				return false
			}
		}
		for j := range body.ReadColumns {
			if body.ReadColumns[j].DataReturnType != nil {
				members++
			}
		}
		if body.ReadColumns != nil {
			members++
		}
		if body.OperationID != nil {
			members++
		}
	}
	return bytes.Count(body, []byte{':'}) == members
}
