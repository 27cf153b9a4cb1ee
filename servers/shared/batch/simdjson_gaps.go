package batch

import (
	"bytes"
	"encoding/json/jsontext"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// hasLeadingZero finds what the parser lets pass: -01.5, or -0 and more digits than an integer has.
func hasLeadingZero(body []byte) bool {
	for rest := body; ; {
		i := bytes.Index(rest, []byte("-0"))
		if i < 0 || i+2 == len(rest) {
			return false
		}
		if next := rest[i+2]; '0' <= next && next <= '9' {
			// Within a string it would be well; that is rare enough to consult a second parser.
			return !jsontext.Value(body).IsValid(duplicateNames)
		}
		rest = rest[i+2:]
	}
}

// hasBadEscape finds what simdjson-go and encoding/json let pass: lone surrogates, for simdjson-go a few signs that it takes
// for digits, and for sonic unknown escapes in ignored members. It also accepts a body that is not well-formed.
func hasBadEscape(body []byte) bool {
	for {
		i := bytes.IndexByte(body, '\\')
		if i < 0 {
			return false
		}
		if body = body[i+1:]; len(body) == 0 {
			return true
		}
		if body[0] != 'u' {
			if strings.IndexByte(`"\/bfnrt`, body[0]) < 0 {
				return true
			}
			body = body[1:]
			continue
		}
		unit := hexUnit(body[1:])
		if unit < 0 {
			return true
		}
		body = body[5:]
		if utf16.IsSurrogate(unit) {
			if !bytes.HasPrefix(body, []byte(`\u`)) || utf16.DecodeRune(unit, hexUnit(body[2:])) == utf8.RuneError {
				return true
			}
			body = body[6:]
		}
	}
}

// hexUnit is the number that the first four digits of s make, or -1.
func hexUnit(s []byte) (unit rune) {
	if len(s) < 4 {
		return -1
	}
	for _, digit := range s[:4] {
		switch {
		case '0' <= digit && digit <= '9':
			unit = unit<<4 | rune(digit-'0')
		case 'a' <= digit|0x20 && digit|0x20 <= 'f':
			unit = unit<<4 | rune(digit|0x20-'a'+10)
		default:
			return -1
		}
	}
	return unit
}
