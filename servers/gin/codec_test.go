package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
)

// document is a batch of one operation with parts of one's own; an empty part is left out.
type document struct{ root, operation, body, filter, value, columns string }

func (d document) String() string {
	if d.value == "" {
		d.value = `"v"`
	}
	return fmt.Sprintf(`{%s"operations":[{%s"method":"POST","relative-url":"u","body":{%s"filters":[{%s"column":"c","value":%s}]%s}}]}`,
		d.root, d.operation, d.body, d.filter, d.value, d.columns)
}

func accepted() (bodies [][]byte) {
	for _, d := range []document{
		{}, {value: `null`}, {value: `true`}, {value: `false`}, {value: `""`}, {value: `0`}, {value: `-0`}, {value: `-0.0`},
		{value: `-0.5`}, {value: `1E+2`}, {value: `-12e-3`}, {value: `9223372036854775808`}, {value: `18446744073709551616`},
		{value: `123456789012345678901234567890`}, {value: `1e-400`}, {value: "0." + strings.Repeat("3", 900)},
		{value: `"-01.5", "more": -1.5`}, {value: `"\ud83d\ude00\u00e9\n\"\\\/"`}, {value: `"\uD83D\uDE00 é 😀"`},
		{root: `"Operations": 7, `}, {root: `"": {"a": [1, {"b": "[\"{"}]}, `}, {operation: `"x": -1.5, `},
		{body: `"\u0066ilter": [], `}, {filter: `"Value": [], `}, {root: nested(127) + ","}, {filter: nested(122) + ","},
		{columns: `,"readColumns":[]`}, {columns: `,"readColumns":null,"operationId":null`}, {columns: `,"operationId":""`},
		{columns: `,"readColumns":[{"column":"é","dataReturnType":null},{"dataReturnType":"\t","column":"d"}]`},
		{columns: `,"readColumns":[{"column":"` + strings.Repeat("😀", 64) + `"}]`},
		// Names that are known but for their case, and known names where they are not
		{root: `"OPERATIONS": 7, "\u004fperations" : {}, "operation\u017f": 1, "operationſ": [1], "method": {}, "column": [], `},
		{operation: `"METHOD": 7, "Relative-URL": [], "relative_url": {}, "relativeurl": 1, "BODY": 3, "operations": 8, `},
		{body: `"FILTERS" : 7, "OperationId": 7, "operationID": {}, "ReadColumns": [[]], "read\u0043olumns": [], "body": 1, `},
		{filter: `"COLUMN": 7, "colum\u004e": "", "VALUE": [], "Value": {"value": [{"Column": 1}]}, "x": "Value", "y": "\"Value\":", `},
		{columns: `,"readColumns":[{"column":"c","Column":7,"DATARETURNTYPE":[]},{"column":"c","ColumN":null}], "Filters": {}`},
		{value: `"VALUE", "COLUMN": "", "Value": [], "\u0056alue": {}`, columns: `, "Filters": [], "FILTERS": null`},
		{root: `"x": {"operations": [` + strings.Repeat(`{},`, maxItems) + `{"Body": 1, "body": {"filters": 1}}]}, `},
		{body: `"x": [[` + strings.Repeat(`[],`, maxItems) + `{"Filters": 1, "filters": []}], {"y": [` + strings.Repeat(`1,`, maxItems) + `1]}], `},
	} {
		bodies = append(bodies, []byte(d.String()), []byte("\r\n\t "+d.String()+" \n"))
	}
	escaped := strings.ReplaceAll(document{}.String(), `"column"`, `"\u0063olumn"`)
	return append(bodies, []byte(escaped), batchOf(10), batchOf(100))
}

