package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

const sample = `{"operations":[{"method":"POST","relative-url":"u","body":{"filters":[{"column":"c","value":"1\n"}],` +
	`"readColumns":[{"column":"d","dataReturnType":"default"},{"column":"e"}],"operationId":"7"}},` +
	`{"body":{"filters":[{"column":"f","value":""}]},"relative-url":"v","method":"POST"}]}`

var paths = []string{"/dbop/a/b", "/dbop/a/b/echo", "/dbop-unvalidated/a/b", "/dbopsimd/a/b"}

func post(path, body string) (status int, reply string) {
	recorder := httptest.NewRecorder()
	newHandler().ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return recorder.Code, recorder.Body.String()
}

func TestEveryHandlerAcceptsABatchWithOK(t *testing.T) {
	for _, path := range paths {
		if status, reply := post(path, sample); status != http.StatusOK || reply != `"OK"` {
			t.Errorf("%s: %d %s", path, status, reply)
		}
	}
}

func TestNoHandlerAcceptsWhatIsNoJSON(t *testing.T) {
	for _, path := range paths {
		for _, body := range []string{"", "{", "x", `{"operations":[`} {
			if status, _ := post(path, body); status != http.StatusBadRequest {
				t.Errorf("%s: %d for %q", path, status, body)
			}
		}
	}
}

func TestOnlyTheBindingValidates(t *testing.T) {
	for path, want := range map[string]int{"/dbop/a/b": 400, "/dbop/a/b/echo": 400, "/dbop-unvalidated/a/b": 200, "/dbopsimd/a/b": 200} {
		for _, change := range []string{`"column":"c"|"column":""`, `"POST"|"GET"`, `"filters"|"other"`, `"relative-url"|"x"`} {
			was, is, _ := strings.Cut(change, "|")
			if got, _ := post(path, strings.Replace(sample, was, is, 1)); got != want {
				t.Errorf("%s with %s: %d", path, is, got)
			}
		}
	}
}

func TestReadColumnsAreNotValidated(t *testing.T) {
	if got, _ := post("/dbop/a/b", strings.Replace(sample, `"column":"d"`, `"column":""`, 1)); got != http.StatusOK {
		t.Error(got)
	}
}

func TestBothDecodersReadTheSameBatch(t *testing.T) {
	var want batch
	if err := json.Unmarshal([]byte(sample), &want); err != nil {
		t.Fatal(err)
	}
	if got, err := parse([]byte(sample)); err != nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("%v: %+v instead of %+v", err, got, want)
	}
}

func TestNothingEndsTheParser(t *testing.T) {
	for _, body := range []string{"[]", "{}", "1", `{"operations":3}`, `{"operations":[{"body":7},8,[]]}`, `{"operations":[{"method":{}}]}`, "{}{}", `{"operations":[]} {"operations":[{}]}`} {
		if status, _ := post("/dbopsimd/a/b", body); status != http.StatusOK && status != http.StatusBadRequest {
			t.Errorf("%d for %q", status, body)
		}
	}
}
