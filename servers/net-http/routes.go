package main

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"shared/batch"
)

const hello = "Hello, world!"

// newHandler routes the contract's workloads. There is no middleware: nothing is logged, and net/http recovers panics.
func newHandler(posts []*post, from *database) http.Handler {
	mux := http.NewServeMux()
	for path, handler := range map[string]http.HandlerFunc{
		"/{$}": text, "/text": text, "/json": now, "/json10": tenNumbers, "/json1000": thousandNumbers,
		"/blog": blog(posts), "/sql1": sql1(from), "/sql2": sql2(from),
	} {
		mux.HandleFunc("GET "+path, handler)
		mux.HandleFunc(path, wrongMethod("GET, HEAD"))
	}
	bodies := &sync.Pool{New: func() any { return new([]byte) }}
	onPost(mux, "/discard/{db}/{table}", discard(bodies))
	for path, newCodec := range map[string]func() batch.Codec{"/dbopjsonv2": batch.NewEncodingJSONv2, "/dbopsonic": batch.NewSonic} {
		responders := &sync.Pool{New: func() any { return &batch.Responder{Codec: newCodec()} }}
		onPost(mux, path+"/{db}/{table}", dbop(responders, false))
		onPost(mux, path+"/{db}/{table}/echo", dbop(responders, true))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fail(w, http.StatusNotFound, errors.New("no such path"))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "//") { // a database or table without a name, which the mux would redirect
			fail(w, http.StatusNotFound, errors.New("no such path"))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func onPost(mux *http.ServeMux, path string, handler http.HandlerFunc) {
	mux.HandleFunc("POST "+path, handler)
	mux.HandleFunc(path, wrongMethod("POST"))
}

func wrongMethod(allowed string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", allowed)
		fail(w, http.StatusMethodNotAllowed, errors.New("no such method here"))
	}
}

func dbop(responders *sync.Pool, echo bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		responder := responders.Get().(*batch.Responder)
		defer responders.Put(responder)
		reply, status, err := responder.Respond(r, r.PathValue("db"), r.PathValue("table"), echo)
		if err != nil {
			fail(w, status, err)
			return
		}
		send(w, http.StatusOK, typeJSON, reply)
	}
}

func discard(bodies *sync.Pool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		buffer := bodies.Get().(*[]byte)
		defer bodies.Put(buffer)
		var status int
		var err error
		if *buffer, status, err = batch.ReadBody(r, r.PathValue("db"), r.PathValue("table"), *buffer); err != nil {
			fail(w, status, err)
			return
		}
		reply := strconv.AppendInt(append((*buffer)[:0], `{"bytes":`...), int64(len(*buffer)), 10)
		send(w, http.StatusOK, typeJSON, append(reply, '}'))
	}
}

func text(w http.ResponseWriter, _ *http.Request) { send(w, http.StatusOK, typeText, helloLine) }

type greeting struct {
	Message string `json:"message"`
	TS      string `json:"ts"`
}

// rfc3339Micro keeps the zeros at the end of a second's fraction, which time.RFC3339Nano leaves out.
const rfc3339Micro = "2006-01-02T15:04:05.000000Z07:00"

func now(w http.ResponseWriter, _ *http.Request) {
	sendJSON(w, &greeting{Message: hello, TS: time.Now().UTC().Format(rfc3339Micro)})
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

func tenNumbers(w http.ResponseWriter, _ *http.Request) {
	ten := newNumbers()
	sendJSON(w, &ten)
}

func newNumbers() numbers {
	return numbers{random(), random(), random(), random(), random(), random(), random(), random(), random(), random()}
}

func random() int { return rand.IntN(1000) }

var (
	helloLine = []byte(hello + "\n")
	typeText  = []string{"text/plain; charset=utf-8"}
	typeHTML  = []string{"text/html; charset=utf-8"}
	typeJSON  = []string{"application/json"}
)

// send writes the headers by their canonical names and the body at once.
func send(w http.ResponseWriter, status int, contentType []string, body []byte) {
	header := w.Header()
	header["Content-Type"] = contentType
	if len(body) > 2048 {
		header["Content-Length"] = []string{strconv.Itoa(len(body))} // net/http counts shorter ones itself, at less cost
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only when the client is gone
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func sendJSON(w http.ResponseWriter, value any) {
	buffer := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buffer)
	buffer.Reset()
	if err := json.MarshalWrite(buffer, value); err != nil {
		fail(w, http.StatusInternalServerError, err)
		return
	}
	send(w, http.StatusOK, typeJSON, buffer.Bytes())
}

func fail(w http.ResponseWriter, status int, err error) {
	body, _ := json.Marshal(struct {
		Error string `json:"error"`
	}{err.Error()}, jsontext.AllowInvalidUTF8(true))
	send(w, status, typeJSON, body)
}