func refused() (bodies [][]byte) {
	for _, d := range []document{
		{value: `[]`}, {value: `{}`}, {value: `-01.5`}, {value: `-00`}, {value: `-0` + strings.Repeat("0", 30)}, {value: `01`},
		{value: `1e400`}, {value: `-1e400`}, {value: `1.`}, {value: `.5`}, {value: `+1`}, {value: `1e`}, {value: `NaN`},
		{value: "true\x00garbage"}, {value: "null\x00"}, {value: "1\f"}, {value: "true\u00a0"}, {value: `nul`}, {value: `1 2`},
		{value: `"\ud800"`}, {value: `"\udc00"`}, {value: `"\ud800\ue000"`}, {value: `"\ud800\ud800"`}, {value: `"\ud800x"`},
		{value: `"\u+041"`}, {value: `"\u00g0"`}, {value: `"\u004"`}, {value: `"\x"`}, {value: "\"\x01\""}, {value: "\"\xff\""},
		{value: "\"\xed\xa0\x80\""}, {root: "\"\xff\":1,"}, {root: `"\ud800":1,`}, {filter: `"x":"\udfff",`}, {filter: `"x":-00.5,`},
		{filter: `"x":["\x"],`}, {root: `"x":{"\'":1},`}, {operation: `"x":["\U0041", "\B"],`}, {body: `"x":[[-, 1]],`}, {filter: `"x":["\u00g0"],`},
		{root: nested(128) + ","}, {filter: nested(123) + ","}, {root: `"x":[1,],`}, {root: `,`}, {root: `"x":1 "y":2,`},
		{columns: `,"readColumns":{}`}, {columns: `,"readColumns":[null]`}, {columns: `,"operationId":1`}, {columns: `,`},
		{columns: `,"readColumns":[{"column":"` + strings.Repeat("😀", 65) + `"}]`}, {columns: `,"readColumns":[{"column":""}]`},
		{columns: `}},{"method":"POST","relative-url":"u","body":{"filters":[{"column":"c"}]`}, {columns: `,"x":[],"y":"::"`, value: `1},{"column":"c:","x":2`},
		{columns: `,"filters":null`}, {columns: `,"filters":[]`}, {columns: `,"filters":[{"column":"c"}]`},
		{columns: `,"filters":[{"column":"c","Value":1}]`}, {columns: `,"filters":[{"column":"c","value":1e308},{"column":"c","value":1e308}]`},
		{columns: `,"filters":[` + strings.Repeat(`{"column":"c","value":1},`, maxItems) + `{"column":"c","value":1}]`},
		{columns: `,"readColumns":[` + strings.Repeat(`{"column":"c"},`, maxItems) + `{"column":"c"}]`},
		{columns: `,"filters":[{"Column":"c","value":1}]`}, {columns: `,"readColumns":[{"\u0043olumn":"c"}]`},
	} {
		bodies = append(bodies, []byte(d.String()))
	}
	sample := document{}.String()
	for _, body := range []string{
		"", " ", "null", "[]", "{}", "1", `"x"`, "{", sample[:len(sample)-1], sample + "}", sample + "x", sample + sample,
		sample + "\n" + sample, "\ufeff" + sample, "\u00a0" + sample, sample + "\u2003", "\v" + sample, sample + "\x00", "[" + sample + "]",
		strings.ReplaceAll(sample, "POST", "GET"), strings.ReplaceAll(sample, "POST", "post"), strings.ReplaceAll(sample, `"u"`, `""`),
		strings.ReplaceAll(sample, `"POST"`, `null`), strings.ReplaceAll(sample, "operations", "Operations"),
		strings.ReplaceAll(sample, "method", "Method"), strings.ReplaceAll(sample, "filters", "filterſ"), strings.ReplaceAll(sample, "body", "BODY"),
		sample + " {}", sample + ",", sample + `"`, sample + " null", sample[:len(sample)-1] + `,"x":"\`, `{"\`, `{"operations":[{]}`, "]", "}" + sample,
		`{"operations":[]}`, `{"operations":null}`, `{"operations":[null]}`, `{"operations":{}}`, string(batchOf(maxItems + 1)),
	} {
		bodies = append(bodies, []byte(body))
	}
	return bodies
}

