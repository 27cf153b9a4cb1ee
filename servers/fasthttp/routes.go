package main

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	hello    = "Hello, world!"
	typeText = "text/plain; charset=utf-8"
	typeHTML = "text/html; charset=utf-8"
	typeJSON = "application/json"
)

// newServer routes the contract's workloads. The header Server is left out, as net/http has none.
func newServer(posts []*post) *fasthttp.Server {
	handlers := map[string]fasthttp.RequestHandler{
		"/": text, "/text": text, "/json": now, "/json10": tenNumbers, "/blog": blog(posts),
	}
	return &fasthttp.Server{
		Handler: func(ctx *fasthttp.RequestCtx) {
			handler, known := handlers[string(ctx.Path())]
			switch {
			case !known:
				fail(ctx, fasthttp.StatusNotFound, errors.New("no such path"))
			case !ctx.IsGet() && !ctx.IsHead():
				ctx.Response.Header.Set(fasthttp.HeaderAllow, "GET, HEAD")
				fail(ctx, fasthttp.StatusMethodNotAllowed, errors.New("no such method here"))
			default:
				handler(ctx)
			}
		},
		ReadTimeout:           time.Minute,
		Logger:                log.New(io.Discard, "", 0), // nothing is printed for a malformed request
		NoDefaultServerHeader: true,
	}
}

func text(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.SetContentType(typeText)
	ctx.Response.SetBodyString(hello + "\n")
}

type greeting struct {
	Message string `json:"message"`
	TS      string `json:"ts"`
}

// rfc3339Micro keeps the zeros at the end of a second's fraction, which time.RFC3339Nano leaves out.
const rfc3339Micro = "2006-01-02T15:04:05.000000Z07:00"

func now(ctx *fasthttp.RequestCtx) {
	sendJSON(ctx, &greeting{Message: hello, TS: time.Now().UTC().Format(rfc3339Micro)})
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

func tenNumbers(ctx *fasthttp.RequestCtx) {
	sendJSON(ctx, &numbers{random(), random(), random(), random(), random(), random(), random(), random(), random(), random()})
}

func random() int { return rand.IntN(1000) }

// sendJSON encodes into fasthttp's own buffer of the response, which it keeps for the next one.
func sendJSON(ctx *fasthttp.RequestCtx, value any) {
	ctx.Response.Header.SetContentType(typeJSON)
	if err := json.MarshalWrite(ctx, value); err != nil {
		fail(ctx, fasthttp.StatusInternalServerError, err)
	}
}

func fail(ctx *fasthttp.RequestCtx, status int, err error) {
	body, _ := json.Marshal(struct {
		Error string `json:"error"`
	}{err.Error()}, jsontext.AllowInvalidUTF8(true))
	ctx.SetStatusCode(status)
	ctx.Response.Header.SetContentType(typeJSON)
	ctx.Response.SetBodyRaw(body)
}
