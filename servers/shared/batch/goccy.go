package batch

import (
	"encoding/json/jsontext"
	"errors"

	"github.com/goccy/go-json"
)

// goccyJSON decodes and encodes with goccy/go-json. That accepts much that is not JSON: numbers like 01 and 1., control
// characters in strings, commas before a bracket. So jsontext validates the body first; and restrict refuses the rest, as
// for encoding/json, whose case-insensitive names go-json shares. Both take about a third of the row's time.
type goccyJSON struct{ batch *boundBatch }

// NewGoJSON returns a codec with goccy/go-json.
func NewGoJSON() Codec { return new(goccyJSON) }

var errMalformed = errors.New("the body is not well-formed JSON in valid UTF-8")

func (g *goccyJSON) Decode(body []byte) (r Receipt, err error) {
	if !jsontext.Value(body).IsValid(duplicateNames) {
		return r, errMalformed
	}
	if err = restrict(body); err != nil {
		return r, err
	}
	g.batch = new(boundBatch)
	if err = json.Unmarshal(body, g.batch); err != nil {
		return r, err
	}
	return g.batch.check()
}

func (g *goccyJSON) Encode() ([]byte, error) {
	return json.MarshalWithOption(g.batch, json.DisableHTMLEscape())
}
