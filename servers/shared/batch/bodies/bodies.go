// Package bodies holds request bodies for tests: batches that the contract accepts, and others that it refuses.
package bodies

import (
	"bytes"
	"fmt"
	"strings"
)

const maxItems = 4096 // of an array of a batch

// Document is a batch of one operation with parts of one's own; an empty part is left out.
type Document struct{ Root, Operation, Body, Filter, Value, Columns string }

func (d Document) String() string {
	if d.Value == "" {
		d.Value = `"v"`
	}
	return fmt.Sprintf(`{%s"operations":[{%s"method":"POST","relative-url":"u","body":{%s"filters":[{%s"column":"c","value":%s}]%s}}]}`,
		d.Root, d.Operation, d.Body, d.Filter, d.Value, d.Columns)
}

// Accepted returns bodies that the contract accepts.
func Accepted() (bodies [][]byte) {
	for _, d := range []Document{
		{}, {Value: `null`}, {Value: `true`}, {Value: `false`}, {Value: `""`}, {Value: `0`}, {Value: `-0`}, {Value: `-0.0`},
		{Value: `-0.5`}, {Value: `1E+2`}, {Value: `-12e-3`}, {Value: `9223372036854775808`}, {Value: `18446744073709551616`},
		{Value: `123456789012345678901234567890`}, {Value: `1e-400`}, {Value: "0." + strings.Repeat("3", 900)},
		{Value: `"-01.5", "more": -1.5`}, {Value: `"\ud83d\ude00\u00e9\n\"\\\/"`}, {Value: `"\uD83D\uDE00 é 😀"`},
		{Root: `"Operations": 7, `}, {Root: `"": {"a": [1, {"b": "[\"{"}]}, `}, {Operation: `"x": -1.5, `},
		{Body: `"\u0066ilter": [], `}, {Filter: `"Value": [], `}, {Root: Nested(127) + ","}, {Filter: Nested(122) + ","},
		{Columns: `,"readColumns":[]`}, {Columns: `,"readColumns":null,"operationId":null`}, {Columns: `,"operationId":""`},
		{Columns: `,"readColumns":[{"column":"é","dataReturnType":null},{"dataReturnType":"\t","column":"d"}]`},
		{Columns: `,"readColumns":[{"column":"` + strings.Repeat("😀", 64) + `"}]`},
		// Names that are known but for their case, and known names where they are not
		{Root: `"OPERATIONS": 7, "\u004fperations" : {}, "operation\u017f": 1, "operationſ": [1], "method": {}, "column": [], `},
		{Operation: `"METHOD": 7, "Relative-URL": [], "relative_url": {}, "relativeurl": 1, "BODY": 3, "operations": 8, `},
		{Body: `"FILTERS" : 7, "OperationId": 7, "operationID": {}, "ReadColumns": [[]], "read\u0043olumns": [], "body": 1, `},
		{Filter: `"COLUMN": 7, "colum\u004e": "", "VALUE": [], "Value": {"value": [{"Column": 1}]}, "x": "Value", "y": "\"Value\":", `},
		{Columns: `,"readColumns":[{"column":"c","Column":7,"DATARETURNTYPE":[]},{"column":"c","ColumN":null}], "Filters": {}`},
		{Value: `"VALUE", "COLUMN": "", "Value": [], "\u0056alue": {}`, Columns: `, "Filters": [], "FILTERS": null`},
		{Root: `"x": {"operations": [` + strings.Repeat(`{},`, maxItems) + `{"Body": 1, "body": {"filters": 1}}]}, `},
		{Body: `"x": [[` + strings.Repeat(`[],`, maxItems) + `{"Filters": 1, "filters": []}], {"y": [` + strings.Repeat(`1,`, maxItems) + `1]}], `},
	} {
		bodies = append(bodies, []byte(d.String()), []byte("\r\n\t "+d.String()+" \n"))
	}
	for name, escaped := range map[string]string{"operations": `operation\u0073`, "method": `m\u0065thod`, "filters": `\u0066ilt\u0065rs`} {
		bodies = append(bodies, []byte(strings.ReplaceAll(Document{}.String(), `"`+name+`"`, `"`+escaped+`"`)))
	}
	escaped := strings.ReplaceAll(Document{}.String(), `"column"`, `"\u0063olumn"`)
	return append(bodies, []byte(escaped), Of(10), Of(100))
}

