package batch

import (
	"encoding/json"
	"testing"

	"shared/batch/bodies"
)

// FuzzCodecsAgreeWithTheReference holds all codecs against the reference decoder and against each other: the same bodies are accepted,
// with the same receipts, and what a codec encodes another decodes again.
func FuzzCodecsAgreeWithTheReference(f *testing.F) {
	for _, body := range append(bodies.Accepted(), bodies.Refused()...) {
		if len(body) <= 64<<10 {
			f.Add(body)
		}
	}
	codecs := map[string]Codec{} // kept, as the server keeps them
	for name, newCodec := range newCodecs {
		codecs[name] = newCodec()
	}
	again := NewEncodingJSONv2()
	f.Fuzz(func(t *testing.T, body []byte) {
		want, ok := reference(body)
		twice := ok && hasTwice(body)
		for name, codec := range codecs {
			got, err := decode(codec, body)
			if ok && (twice || err != nil && overflows(body)) {
				continue // left open
			}
			if (err == nil) != ok {
				t.Fatalf("%s: error %v, accepted by the reference decoder: %t\n%q", name, err, ok, body)
			}
			if err != nil {
				continue
			}
			if got != want {
				t.Fatalf("%s: receipt %+v instead of %+v\n%q", name, got, want, body)
			}
			encoded, err := codec.Encode()
			if err != nil {
				t.Fatalf("%s: %v\n%q", name, err, body)
			}
			if got, err = decode(again, encoded); err != nil || got != want {
				t.Fatalf("%s: %v, receipt of the echo %+v instead of %+v\n%q", name, err, got, want, encoded)
			}
		}
	})
}

// overflows tells whether a well-formed body holds a number beyond a double; in an ignored member it may be refused.
func overflows(body []byte) bool {
	var tree any
	return json.Unmarshal(body, &tree) != nil
}
