package batch

import (
	"math"
	"unsafe"

	"github.com/minio/simdjson-go"
)

// tape reads simdjson-go's tape by its documented format: a word of a tag and a payload for each value and each bracket,
// and a second word for the length of a string and for the bits of a number. simdjson.Iter does the same at twice the
// cost.
type tape struct {
	words    []uint64
	message  []byte // holds the strings without escapes
	strings  []byte // holds the others
	at       int
	negative bool // a negative float was read
}

func (t *tape) tag() simdjson.Tag { return simdjson.Tag(t.words[t.at] >> simdjson.JSONTAGOFFSET) }

// enter goes past the word if it has the tag.
func (t *tape) enter(tag simdjson.Tag) bool {
	if t.tag() != tag {
		return false
	}
	t.at++
	return true
}

// more tells whether the object or array has more to come, and goes past its end if not.
func (t *tape) more() bool {
	switch t.tag() {
	case simdjson.TagObjectEnd, simdjson.TagArrayEnd:
		t.at++
		return false
	}
	return true
}

// text borrows a member's name, or a string.
func (t *tape) text() string {
	offset, length := t.words[t.at]&simdjson.JSONVALUEMASK, t.words[t.at+1]
	t.at += 2
	from := t.message
	if offset&simdjson.STRINGBUFBIT != 0 {
		from, offset = t.strings, offset&simdjson.STRINGBUFMASK
	}
	text := from[offset : offset+length]
	return unsafe.String(unsafe.SliceData(text), len(text))
}

func (t *tape) number() float64 {
	tag, bits := t.tag(), t.words[t.at+1]
	t.at += 2
	switch tag {
	case simdjson.TagInteger:
		return float64(int64(bits))
	case simdjson.TagUint:
		return float64(bits)
	default:
		number := math.Float64frombits(bits)
		t.negative = t.negative || math.Signbit(number)
		return number
	}
}

// skip passes over an unknown member's value; level is its own if it is an object or an array.
func (t *tape) skip(level int) error {
	for depth := level - 1; ; {
		switch t.tag() {
		case simdjson.TagObjectStart, simdjson.TagArrayStart:
			t.at++
			if depth++; depth > maxDepth {
				return errDepth
			}
		case simdjson.TagObjectEnd, simdjson.TagArrayEnd:
			t.at++
			depth--
		case simdjson.TagString:
			t.at += 2
		case simdjson.TagInteger, simdjson.TagUint, simdjson.TagFloat:
			t.number()
		default: // true, false and null
			t.at++
		}
		if depth < level {
			return nil
		}
	}
}
