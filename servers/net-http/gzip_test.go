package main

import (
	"compress/gzip"
	"encoding/json/v2"
	"io"
	"net/http"
	"testing"
)

// thousand asks for the thousand numbers with an Accept-Encoding, and returns them and the coding of the answer.
func thousand(t *testing.T, accepted string) (answer []map[string]int, coding string) {
	t.Helper()
	request, err := http.NewRequest("GET", server.URL+"/json1000", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", accepted) // net/http does not unpack what its user asked for
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
	if err := json.UnmarshalRead(body, &answer); err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != 200 || response.Header.Get("Vary") != "Accept-Encoding" || response.ContentLength < 1000 {
		t.Error(response.StatusCode, response.Header)
	}
	return answer, coding
}

func TestAThousandNumbersAreCompressedWhenGzipIsAccepted(t *testing.T) {
	for accepted, want := range map[string]string{
		"gzip": "gzip", "gzip, deflate, br": "gzip", "br, gzip; q=0.001": "gzip", "identity": "", "gzip;q=0": "", "br, gzip; q=0.000": "",
	} {
		answer, coding := thousand(t, accepted)
		if coding != want || len(answer) != 100 || len(answer[99]) != 10 {
			t.Errorf("%q: %q, %d", accepted, coding, len(answer))
		}
	}
}

func TestAThousandNumbersAreNewOnEachRequest(t *testing.T) {
	seen := map[int]bool{}
	for range 10 {
		answer, _ := thousand(t, "gzip")
		for _, object := range answer {
			for _, number := range object {
				seen[number] = true
			}
		}
	}
	if len(seen) < 990 { // 10,000 draws miss one of 22 thousand numbers
		t.Errorf("only %d different numbers of 1000 drawn", len(seen))
	}
}