// Refused returns bodies that the contract refuses.
func Refused() (bodies [][]byte) {
	for _, d := range []Document{
		{Value: `[]`}, {Value: `{}`}, {Value: `-01.5`}, {Value: `-00`}, {Value: `-0` + strings.Repeat("0", 30)}, {Value: `01`},
		{Value: `1e400`}, {Value: `-1e400`}, {Value: `1.`}, {Value: `.5`}, {Value: `+1`}, {Value: `1e`}, {Value: `NaN`},
		{Value: "true\x00garbage"}, {Value: "null\x00"}, {Value: "1\f"}, {Value: "true\u00a0"}, {Value: `nul`}, {Value: `1 2`},
		{Value: `"\ud800"`}, {Value: `"\udc00"`}, {Value: `"\ud800\ue000"`}, {Value: `"\ud800\ud800"`}, {Value: `"\ud800x"`},
		{Value: `"\u+041"`}, {Value: `"\u00g0"`}, {Value: `"\u004"`}, {Value: `"\x"`}, {Value: "\"\x01\""}, {Value: "\"\xff\""},
		{Value: "\"\xed\xa0\x80\""}, {Root: "\"\xff\":1,"}, {Root: `"\ud800":1,`}, {Root: "\"\\n\x01\":1,"}, {Filter: `"x":"\udfff",`}, {Filter: `"x":-00.5,`},
		{Filter: `"x":["\x"],`}, {Root: `"x":{"\'":1},`}, {Operation: `"x":["\U0041", "\B"],`}, {Body: `"x":[[-, 1]],`}, {Filter: `"x":["\u00g0"],`},
		{Root: Nested(128) + ","}, {Filter: Nested(123) + ","}, {Root: `"x":[1,],`}, {Root: `,`}, {Root: `"x":1 "y":2,`},
		{Columns: `,"readColumns":{}`}, {Columns: `,"readColumns":[null]`}, {Columns: `,"operationId":1`}, {Columns: `,`},
		{Columns: `,"readColumns":[{"column":"` + strings.Repeat("😀", 65) + `"}]`}, {Columns: `,"readColumns":[{"column":""}]`},
		{Columns: `}},{"method":"POST","relative-url":"u","body":{"filters":[{"column":"c"}]`}, {Columns: `,"x":[],"y":"::"`, Value: `1},{"column":"c:","x":2`},
		{Columns: `,"filters":null`}, {Columns: `,"filters":[]`}, {Columns: `,"filters":[{"column":"c"}]`},
		{Columns: `,"filters":[{"column":"c","Value":1}]`}, {Columns: `,"filters":[{"column":"c","value":1e308},{"column":"c","value":1e308}]`},
		{Columns: `,"filters":[` + strings.Repeat(`{"column":"c","value":1},`, maxItems) + `{"column":"c","value":1}]`},
		{Columns: `,"readColumns":[` + strings.Repeat(`{"column":"c"},`, maxItems) + `{"column":"c"}]`},
		{Columns: `}},{"method":"POST","relative-url":"u","body":{"\u0066i":[{"column":"c","value":1}]`},
		{Columns: `,"filters":[{"Column":"c","value":1}]`}, {Columns: `,"readColumns":[{"\u0043olumn":"c"}]`},
	} {
		bodies = append(bodies, []byte(d.String()))
	}
	sample := Document{}.String()
	for _, body := range []string{
		"", " ", "null", "[]", "{}", "1", `"x"`, "{", sample[:len(sample)-1], sample + "}", sample + "x", sample + sample,
		sample + "\n" + sample, "\ufeff" + sample, "\u00a0" + sample, sample + "\u2003", "\v" + sample, sample + "\x00", "[" + sample + "]",
		strings.ReplaceAll(sample, "POST", "GET"), strings.ReplaceAll(sample, "POST", "post"), strings.ReplaceAll(sample, `"u"`, `""`),
		strings.ReplaceAll(sample, `"POST"`, `null`), strings.ReplaceAll(sample, "operations", "Operations"),
		strings.ReplaceAll(sample, "method", "Method"), strings.ReplaceAll(sample, "filters", "filterſ"), strings.ReplaceAll(sample, "body", "BODY"),
		sample + " {}", sample + ",", sample + `"`, sample + " null", sample[:len(sample)-1] + `,"x":"\`, `{"\`, `{"operations":[{]}`, "]", "}" + sample,
		`{"operations":[]}`, `{"operations":null}`, `{"operations":[null]}`, `{"operations":{}}`, string(Of(maxItems + 1)),
	} {
		bodies = append(bodies, []byte(body))
	}
	return bodies
}

// Nested is a member whose value nests so many levels, objects and arrays alternately.
func Nested(levels int) string {
	half := strings.Repeat(`{"k":[`, levels/2)
	if levels%2 == 1 {
		return `"n":[` + half + strings.Repeat(`]}`, levels/2) + `]`
	}
	return `"n":` + half + strings.Repeat(`]}`, levels/2)
}

// Of is a pretty batch of so many operations.
func Of(operations int) []byte {
	var b bytes.Buffer
	for i := range operations {
		fmt.Fprintf(&b, ",\n  {\n    \"method\": \"POST\",\n    \"relative-url\": \"db_%d/table_%d/pk-read\",\n    \"body\": {\n"+
			"      \"filters\": [{\"column\": \"id0\", \"value\": \"%d\"}, {\"column\": \"id1\", \"value\": %d.5}],\n"+
			"      \"readColumns\": [{\"column\": \"col0\", \"dataReturnType\": \"default\"}],\n"+
			"      \"operationId\": \"%d\"\n    }\n  }", i%7, i%11, i*37, i-20, i)
	}
	return []byte("{\"operations\": [\n" + strings.TrimPrefix(b.String(), ",") + "\n]}\n")
}
