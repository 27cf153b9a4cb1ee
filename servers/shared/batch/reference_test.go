package batch

import (
	"encoding/json"
	"encoding/json/jsontext"
	"math"
	"strings"
	"unicode/utf8"
)

// reference tells what the contract says of a body, by the plainest means: a generic tree, walked member by member.
// ok is false for a refused one.
func reference(body []byte) (receipt Receipt, ok bool) {
	if !jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true)) || depth(body) > maxDepth {
		return Receipt{}, false
	}
	var root map[string]any
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	decoder.UseNumber() // an ignored number may overflow
	if decoder.Decode(&root) != nil {
		return Receipt{}, false
	}
	operations, ok := root["operations"].([]any)
	if !ok || len(operations) < 1 || len(operations) > maxItems {
		return Receipt{}, false
	}
	r := Receipt{Operations: len(operations)}
	for _, o := range operations {
		if !r.addOperation(o) {
			return Receipt{}, false
		}
	}
	return r, !math.IsInf(r.NumberSum, 0)
}

func (r *Receipt) addOperation(o any) bool {
	op, _ := o.(map[string]any)
	body, isObject := op["body"].(map[string]any)
	filters, isArray := body["filters"].([]any)
	url, _ := op["relative-url"].(string)
	columns, isColumns := body["readColumns"].([]any)
	id, isID := body["operationId"].(string)
	if op["method"] != "POST" || url == "" || !isObject || !isArray || len(filters) < 1 || len(filters) > maxItems ||
		len(columns) > maxItems || !isColumns && body["readColumns"] != nil || !isID && body["operationId"] != nil {
		return false
	}
	r.TextBytes += len("POST") + len(url) + len(id)
	r.Filters += len(filters)
	r.ReadColumns += len(columns)
	for _, f := range filters {
		filter, _ := f.(map[string]any)
		value, given := filter["value"]
		if !r.addColumn(filter) || !given || !r.addValue(value) {
			return false
		}
	}
	for _, c := range columns {
		column, _ := c.(map[string]any)
		kind, isText := column["dataReturnType"].(string)
		if !r.addColumn(column) || !isText && column["dataReturnType"] != nil {
			return false
		}
		r.TextBytes += len(kind)
	}
	return true
}

func (r *Receipt) addColumn(of map[string]any) bool {
	name, _ := of["column"].(string)
	r.TextBytes += len(name)
	return name != "" && utf8.RuneCountInString(name) <= maxCharacters
}

func (r *Receipt) addValue(value any) bool {
	switch value := value.(type) {
	case nil:
		r.Nulls++
	case bool:
	case string:
		r.TextBytes += len(value)
	case json.Number:
		number, err := value.Float64()
		r.NumberSum += number
		return err == nil
	default:
		return false
	}
	return true
}

func depth(body []byte) (deepest int) {
	level, inString := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case c == '"':
			inString = !inString
		case inString && c == '\\':
			i++
		case inString:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}

// hasTwice tells whether an object of a well-formed body has a member twice: the contract leaves open which one counts.
func hasTwice(body []byte) bool { return !jsontext.Value(body).IsValid() }
