package main

import (
	"compress/gzip"
	"encoding/json/v2"
	"io"
	"net/http"
	"testing"
)

// thousand requests the thousand numbers with an Accept-Encoding, and returns them and the coding of the response.
func thousand(t *testing.T, accepted string) (reply []map[string]int, coding string) {
	t.Helper()
	request, err := http.NewRequest("GET", server.URL+"/json1000", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", accepted) // net/http does not unpack what its user requested
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var body io.Reader = response.Body
	if coding = response.Header.Get("Content-Encoding"); coding == "gzip" {
		if body, err = gzip.NewReader(body); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.UnmarshalRead(body, &reply); err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != 200 || response.Header.Get("Vary") != "Accept-Encoding" || response.ContentLength < 1000 {
		t.Error(response.StatusCode, response.Header)
	}
	return reply, coding
}

func TestAThousandNumbersAreCompressedWhenGzipIsAccepted(t *testing.T) {
	for accepted, want := range map[string]string{
		"gzip": "gzip", "gzip, deflate, br": "gzip", "br, gzip; q=0.001": "gzip", "identity": "", "gzip;q=0": "", "br, gzip; q=0.000": "",
	} {
		reply, coding := thousand(t, accepted)
		if coding != want || len(reply) != 100 || len(reply[99]) != 10 {
			t.Errorf("%q: %q, %d", accepted, coding, len(reply))
		}
	}
}

func TestAThousandNumbersAreNewOnEachRequest(t *testing.T) {
	seen := map[int]bool{}
	for range 10 {
		reply, _ := thousand(t, "gzip")
		for _, object := range reply {
			for _, number := range object {
				seen[number] = true
			}
		}
	}
	if len(seen) < 990 { // 10,000 draws miss one of 22 thousand numbers
		t.Errorf("only %d different numbers of 1000 drawn", len(seen))
	}
}
