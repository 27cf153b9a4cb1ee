package batch

import (
	"runtime"
	"strings"
	"testing"

	"shared/batch/bodies"
)

func TestANameInAnotherCaseIsOverwrittenAndNothingElse(t *testing.T) {
	for body, want := range map[string]string{
		`{"Operations":1,"operations":[{"method":"Method"}]}`:                              `{"__________":1,"operations":[{"method":"Method"}]}`,
		`{"operations":[{"BODY" : {"FILTERS":1},"body":{"Filters":2,"x":{"Filters":3}}}]}`: `{"operations":[{"____" : {"FILTERS":1},"body":{"_______":2,"x":{"Filters":3}}}]}`,
		`{"\u004fperations":1,"\u006fperations":[{"Method":2}]}`:                           `{"_______________":1,"\u006fperations":[{"______":2}]}`,
		`{"body":{"Filters":[{"Column":1}]}}`:                                              `{"body":{"Filters":[{"Column":1}]}}`,
	} {
		read := []byte(body)
		if err := restrict(read); err != nil || string(read) != want {
			t.Errorf("%v: %s instead of %s", err, read, want)
		}
	}
}

func TestWhatTheBindingWouldLetPassIsRefusedWithItsReason(t *testing.T) {
	for body, want := range map[string]error{
		`{} {}`:                                         errTrailing,
		`{"x":"\ud800"}`:                                errUnicode,
		"{\"x\":\"\xff\"}":                              errUnicode,
		filterOf(`"column":"c"`):                        errValue,
		filterOf(`"column":"c","value":null`):           nil,
		filterOf(`"column":"c","x":{"value":1}`):        errValue,
		`{"x":1,"x":2}`:                                 nil,
		`{"operations":[],"operations":[]}`:             errTwice,
		`{"operations":[{"body":{},"\u0062ody":null}]}`: errTwice,
		`{` + bodies.Nested(128) + `}`:                  errDepth,
	} {
		if err := restrict([]byte(body)); err != want {
			t.Errorf("%v instead of %v: %.80s", err, want, body)
		}
	}
}

// filterOf is a batch with one filter of these members.
func filterOf(members string) string {
	return `{"operations":[{"body":{"readColumns":[{}],"filters":[{` + members + `}]}}]}`
}

func TestTooManyItemsTakeNoMemory(t *testing.T) {
	for _, item := range []string{"{},", "null,"} {
		body := []byte(`{"operations":[` + strings.Repeat(item, maxBody/len(item)-9) + `{}]}`)
		for name, newCodec := range map[string]func() Codec{"encoding/json": newEncodingJSON, "sonic": NewSonic, "go-json": NewGoJSON} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := newCodec().Decode(body); err != errItems {
				t.Error(name, err)
			}
			runtime.ReadMemStats(&after)
			if taken := after.TotalAlloc - before.TotalAlloc; taken > 64<<10 {
				t.Errorf("%s takes %d bytes", name, taken)
			}
		}
	}
}

func BenchmarkRestrict(b *testing.B) {
	body := bodies.Of(10)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if err := restrict(body); err != nil {
			b.Fatal(err)
		}
	}
}
