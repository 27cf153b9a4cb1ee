package main

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"shared/batch"
)

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
	router.GET("/json1000", thousandNumbers)
	router.GET("/blog", blog(posts))
	router.GET("/sql1", sql1(from))
	router.GET("/sql2", sql2(from))

	bodies := &sync.Pool{New: func() any { return new([]byte) }}
	router.POST("/discard/:db/:table", discard(bodies))
	for path, newCodec := range map[string]func(*ginResponder) batch.Codec{
		"/dbop": bindingJSON, "/dbopjson": bindingJSON, "/dbopjsonv2": with(batch.NewEncodingJSONv2),
		"/dbopsimd": with(batch.NewSimdjsonGo), "/dbopsonic": with(batch.NewSonic), "/dbopgojson": with(batch.NewGoJSON),
	} {
		responders := &sync.Pool{New: func() any {
			responder := new(ginResponder)
			responder.Codec = newCodec(responder)
			return responder
		}}
		router.POST(path+"/:db/:table", dbop(responders, false))
		router.POST(path+"/:db/:table/echo", dbop(responders, true))
	}
	return router
}

// with makes a codec that needs nothing of the request but its body.
func with(newCodec func() batch.Codec) func(*ginResponder) batch.Codec {
	return func(*ginResponder) batch.Codec { return newCodec() }
}

func dbop(responders *sync.Pool, echo bool) gin.HandlerFunc {
	return func(c *gin.Context) {
		responder := responders.Get().(*ginResponder)
		defer responders.Put(responder)
		responder.context = c
		reply, status, err := responder.Respond(c.Request, c.Params[0].Value, c.Params[1].Value, echo)
		if err != nil {
			fail(c, status, err)
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
		if *buffer, status, err = batch.ReadBody(c.Request, c.Params[0].Value, c.Params[1].Value, *buffer); err != nil {
			fail(c, status, err)
			return
		}
		reply := strconv.AppendInt(append((*buffer)[:0], `{"bytes":`...), int64(len(*buffer)), 10)
		send(c, http.StatusOK, typeJSON, append(reply, '}'))
	}
}

var errMs = errors.New("the delay is a whole number of milliseconds, 0 to 60000")

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
