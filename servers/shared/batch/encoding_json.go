package batch

import "encoding/json"

// encodingJSON decodes with the first version of encoding/json, by the binding of a framework. Since Go 1.27 that version is
// a layer of options over the second one. What those options let pass and the contract does not, restrict refuses first.
// The types have no tags of a validator: check holds the bounds, as for every other codec.
type encodingJSON struct {
	bind  func(body []byte, into any) error
	batch *boundBatch
}

// NewEncodingJSON returns a codec with encoding/json, whose decoder bind calls.
func NewEncodingJSON(bind func(body []byte, into any) error) Codec { return &encodingJSON{bind: bind} }

func (e *encodingJSON) Decode(body []byte) (Receipt, error) {
	if err := restrict(body); err != nil {
		return Receipt{}, err
	}
	// A new one for each request: in a reused slice encoding/json merges an item with what was there before.
	e.batch = new(boundBatch)
	if err := e.bind(body, e.batch); err != nil {
		return Receipt{}, err
	}
	return e.batch.check()
}

func (e *encodingJSON) Encode() ([]byte, error) { return json.Marshal(e.batch) }
