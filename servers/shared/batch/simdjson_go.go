package batch

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/minio/simdjson-go"
)

// simdjsonGo decodes with minio/simdjson-go, which writes a tape of the whole document; the batch is read off it in one
// pass. Everything that a batch needs is kept for the next one.
type simdjsonGo struct {
	batch       Batch
	parsed      *simdjson.ParsedJson
	tape        tape
	filters     []Filter     // of all operations
	readColumns []ReadColumn // of all operations
	reply       []byte
}

// NewSimdjsonGo returns a codec with minio/simdjson-go.
func NewSimdjsonGo() Codec {
	// Not nil, so that no readColumns differ from none given.
	return &simdjsonGo{readColumns: []ReadColumn{}}
}

// Strings point into the body, or into the parser's own buffer where they had escapes: both outlive the batch.
var borrowStrings = []simdjson.ParserOption{simdjson.WithCopyStrings(false)}

var (
	errSyntax = errors.New("the body is not a well-formed JSON object")
	errObject = errors.New("an object is required")
	errArray  = errors.New("an array is required")
	errText   = errors.New("a string is required")
)

func (c *simdjsonGo) Decode(body []byte) (Receipt, error) {
	if err := c.parse(body); err != nil {
		return Receipt{}, err
	}
	return c.batch.Check()
}

func (c *simdjsonGo) parse(body []byte) (err error) {
	// What the parser lets pass: any Unicode space around the document, invalid UTF-8, and whatever follows a NUL behind
	// a true, false or null.
	body = bytes.Trim(body, " \t\r\n")
	if len(body) < 2 || body[0] != '{' || body[len(body)-1] != '}' ||
		bytes.IndexByte(body, 0) >= 0 || !utf8.Valid(body) {
		return errSyntax
	}
	if c.parsed, err = simdjson.Parse(body, c.parsed, borrowStrings...); err != nil {
		return err
	}
	c.tape = tape{words: c.parsed.Tape, message: c.parsed.Message, strings: c.parsed.Strings.B}
	c.filters, c.readColumns = c.filters[:0], c.readColumns[:0]
	if err = c.root(&c.batch); err != nil {
		return err
	}
	if len(c.tape.strings) > 0 && hasBadEscape(body) || c.tape.negative && hasLeadingZero(body) {
		return errSyntax
	}
	return nil
}

func (c *simdjsonGo) root(batch *Batch) (err error) {
	batch.Operations = batch.Operations[:0]
	c.tape.at = 2 // behind the words of the root and of its brace
	for err == nil && c.tape.more() {
		switch c.tape.text() {
		case "operations":
			err = c.operations(batch)
		default:
			err = c.tape.skip(2)
		}
	}
	return err
}

func (c *simdjsonGo) operations(batch *Batch) (err error) {
	batch.Operations = batch.Operations[:0]
	if !c.tape.enter(simdjson.TagArrayStart) {
		return errOperations
	}
	for err == nil && c.tape.more() {
		if len(batch.Operations) == maxItems {
			return errOperations
		}
		batch.Operations = append(batch.Operations, Operation{})
		err = c.operation(&batch.Operations[len(batch.Operations)-1])
	}
	return err
}

func (c *simdjsonGo) operation(op *Operation) (err error) {
	if !c.tape.enter(simdjson.TagObjectStart) {
		return errObject
	}
	for err == nil && c.tape.more() {
		switch c.tape.text() {
		case "method":
			op.Method, err = c.text()
		case "relative-url":
			op.RelativeURL, err = c.text()
		case "body":
			err = c.body(&op.Body)
		default:
			err = c.tape.skip(4)
		}
	}
	return err
}

func (c *simdjsonGo) body(body *Body) (err error) {
	if !c.tape.enter(simdjson.TagObjectStart) {
		return errObject
	}
	for err == nil && c.tape.more() {
		switch c.tape.text() {
		case "filters":
			body.Filters, err = c.filterList()
		case "readColumns":
			body.ReadColumns, err = c.readColumnList()
		case "operationId":
			body.OperationID, err = c.optional()
		default:
			err = c.tape.skip(5)
		}
	}
	return err
}

func (c *simdjsonGo) filterList() (_ []Filter, err error) {
	if !c.tape.enter(simdjson.TagArrayStart) {
		return nil, errFilters
	}
	first := len(c.filters)
	for err == nil && c.tape.more() {
		if len(c.filters)-first == maxItems {
			return nil, errFilters
		}
		c.filters = append(c.filters, Filter{})
		err = c.filter(&c.filters[len(c.filters)-1])
	}
	return c.filters[first:len(c.filters):len(c.filters)], err
}

func (c *simdjsonGo) filter(filter *Filter) (err error) {
	if !c.tape.enter(simdjson.TagObjectStart) {
		return errObject
	}
	for err == nil && c.tape.more() {
		switch c.tape.text() {
		case "column":
			filter.Column, err = c.text()
		case "value":
			err = c.scalar(&filter.Value)
		default:
			err = c.tape.skip(7)
		}
	}
	return err
}

func (c *simdjsonGo) readColumnList() (_ []ReadColumn, err error) {
	if c.tape.enter(simdjson.TagNull) {
		return nil, nil
	}
	if !c.tape.enter(simdjson.TagArrayStart) {
		return nil, errArray
	}
	first := len(c.readColumns)
	for err == nil && c.tape.more() {
		if len(c.readColumns)-first == maxItems {
			return nil, errReadColumns
		}
		c.readColumns = append(c.readColumns, ReadColumn{})
		err = c.readColumn(&c.readColumns[len(c.readColumns)-1])
	}
	return c.readColumns[first:len(c.readColumns):len(c.readColumns)], err
}

func (c *simdjsonGo) readColumn(column *ReadColumn) (err error) {
	if !c.tape.enter(simdjson.TagObjectStart) {
		return errObject
	}
	for err == nil && c.tape.more() {
		switch c.tape.text() {
		case "column":
			column.Column, err = c.text()
		case "dataReturnType":
			column.DataReturnType, err = c.optional()
		default:
			err = c.tape.skip(7)
		}
	}
	return err
}

func (c *simdjsonGo) text() (string, error) {
	if c.tape.tag() != simdjson.TagString {
		return "", errText
	}
	return c.tape.text(), nil
}

func (c *simdjsonGo) optional() (Optional, error) {
	if c.tape.enter(simdjson.TagNull) {
		return Optional{}, nil
	}
	text, err := c.text()
	return Optional{Text: text, Given: true}, err
}

func (c *simdjsonGo) scalar(s *Scalar) error {
	switch tag := c.tape.tag(); tag {
	case simdjson.TagString:
		*s = Scalar{Kind: Text, Text: c.tape.text()}
	case simdjson.TagInteger, simdjson.TagUint, simdjson.TagFloat:
		*s = Scalar{Kind: Number, Number: c.tape.number()}
	case simdjson.TagNull:
		c.tape.at++
		*s = Scalar{Kind: Null}
	case simdjson.TagBoolTrue, simdjson.TagBoolFalse:
		c.tape.at++
		*s = Scalar{Kind: Bool, Bool: tag == simdjson.TagBoolTrue}
	default:
		return errValue
	}
	return nil
}

// simdjson-go has no encoder for values that did not come from its tape.
func (c *simdjsonGo) Encode() ([]byte, error) {
	c.reply = appendBatch(c.reply[:0], &c.batch)
	return c.reply, nil
}
