package main

import (
	"encoding/json/v2"
	"fmt"
	"regexp"
	"testing"
	"time"
)

// get requests what must be there.
func get(t *testing.T, path string) (reply string) {
	t.Helper()
	status, reply := call(t, "GET", path, nil, false)
	if status != 200 {
		t.Fatal(path, status, reply)
	}
	return reply
}

func TestTextIsALine(t *testing.T) {
	for _, path := range []string{"/text", "/"} {
		if reply := get(t, path); reply != "Hello, world!\n" {
			t.Errorf("%s: %q", path, reply)
		}
	}
}

func TestJSONTellsThePresentTimeToTheMicrosecond(t *testing.T) {
	form := regexp.MustCompile(`^\{"message":"Hello, world!","ts":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)"\}$`)
	for range 50 {
		before := time.Now().Truncate(time.Microsecond)
		found := form.FindStringSubmatch(get(t, "/json"))
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
		if err := json.Unmarshal([]byte(get(t, "/json10")), &members); err != nil || len(members) != 10 {
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
