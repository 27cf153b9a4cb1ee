package batch

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
)

// encodingJSONv2 decodes with the second version of encoding/json, which is stable since Go 1.27. It compares member names
// exactly and refuses invalid UTF-8 and lone surrogates by itself.
type encodingJSONv2 struct {
	batch Batch
	reply bytes.Buffer
}

// NewEncodingJSONv2 returns a codec with encoding/json/v2.
func NewEncodingJSONv2() Codec { return new(encodingJSONv2) }

// The contract leaves open which of two equal names counts, so none has to be remembered.
var duplicateNames = jsontext.AllowDuplicateNames(true)

func (c *encodingJSONv2) Decode(body []byte) (Receipt, error) {
	c.batch.Operations = c.batch.Operations[:0]
	if err := json.Unmarshal(body, &c.batch, duplicateNames); err != nil {
		return Receipt{}, err
	}
	if err := checkDepth(body, &c.batch); err != nil {
		return Receipt{}, err
	}
	return c.batch.Check()
}

func (c *encodingJSONv2) Encode() ([]byte, error) {
	c.reply.Reset()
	err := json.MarshalWrite(&c.reply, &c.batch, duplicateNames)
	return c.reply.Bytes(), err
}

// UnmarshalJSONFrom stops at the bound, where the library would go on: 4 MiB of {}, would take 400 MB.
func (l *list[T]) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	token, err := from.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case jsontext.KindNull:
		*l = nil
		return nil
	case jsontext.KindBeginArray:
	default:
		return errArray
	}
	items := (*l)[:0]
	if items == nil {
		items = make([]T, 0, 2)
	}
	for from.PeekKind() != jsontext.KindEndArray {
		if len(items) == maxItems {
			return errItems
		}
		items = append(items, *new(T))
		if err = json.UnmarshalDecode(from, &items[len(items)-1]); err != nil {
			return err
		}
	}
	*l = items
	_, err = from.ReadToken()
	return err
}

func (o *Optional) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	*o = Optional{Given: from.PeekKind() != jsontext.KindNull}
	return json.UnmarshalDecode(from, &o.Text)
}

func (o *Optional) MarshalJSONTo(to *jsontext.Encoder) error {
	return to.WriteToken(jsontext.String(o.Text))
}

func (s *Scalar) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	token, err := from.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case jsontext.KindNull:
		*s = Scalar{Kind: Null}
	case jsontext.KindTrue, jsontext.KindFalse:
		*s = Scalar{Kind: Bool, Bool: token.Bool()}
	case jsontext.KindString:
		*s = Scalar{Kind: Text, Text: token.String()}
	case jsontext.KindNumber:
		*s = Scalar{Kind: Number}
		s.Number, err = token.Float()
	default:
		err = errValue
	}
	return err
}

func (s *Scalar) MarshalJSONTo(to *jsontext.Encoder) error {
	switch s.Kind {
	case Bool:
		return to.WriteToken(jsontext.Bool(s.Bool))
	case Number:
		return to.WriteToken(jsontext.Float(s.Number))
	case Text:
		return to.WriteToken(jsontext.String(s.Text))
	default:
		return to.WriteToken(jsontext.Null)
	}
}

// checkDepth refuses a body that nests too deep: the library's own limit is 10,000 levels. Only unknown members can, so
// the body is not walked again unless it has more brackets than the batch accounts for.
func checkDepth(body []byte, batch *Batch) error {
	known := 2
	for i := range batch.Operations {
		body := &batch.Operations[i].Body
		known += 3 + len(body.Filters) + len(body.ReadColumns)
	}
	const deepest = 6 // the level of a filter
	if bytes.Count(body, []byte{'{'})+bytes.Count(body, []byte{'['})-known <= maxDepth-deepest {
		return nil
	}
	from := jsontext.NewDecoder(bytes.NewReader(body), duplicateNames)
	for {
		if _, err := from.ReadToken(); err != nil {
			return nil // the end: Unmarshal has seen all of it
		}
		if from.StackDepth() > maxDepth {
			return errDepth
		}
	}
}
