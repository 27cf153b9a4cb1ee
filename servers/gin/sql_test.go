package main

import (
	"net"
	"net/http/httptest"
	"strings"
	"testing"
)

var goodCounts = map[string]int{
	"": 20, "other=7": 20, "counts=7": 20, "Count=7": 20, "x=%zz": 20, "x&y=;": 20, "count=1": 1, "count=20": 20, "count=499": 499, "count=500": 500,
	"a=b&count=5&c=%zz": 5, "count=%31%30": 10, "%63ount=9": 9,
}

var badCounts = []string{
	"count=0", "count=501", "count=abc", "count=", "count", "count=-1", "count=2.5", "count=+5", "count=%2B5", "count=05", "count=00", "count=-0",
	"count=5+", "count=%205", "count=5%0A", "count=1e2", "count=0x5", "count=1_0", "count=99999999999999999999", "count=%zz", "count=5;a=1",
	"count=%D9%A5", "count=5%00", "count=4294967297", "count=18446744073709551617",
}

func TestACountIsAPlainNumberFrom1To500(t *testing.T) {
	for query, want := range goodCounts {
		if count, err := countIn(query); count != want || err != nil {
			t.Error(query, count, err)
		}
	}
	for _, query := range badCounts {
		if count, err := countIn(query); err == nil {
			t.Error(query, count)
		}
		if status, reply := call(t, "GET", "/sql2?"+query, nil, false); status != 400 || !strings.HasPrefix(reply, `{"error":"count`) {
			t.Error(query, status, reply)
		}
	}
}

func TestWithoutADatabaseOnlyItsResponsesAreMissing(t *testing.T) {
	silent, err := net.Listen("tcp4", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	closed, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, port := range []int{0, closed.Addr().(*net.TCPAddr).Port, silent.Addr().(*net.TCPAddr).Port} {
		from, err := openDatabase(port, 2)
		if err != nil {
			t.Fatal(err)
		}
		handler := newHandler(somePosts(6), from)
		for path, want := range map[string]int{"/sql1": 503, "/sql2": 503, "/sql2?count=3": 503, "/json": 200, "/ping": 200} {
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, httptest.NewRequest("GET", path, nil))
			if recorder.Code != want || want == 503 && !strings.HasPrefix(recorder.Body.String(), `{"error":"`) {
				t.Error(port, path, recorder.Code, recorder.Body)
			}
		}
	}
}
