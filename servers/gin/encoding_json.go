package main

import (
	"bytes"
	"encoding/json"

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
