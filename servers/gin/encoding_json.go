package main

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/gin-gonic/gin"
)

// encodingJSON is gin's own binding: ShouldBindJSON, which decodes with the first version of encoding/json. Since Go 1.27
// that version is a layer of options over the second one. Whatever those options let pass and the contract does not,
// restrict refuses first. The types have no binding tags, so gin's validator has nothing to do: Check holds the bounds,
// as for every other codec.
type encodingJSON struct {
	body  replay
	batch *boundBatch
}

// replay is a request's body that was read before. Restrict needs all of it, and ShouldBindJSON reads a stream.
type replay struct{ bytes.Reader }

func (*replay) Close() error { return nil }

func newEncodingJSON() codec { return new(encodingJSON) }

func (e *encodingJSON) decode(c *gin.Context, body []byte) (Receipt, error) {
	if err := restrict(body); err != nil {
		return Receipt{}, err
	}
	e.body.Reset(body)
	c.Request.Body = &e.body
	// A new one for each request: in a reused slice encoding/json merges an item with what was there before.
	e.batch = new(boundBatch)
	if err := c.ShouldBindJSON(e.batch); err != nil {
		return Receipt{}, err
	}
	return e.batch.check()
}

// encode does what gin's c.JSON does, but for the headers: c.JSON would send a long reply without its length.
func (e *encodingJSON) encode() ([]byte, error) { return json.Marshal(e.batch) }

// boundBatch is a batch as gin's users write it: nil is "not given". The types of Batch have methods of the second version,
// which the first one would call as well.
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
	Column string      `json:"column"`
	Value  boundScalar `json:"value"`
}

type boundReadColumn struct {
	Column         string  `json:"column"`
	DataReturnType *string `json:"dataReturnType,omitempty"`
}

// boundScalar is a type of its own because any cannot tell null from a value that is not given.
type boundScalar Scalar

func (s *boundScalar) UnmarshalJSON(value []byte) (err error) {
	switch value[0] {
	case 'n':
		*s = boundScalar{Kind: Null}
	case 't', 'f':
		*s = boundScalar{Kind: Bool, Bool: value[0] == 't'}
	case '"':
		*s = boundScalar{Kind: Text}
		err = json.Unmarshal(value, &s.Text)
	case '[', '{':
		err = errValue
	default:
		*s = boundScalar{Kind: Number}
		s.Number, err = strconv.ParseFloat(string(value), 64)
	}
	return err
}

func (s *boundScalar) MarshalJSON() ([]byte, error) {
	switch s.Kind {
	case Bool:
		return strconv.AppendBool(nil, s.Bool), nil
	case Number:
		return json.Marshal(s.Number)
	case Text:
		return json.Marshal(s.Text)
	default:
		return []byte("null"), nil
	}
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
		err = r.countFilter(o.Body.Filters[i].Column, (*Scalar)(&o.Body.Filters[i].Value))
	}
	for i := 0; err == nil && i < len(o.Body.ReadColumns); i++ {
		err = r.countReadColumn(o.Body.ReadColumns[i].Column, deref(o.Body.ReadColumns[i].DataReturnType))
	}
	return err
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
