package main

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
)

const maxBody = 4 << 20

// codec decodes a body into a batch, checks the batch, and encodes it again. It keeps its buffers from one request to the
// next: the batch may borrow from the body, and decode may change the body; the reply belongs to the codec.
type codec interface {
	decode(c *gin.Context, body []byte) (Receipt, error)
	encode() ([]byte, error)
}

// newHandler routes the contract's workloads. There is no middleware: nothing is logged, and net/http recovers panics.
func newHandler(posts []*post, from *database) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.HandleMethodNotAllowed = true
	router.RedirectTrailingSlash = false
	router.UseRawPath = true // so that an escaped slash is part of a name
	router.NoRoute(func(c *gin.Context) { fail(c, http.StatusNotFound, errors.New("no such path")) })
	router.NoMethod(func(c *gin.Context) { fail(c, http.StatusMethodNotAllowed, errors.New("no such method here")) })

	router.GET("/ping", pong)
	router.GET("/ping/delay/:ms", delay(func(most time.Duration) time.Duration { return most }))
	router.GET("/ping/rand_delay/:ms", delay(func(most time.Duration) time.Duration { return rand.N(most + 1) }))

	router.GET("/", text)
	router.GET("/text", text)
	router.GET("/json", now)
	router.GET("/json10", tenNumbers)
	router.GET("/blog", blog(posts))
	router.GET("/sql1", sql1(from))
	router.GET("/sql2", sql2(from))

	bodies := &sync.Pool{New: func() any { return new([]byte) }}
	router.POST("/discard/:db/:table", discard(bodies))
	for path, newCodec := range map[string]func() codec{
		"/dbop": newEncodingJSON, "/dbopjson": newEncodingJSON, "/dbopjsonv2": newEncodingJSONv2, "/dbopsimd": newSimdjsonGo,
		"/dbopsonic": newSonic, "/dbopgojson": newGoccy,
	} {
		exchanges := &sync.Pool{New: func() any { return &exchange{codec: newCodec()} }}
		router.POST(path+"/:db/:table", dbop(exchanges, (*exchange).receipt))
		router.POST(path+"/:db/:table/echo", dbop(exchanges, (*exchange).echo))
	}
	return router
}

// exchange is what one request needs, kept for the next.
type exchange struct {
	codec codec
	body  []byte
	reply []byte
}

func (x *exchange) receipt(receipt Receipt) ([]byte, error) {
	x.reply = receipt.AppendJSON(x.reply[:0])
	return x.reply, nil
}

func (x *exchange) echo(Receipt) ([]byte, error) { return x.codec.encode() }

func dbop(exchanges *sync.Pool, answer func(*exchange, Receipt) ([]byte, error)) gin.HandlerFunc {
	return func(c *gin.Context) {
		x := exchanges.Get().(*exchange)
		defer exchanges.Put(x)
		var status int
		var err error
		if x.body, status, err = readBody(c, x.body); err != nil {
			fail(c, status, err)
			return
		}
		receipt, err := x.codec.decode(c, x.body)
		if err != nil {
			fail(c, http.StatusBadRequest, err)
			return
		}
		reply, err := answer(x, receipt)
		if err != nil {
			fail(c, http.StatusInternalServerError, err)
			return
		}
		send(c, http.StatusOK, typeJSON, reply)
	}
}

func discard(bodies *sync.Pool) gin.HandlerFunc {
	return func(c *gin.Context) {
		buffer := bodies.Get().(*[]byte)
		defer bodies.Put(buffer)
		var status int
		var err error
		if *buffer, status, err = readBody(c, *buffer); err != nil {
			fail(c, status, err)
			return
		}
		reply := strconv.AppendInt(append((*buffer)[:0], `{"bytes":`...), int64(len(*buffer)), 10)
		send(c, http.StatusOK, typeJSON, append(reply, '}'))
	}
}

var (
	errPath = errors.New("database and table: 1 to 64 characters are required")
	errSize = errors.New("the body is larger than 4 MiB")
	errMs   = errors.New("the delay is a whole number of milliseconds, 0 to 60000")
)

// readBody checks the path and reads the whole body into buffer, which grows to what the request announces.
func readBody(c *gin.Context, buffer []byte) (body []byte, status int, err error) {
	body = buffer[:0]
	if !isName(c.Params[0].Value) || !isName(c.Params[1].Value) {
		return body, http.StatusBadRequest, errPath
	}
	size := c.Request.ContentLength
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
		n, err := c.Request.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return body, http.StatusBadRequest, err
		}
	}
	if size > maxBody || len(body) > maxBody {
		// A client that is still sending would not see the answer, so some more is taken from it.
		_, _ = io.CopyN(io.Discard, c.Request.Body, 4*maxBody)
		return body, http.StatusRequestEntityTooLarge, errSize
	}
	return body, http.StatusOK, nil
}

func pong(c *gin.Context) { send(c, http.StatusOK, typeText, hello) }

func delay(pick func(most time.Duration) time.Duration) gin.HandlerFunc {
	return func(c *gin.Context) {
		ms, err := strconv.ParseUint(c.Params[0].Value, 10, 64)
		if err != nil || ms > 60_000 {
			fail(c, http.StatusBadRequest, errMs)
			return
		}
		time.Sleep(pick(time.Duration(ms) * time.Millisecond))
		pong(c)
	}
}

var (
	hello    = []byte("Hello, World!")
	typeText = []string{"text/plain; charset=utf-8"}
	typeHTML = []string{"text/html; charset=utf-8"}
	typeJSON = []string{"application/json"}
)

// send writes the headers by their canonical names and the body at once.
func send(c *gin.Context, status int, contentType []string, body []byte) {
	header := c.Writer.Header()
	header["Content-Type"] = contentType
	if len(body) > 2048 {
		header["Content-Length"] = []string{strconv.Itoa(len(body))} // net/http counts shorter ones itself, at less cost
	}
	c.Writer.WriteHeader(status)
	_, _ = c.Writer.Write(body) // fails only when the client is gone
}

func fail(c *gin.Context, status int, err error) {
	body, _ := json.Marshal(struct {
		Error string `json:"error"`
	}{err.Error()}, jsontext.AllowInvalidUTF8(true))
	send(c, status, typeJSON, body)
}
