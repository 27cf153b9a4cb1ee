package batch

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"shared/batch/bodies"
)

// decode gives a codec a body of its own, which it may change.
func decode(c Codec, body []byte) (Receipt, error) {
	return c.Decode(bytes.Clone(body))
}

// newEncodingJSON binds as gin does.
func newEncodingJSON() Codec {
	return NewEncodingJSON(func(body []byte, into any) error { return json.NewDecoder(bytes.NewReader(body)).Decode(into) })
}

var newCodecs = map[string]func() Codec{
	"encoding/json": newEncodingJSON, "encoding/json/v2": NewEncodingJSONv2, "simdjson-go": NewSimdjsonGo,
	"sonic": NewSonic, "go-json": NewGoJSON,
}

func TestEveryAcceptedBodyHasTheReceiptOfTheReference(t *testing.T) {
	for name, newCodec := range newCodecs {
		codec := newCodec()
		for _, body := range bodies.Accepted() {
			want, ok := reference(body)
			if got, err := decode(codec, body); err != nil || !ok || got != want {
				t.Errorf("%s: %+v, %v; the reference decoder says %+v, %t: %.300q", name, got, err, want, ok, body)
			}
		}
	}
}

func TestEveryBadBodyIsRefused(t *testing.T) {
	for name, newCodec := range newCodecs {
		codec := newCodec()
		for _, body := range bodies.Refused() {
			if got, err := decode(codec, body); err == nil {
				t.Errorf("%s accepts it with %+v: %.300q", name, got, body)
			}
			if _, ok := reference(body); ok {
				t.Errorf("the reference decoder accepts %.300q", body)
			}
		}
	}
}

func TestTheEchoKeepsEmptyApartFromNotGiven(t *testing.T) {
	for name, newCodec := range newCodecs {
		codec := newCodec()
		for _, body := range []string{
			bodies.Document{Columns: `,"readColumns":[],"operationId":""`}.String(),
			bodies.Document{Columns: `,"readColumns":[{"column":"c"},{"column":"c","dataReturnType":""}]`, Value: "null"}.String(),
			bodies.Document{Value: `"\u0001\"\\é😀"`}.String(),
			bodies.Document{Value: "-1.5e+300"}.String(),
		} {
			if _, err := decode(codec, []byte(body)); err != nil {
				t.Fatal(name, err)
			}
			echo, err := codec.Encode()
			// Members that were not given may be null; go-json has no omitzero.
			echo = bytes.Replace(echo, []byte(`,"readColumns":null`), nil, 1)
			if err != nil || string(echo) != strings.Replace(body, "e+300", exponent(echo), 1) {
				t.Errorf("%s: %v\n%s\n%s", name, err, body, echo)
			}
		}
	}
}

// exponent is how a codec writes e+300.
func exponent(echo []byte) string {
	if bytes.Contains(echo, []byte("e+300")) {
		return "e+300"
	}
	return "e300"
}

func BenchmarkCodec(b *testing.B) {
	body := bodies.Of(10)
	for name, newCodec := range newCodecs {
		codec := newCodec()
		b.Run("decode/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := codec.Decode(body); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("encode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := codec.Encode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
