package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json/v2"
	"net/http"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
)

const gzipLevel = 6 // of the contract; also the default

var (
	varyEncoding = []string{"Accept-Encoding"}
	gzipEncoding = []string{"gzip"}
)

// packing is what one response needs, kept for the next: a gzip.Writer has 800 kB.
type packing struct {
	objects      [100]numbers
	body, packed bytes.Buffer
	writer       *gzip.Writer
}

var packings = sync.Pool{New: func() any {
	p := new(packing)
	p.writer, _ = gzip.NewWriterLevel(&p.packed, gzipLevel) // fails only for a level that there is not
	return p
}}

// thousandNumbers sends a hundred objects of ten numbers, compressed if the client accepts that.
func thousandNumbers(c *gin.Context) {
	p := packings.Get().(*packing)
	defer packings.Put(p)
	for i := range p.objects {
		p.objects[i] = newNumbers()
	}
	p.body.Reset()
	if err := json.MarshalWrite(&p.body, &p.objects); err != nil {
		fail(c, http.StatusInternalServerError, err)
		return
	}
	header, body := c.Writer.Header(), p.body.Bytes()
	header["Vary"] = varyEncoding
	if acceptsGzip(c.Request.Header["Accept-Encoding"]) {
		header["Content-Encoding"] = gzipEncoding
		body = p.pack(body)
	}
	send(c, http.StatusOK, typeJSON, body)
}

func (p *packing) pack(text []byte) []byte {
	p.packed.Reset()
	p.writer.Reset(&p.packed)
	_, _ = p.writer.Write(text) // a buffer takes everything
	_ = p.writer.Close()
	return p.packed.Bytes()
}

// acceptsGzip tells whether gzip is among the codings, with a weight above 0 (RFC 9110, 12.5.3).
func acceptsGzip(values []string) bool {
	for _, value := range values {
		for coding := range strings.SplitSeq(value, ",") {
			name, parameter, _ := strings.Cut(coding, ";")
			if strings.TrimSpace(name) == "gzip" {
				weight, given := strings.CutPrefix(strings.TrimSpace(parameter), "q=")
				return !given || strings.Trim(weight, "0.") != ""
			}
		}
	}
	return false
}
