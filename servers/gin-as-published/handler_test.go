package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const batchWithoutColumn = `{"operations":[{"method":"POST","relative-url":"u","body":{"filters":[{"column":"","value":1}]}}]}`

func status(path, body string) int {
	recorder := httptest.NewRecorder()
	newHandler().ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return recorder.Code
}

func TestOnlyOneOfBothValidates(t *testing.T) {
	if got := status("/dbop/a/b", batchWithoutColumn); got != http.StatusBadRequest {
		t.Errorf("with validation: %d", got)
	}
	if got := status("/dbop-unvalidated/a/b", batchWithoutColumn); got != http.StatusOK {
		t.Errorf("without validation: %d", got)
	}
}

func TestBothAcceptABatch(t *testing.T) {
	good := strings.Replace(batchWithoutColumn, `"column":""`, `"column":"c"`, 1)
	for _, path := range []string{"/dbop/a/b", "/dbop-unvalidated/a/b"} {
		if got := status(path, good); got != http.StatusOK {
			t.Errorf("%s: %d", path, got)
		}
	}
}