// nested is a member whose value nests so many levels, objects and arrays in turn.
func nested(levels int) string {
	half := strings.Repeat(`{"k":[`, levels/2)
	if levels%2 == 1 {
		return `"n":[` + half + strings.Repeat(`]}`, levels/2) + `]`
	}
	return `"n":` + half + strings.Repeat(`]}`, levels/2)
}

// batchOf is a pretty batch of so many operations.
func batchOf(operations int) []byte {
	var b bytes.Buffer
	for i := range operations {
		fmt.Fprintf(&b, ",\n  {\n    \"method\": \"POST\",\n    \"relative-url\": \"db_%d/table_%d/pk-read\",\n    \"body\": {\n"+
			"      \"filters\": [{\"column\": \"id0\", \"value\": \"%d\"}, {\"column\": \"id1\", \"value\": %d.5}],\n"+
			"      \"readColumns\": [{\"column\": \"col0\", \"dataReturnType\": \"default\"}],\n"+
			"      \"operationId\": \"%d\"\n    }\n  }", i%7, i%11, i*37, i-20, i)
	}
	return []byte("{\"operations\": [\n" + strings.TrimPrefix(b.String(), ",") + "\n]}\n")
}

// decode gives a codec a body of its own, which it may change.
func decode(c codec, body []byte) (Receipt, error) {
	return c.decode(&gin.Context{Request: new(http.Request)}, bytes.Clone(body))
}

var newCodecs = map[string]func() codec{
	"encoding/json": newEncodingJSON, "encoding/json/v2": newEncodingJSONv2, "simdjson-go": newSimdjsonGo,
	"sonic": newSonic, "go-json": newGoccy,
}

func TestEveryAcceptedBodyHasTheReceiptOfTheOracle(t *testing.T) {
	for name, newCodec := range newCodecs {
		codec := newCodec()
		for _, body := range accepted() {
			want, ok := oracle(body)
			if got, err := decode(codec, body); err != nil || !ok || got != want {
				t.Errorf("%s: %+v, %v; the oracle says %+v, %t: %.300q", name, got, err, want, ok, body)
			}
		}
	}
}

func TestEveryBadBodyIsRefused(t *testing.T) {
	for name, newCodec := range newCodecs {
		codec := newCodec()
		for _, body := range refused() {
			if got, err := decode(codec, body); err == nil {
				t.Errorf("%s accepts it with %+v: %.300q", name, got, body)
			}
			if _, ok := oracle(body); ok {
				t.Errorf("the oracle accepts %.300q", body)
			}
		}
	}
}

func TestTheEchoKeepsEmptyApartFromNotGiven(t *testing.T) {
	for name, newCodec := range newCodecs {
		codec := newCodec()
		for _, body := range []string{
			document{columns: `,"readColumns":[],"operationId":""`}.String(),
			document{columns: `,"readColumns":[{"column":"c"},{"column":"c","dataReturnType":""}]`, value: "null"}.String(),
			document{value: `"\u0001\"\\é😀"`}.String(),
			document{value: "-1.5e+300"}.String(),
		} {
			if _, err := decode(codec, []byte(body)); err != nil {
				t.Fatal(name, err)
			}
			echo, err := codec.encode()
			// Members that were not given may be null; go-json has no omitzero.
			echo = bytes.Replace(echo, []byte(`,"readColumns":null`), nil, 1)
			if err != nil || string(echo) != strings.Replace(body, "e+300", exponent(echo), 1) {
				t.Errorf("%s: %v\n%s\n%s", name, err, body, echo)
			}
		}
	}
}

// exponent is how a codec writes e+300.
func exponent(echo []byte) string {
	if bytes.Contains(echo, []byte("e+300")) {
		return "e+300"
	}
	return "e300"
}

func BenchmarkCodec(b *testing.B) {
	body := batchOf(10)
	for name, newCodec := range newCodecs {
		codec := newCodec()
		b.Run("decode/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			c := &gin.Context{Request: new(http.Request)}
			for b.Loop() {
				if _, err := codec.decode(c, body); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("encode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := codec.encode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
