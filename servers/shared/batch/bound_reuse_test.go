package batch

import (
	"bytes"
	"fmt"
	"testing"

	"shared/batch/bodies"
)

// A codec that has decoded other bodies must decode each as a new one does: nothing of an earlier batch may show.
func TestNoBatchShowsWhatAnEarlierOneHeld(t *testing.T) {
	full := bodies.Of(10)
	accepted := append(bodies.Accepted(),
		[]byte(`{"operations":[{"method":"POST","relative-url":"u","body":{"filters":[{"column":"c","value":null}]}}]}`),
		[]byte(`{"operations":[{"method":"POST","relative-url":"u","body":{"filters":[{"column":"c","value":1}],"readColumns":[]}}]}`),
		[]byte(`{"operations":[{"method":"POST","relative-url":"u","body":{"filters":[{"column":"c","value":1}],"readColumns":[{"column":"c"}]}}]}`),
	)
	for name, newCodec := range newCodecs {
		used := newCodec()
		for _, body := range accepted {
			for _, before := range [][]byte{full, []byte(`{"operations":[{"method":"POST","body":{"filters":[{"column":"x"`), full} {
				_, _ = decode(used, before)
			}
			fresh := newCodec()
			want, err := decode(fresh, body)
			if err != nil {
				t.Fatal(name, err)
			}
			echo, err := fresh.Encode()
			if err != nil {
				t.Fatal(name, err)
			}
			echo = bytes.Clone(echo)
			got, err := decode(used, body)
			if err != nil || got != want {
				t.Fatalf("%s: %+v, %v; a new codec says %+v: %.300q", name, got, err, want, body)
			}
			if again, err := used.Encode(); err != nil || !bytes.Equal(again, echo) {
				t.Fatalf("%s: %v\n%.500s\na new codec says\n%.500s", name, err, again, echo)
			}
		}
		for _, body := range bodies.Refused() {
			_, _ = decode(used, full)
			if got, err := decode(used, body); err == nil {
				t.Errorf("%s accepts it after another with %+v: %.300q", name, got, body)
			}
		}
	}
}

func TestALargeListOfAnOperationIsNotKept(t *testing.T) {
	s := NewSonic().(*sonicJSON)
	filters := bytes.Repeat([]byte(`,{"column":"c","value":1}`), keptItems+1)[1:]
	body := fmt.Appendf(nil, `{"operations":[{"method":"POST","relative-url":"u","body":{"filters":[%s]}}]}`, filters)
	if _, err := decode(s, body); err != nil {
		t.Fatal(err)
	}
	s.batch.empty()
	if kept := cap(s.batch.Operations[:1][0].Body.Filters); kept != 0 {
		t.Error(kept, "filters are kept")
	}
}
