package main

import (
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"shared/batch/bodies"
)

var server = httptest.NewServer(newHandler(somePosts(50), &database{}))

// call sends a request and checks the headers of the response against the contract.
func call(t *testing.T, at *httptest.Server, method, path string) (status int, contentType, reply string) {
	t.Helper()
	request, err := http.NewRequest(method, at.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := at.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	header := response.Header
	if header.Get("Content-Length") != strconv.Itoa(len(content)) || header.Get("Date") == "" {
		t.Errorf("%s %s: %v", method, path, header)
	}
	return response.StatusCode, header.Get("Content-Type"), string(content)
}

// get requests what must be there.
func get(t *testing.T, path, wantType string) (reply string) {
	t.Helper()
	status, contentType, reply := call(t, server, "GET", path)
	if status != 200 || contentType != wantType {
		t.Fatal(path, status, contentType, reply)
	}
	return reply
}

func TestTextIsALine(t *testing.T) {
	for _, path := range []string{"/text", "/", "/text?x=1"} {
		if reply := get(t, path, "text/plain; charset=utf-8"); reply != "Hello, world!\n" {
			t.Errorf("%s: %q", path, reply)
		}
	}
}

func TestJSONTellsThePresentTimeToTheMicrosecond(t *testing.T) {
	form := regexp.MustCompile(`^\{"message":"Hello, world!","ts":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)"\}$`)
	for range 50 {
		before := time.Now().Truncate(time.Microsecond)
		found := form.FindStringSubmatch(get(t, "/json", "application/json"))
		if found == nil {
			t.Fatal("not of this form")
		}
		if ts, err := time.Parse(time.RFC3339Nano, found[1]); err != nil || ts.Before(before) || ts.After(time.Now()) {
			t.Error(ts, err)
		}
	}
	if ts := time.Unix(0, 0).UTC().Format(rfc3339Micro); ts != "1970-01-01T00:00:00.000000Z" {
		t.Error("a whole second loses its digits:", ts)
	}
}

func TestJSON10HasTenNewNumbersOnEachRequest(t *testing.T) {
	seen := map[int]bool{}
	for range 100 {
		var members map[string]int
		if err := json.Unmarshal([]byte(get(t, "/json10", "application/json")), &members); err != nil || len(members) != 10 {
			t.Fatal(members, err)
		}
		for n := range 10 {
			number, given := members[fmt.Sprintf("Test Number %d", n+1)]
			if !given || number < 0 || number > 999 {
				t.Error(members)
			}
			seen[number] = true
		}
	}
	if len(seen) < 500 { // 632 are to be expected
		t.Errorf("only %d different numbers of 1000 drawn", len(seen))
	}
}

func TestUnknownPathsAndMethodsAreToldApart(t *testing.T) {
	for request, want := range map[string]int{
		"GET /texts": 404, "GET /text/": 404, "GET /TEXT": 404, "POST /nothing": 404, "GET /json/10": 404, "GET /index.html": 404,
		"POST /discard//t": 404, "POST /dbopsonic/d/": 404, "POST /discard/d": 404, "GET /dbopsonic/d/t": 405, "PUT /discard/d/t": 405,
		"POST /text": 405, "POST /": 405, "DELETE /json": 405, "PUT /json10": 405, "POST /blog": 405, "POST /sql1": 405, "PATCH /sql2?count=1": 405,
	} {
		method, path, _ := strings.Cut(request, " ")
		status, contentType, reply := call(t, server, method, path)
		if status != want || contentType != "application/json" || !strings.HasPrefix(reply, `{"error":"`) {
			t.Error(request, status, contentType, reply)
		}
	}
}

// sent posts a body, and holds the type of what comes back against the contract.
func sent(t *testing.T, path, body string, want int) (reply string) {
	t.Helper()
	response, err := server.Client().Post(server.URL+path, "text/plain", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != want || response.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s: %v %d %s: %.200q", path, err, response.StatusCode, content, body)
	}
	return string(content)
}

func TestEachCodecRespondsWithTheReceiptAndTheEcho(t *testing.T) {
	body := bodies.Document{}.String()
	for _, path := range []string{"/dbopjsonv2/a/b", "/dbopsonic/a/b"} {
		if receipt := sent(t, path, body, 200); !strings.HasPrefix(receipt, `{"operations":1,"filters":1,"readColumns":0,"nulls":0,"textBytes":7,`) {
			t.Error(path, receipt)
		}
		if echo := sent(t, path+"/echo", body, 200); echo != body {
			t.Error(path, echo)
		}
		for _, bad := range bodies.Refused() {
			sent(t, path, string(bad), 400)
		}
	}
}

func TestDiscardCountsBytesUpTo4MiB(t *testing.T) {
	if reply := sent(t, "/discard/a/b", strings.Repeat("x", 4<<20), 200); reply != `{"bytes":4194304}` {
		t.Error(reply)
	}
	sent(t, "/discard/a/b", strings.Repeat("x", 4<<20+1), 413)
	sent(t, "/discard/"+strings.Repeat("é", 65)+"/b", "", 400)
}
