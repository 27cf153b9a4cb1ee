package main

import (
	"bytes"
	"encoding/json/v2"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
)

const greetingText = "Hello, world!"

var greetingLine = []byte(greetingText + "\n")

func text(c *gin.Context) { send(c, http.StatusOK, typeText, greetingLine) }

type greeting struct {
	Message string `json:"message"`
	TS      string `json:"ts"`
}

// rfc3339Micro keeps the zeros at the end of a second's fraction, which time.RFC3339Nano leaves out.
const rfc3339Micro = "2006-01-02T15:04:05.000000Z07:00"

func now(c *gin.Context) {
	sendJSON(c, &greeting{Message: greetingText, TS: time.Now().UTC().Format(rfc3339Micro)})
}

type numbers struct {
	N1  int `json:"Test Number 1"`
	N2  int `json:"Test Number 2"`
	N3  int `json:"Test Number 3"`
	N4  int `json:"Test Number 4"`
	N5  int `json:"Test Number 5"`
	N6  int `json:"Test Number 6"`
	N7  int `json:"Test Number 7"`
	N8  int `json:"Test Number 8"`
	N9  int `json:"Test Number 9"`
	N10 int `json:"Test Number 10"`
}

func tenNumbers(c *gin.Context) {
	ten := newNumbers()
	sendJSON(c, &ten)
}

func newNumbers() numbers {
	return numbers{random(), random(), random(), random(), random(), random(), random(), random(), random(), random()}
}

func random() int { return rand.IntN(1000) }

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// sendJSON encodes into a buffer, where c.JSON would write to the client at once: the length is to be announced.
func sendJSON(c *gin.Context, value any) {
	buffer := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buffer)
	buffer.Reset()
	if err := json.MarshalWrite(buffer, value); err != nil {
		fail(c, http.StatusInternalServerError, err)
		return
	}
	send(c, http.StatusOK, typeJSON, buffer.Bytes())
}
