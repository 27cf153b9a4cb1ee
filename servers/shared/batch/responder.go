package batch

import (
	"errors"
	"io"
	"net/http"
)

const maxBody = 4 << 20

// Codec decodes a body into a batch, checks the batch, and encodes it again. It keeps its buffers from one request to the
// next: the batch may borrow from the body, and Decode may change the body; the reply belongs to the codec.
type Codec interface {
	Decode(body []byte) (Receipt, error)
	Encode() ([]byte, error)
}

// Responder makes the response to a batch. It keeps its buffers from one request to the next.
type Responder struct {
	Codec Codec
	body  []byte
	reply []byte
}

// Respond reads a request's batch and returns the body of its response: the receipt, or the echo. The status is of the error.
func (r *Responder) Respond(request *http.Request, db, table string, echo bool) (reply []byte, status int, err error) {
	if r.body, status, err = ReadBody(request, db, table, r.body); err != nil {
		return nil, status, err
	}
	receipt, err := r.Codec.Decode(r.body)
	if err != nil {
		return nil, http.StatusBadRequest, err
	}
	if echo {
		reply, err = r.Codec.Encode()
		return reply, http.StatusInternalServerError, err
	}
	r.reply = receipt.AppendJSON(r.reply[:0])
	return r.reply, http.StatusOK, nil
}

var (
	errPath = errors.New("database and table: 1 to 64 characters are required")
	errSize = errors.New("the body is larger than 4 MiB")
)

// ReadBody checks the path and reads the whole body into buffer, which grows to what the request announces.
func ReadBody(request *http.Request, db, table string, buffer []byte) (body []byte, status int, err error) {
	body = buffer[:0]
	if !isName(db) || !isName(table) {
		return body, http.StatusBadRequest, errPath
	}
	size := request.ContentLength
	if size < 0 {
		size = 4 << 10 // chunked: grows as it comes
	}
	if size <= maxBody && int64(cap(body)) < size {
		body = make([]byte, 0, size)
	}
	for size <= maxBody && len(body) <= maxBody {
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
		n, err := request.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return body, http.StatusBadRequest, err
		}
	}
	if size > maxBody || len(body) > maxBody {
		// A client that is still sending would not see the response, so some more is taken from it.
		_, _ = io.CopyN(io.Discard, request.Body, 4*maxBody)
		return body, http.StatusRequestEntityTooLarge, errSize
	}
	return body, http.StatusOK, nil
}
