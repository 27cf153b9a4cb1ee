package main

import (
	"bytes"
	"testing"
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
		`{} {}`:                             errTrailing,
		`{"x":"\ud800"}`:                    errUnicode,
		"{\"x\":\"\xff\"}":                  errUnicode,
		`{"x":1,"x":2}`:                     nil,
		`{"operations":[],"operations":[]}`: errTwice,
		`{"operations":[{"body":{},"\u0062ody":null}]}`: errTwice,
		`{` + nested(128) + `}`:                         errDepth,
	} {
		if err := restrict([]byte(body)); err != want {
			t.Errorf("%v instead of %v: %.80s", err, want, body)
		}
	}
}

func TestTooManyItemsTakeNoMemory(t *testing.T) {
	body := append(append([]byte(`{"operations":[`), bytes.Repeat([]byte(`{},`), maxBody/3-9)...), `{}]}`...)
	codec := newEncodingJSON()
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := codec.decode(nil, body); err != errItems {
				b.Fatal(err)
			}
		}
	})
	if result.AllocedBytesPerOp() > 4096 {
		t.Error(result.AllocedBytesPerOp())
	}
}

func BenchmarkRestrict(b *testing.B) {
	body := batchOf(10)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if err := restrict(body); err != nil {
			b.Fatal(err)
		}
	}
}
