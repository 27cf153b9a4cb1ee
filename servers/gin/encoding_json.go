package main

import (
	"bytes"

	"github.com/gin-gonic/gin"

	"shared/batch"
)

// ginResponder is a responder with what gin's own binding reads from.
type ginResponder struct {
	batch.Responder
	context *gin.Context // of the present request
	replay  replay
}

// replay is a request's body that was read before. The codec needs all of it, and ShouldBindJSON reads a stream.
type replay struct{ bytes.Reader }

func (*replay) Close() error { return nil }

// bindingJSON is gin's own binding: ShouldBindJSON, which decodes with the first version of encoding/json. gin's validator
// runs and finds no tags.
func bindingJSON(responder *ginResponder) batch.Codec {
	return batch.NewEncodingJSON(func(body []byte, into any) error {
		responder.replay.Reset(body)
		responder.context.Request.Body = &responder.replay
		return responder.context.ShouldBindJSON(into)
	})
}
