package batch

import (
	"errors"
	"reflect"
	"runtime"
	"strings"
	"unsafe"

	"github.com/bytedance/sonic"
	"github.com/bytedance/sonic/utf8"
)

// sonicJSON decodes and encodes with bytedance/sonic, which compiles a decoder and an encoder for the batch at start.
// sonic validates UTF-8 and surrogates only to replace what is wrong with them, so invalid UTF-8 is refused before. restrict
// refuses what else sonic lets pass; it walks the body only when that may hold such a thing, which costs most bodies nothing.
type sonicJSON struct{ batch *boundBatch }

// NewSonic returns a codec with bytedance/sonic.
func NewSonic() Codec { return new(sonicJSON) }

// sonicAPI is ConfigStd but for what the contract does not want: names in another case, U+FFFD in the place of a lone
// surrogate, and the escapes of HTML. Strings without escapes point into the body, which outlives the batch.
var sonicAPI = sonic.Config{
	SortMapKeys: true, CompactMarshaler: true, ValidateString: true, CaseSensitive: true, UseUnicodeErrors: true,
}.Froze()

func (s *sonicJSON) Decode(body []byte) (r Receipt, err error) {
	if !utf8.Validate(body) {
		return r, errUnicode
	}
	walked := mayHoldTooMany(body)
	if walked {
		if err = restrict(body); err != nil {
			return r, err
		}
	}
	s.batch = new(boundBatch)
	if err = sonicAPI.UnmarshalFromString(unsafe.String(unsafe.SliceData(body), len(body)), s.batch); err != nil {
		return r, err
	}
	if r, err = s.batch.check(); err == nil && !walked && !s.batch.holdsNothingElse(body) {
		err = restrict(body)
	}
	return r, err
}

func (s *sonicJSON) Encode() ([]byte, error) { return sonicAPI.Marshal(s.batch) }

var errNotCompiled = errors.New("sonic does not compile here: its fallback is encoding/json or an interpreter, which is another row's work")

// StartSonic compiles the batch's decoder and encoder, and refuses to start where sonic would fall back. sonic itself
// only warns, for a Go version that it does not know.
func StartSonic() error {
	if err := sonic.Pretouch(reflect.TypeFor[boundBatch]()); err != nil {
		return err
	}
	var seen compiledCallers
	err := sonicAPI.UnmarshalFromString("[1]", &[]*compiledCallers{&seen})
	if _, failed := sonicAPI.Marshal([]*compiledCallers{&seen}); err == nil {
		err = failed
	}
	if err == nil && (sonic.APIKind != sonic.UseSonicJSON || !seen.decoding || !seen.encoding) {
		err = errNotCompiled
	}
	return err
}

// compiledCallers records who calls its methods.
type compiledCallers struct{ decoding, encoding bool }

func (c *compiledCallers) UnmarshalJSON([]byte) error {
	c.decoding = calledByCompiled()
	return nil
}

func (c *compiledCallers) MarshalJSON() ([]byte, error) {
	c.encoding = calledByCompiled()
	return []byte("1"), nil
}

// calledByCompiled tells whether code that sonic compiled is among the callers; sonic names it decode_TYPE and encode_TYPE, without a
// package.
func calledByCompiled() bool {
	var counters [32]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(0, counters[:])])
	for {
		frame, more := frames.Next()
		if strings.HasPrefix(frame.Function, "decode_") || strings.HasPrefix(frame.Function, "encode_") {
			return true
		}
		if !more {
			return false
		}
	}
}
