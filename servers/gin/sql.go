package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
)

const (
	countNotGiven = 20
	maxCount      = 500
)

var errCount = errors.New("count: a whole number from 1 to 500 is required")

// sql1 queries the database for the time.
func sql1(from *database) gin.HandlerFunc {
	return func(c *gin.Context) {
		ts, err := from.now(c.Request.Context())
		if err != nil {
			failAway(c, err)
			return
		}
		sendJSON(c, &greeting{Message: greetingText, TS: ts})
	}
}

// drawing is what one draw of records needs, kept for the next.
type drawing struct {
	ids     []int32
	records []record
}

// decks hold all ids. A request takes one for the draw only: while it waits for the database it has little memory.
var decks = sync.Pool{New: func() any {
	ids := make(deck[int32], recordsInTable)
	for i := range ids {
		ids[i] = int32(i + 1)
	}
	return &ids
}}

func (d *drawing) draw(count int) {
	all := decks.Get().(*deck[int32])
	defer decks.Put(all)
	d.ids = append(d.ids[:0], all.deal(count)...)
}

// sql2 queries the database for records drawn at random.
func sql2(from *database) gin.HandlerFunc {
	drawings := &sync.Pool{New: func() any { return new(drawing) }}
	return func(c *gin.Context) {
		count, err := countIn(c.Request.URL.RawQuery)
		if err != nil {
			fail(c, http.StatusBadRequest, err)
			return
		}
		d := drawings.Get().(*drawing)
		defer drawings.Put(d)
		d.draw(count)
		if d.records, err = from.records(c.Request.Context(), d.records[:0], d.ids); err != nil {
			failAway(c, err)
			return
		}
		sendJSON(c, d.records)
	}
}

func failAway(c *gin.Context, err error) {
	fail(c, http.StatusServiceUnavailable, fmt.Errorf("the database does not respond: %w", err))
}

// countIn reads the query's member count. gin's c.Query would take a member that it cannot decode for one not given.
func countIn(query string) (int, error) {
	for member := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(member, "=")
		if name, err := url.QueryUnescape(name); err != nil || name != "count" {
			continue
		}
		value, err := url.QueryUnescape(value)
		if err != nil {
			return 0, errCount
		}
		return parseCount(value)
	}
	return countNotGiven, nil
}

// parseCount takes nothing but digits, the first of them not 0.
func parseCount(text string) (int, error) {
	count, err := strconv.Atoi(text)
	if err != nil || count < 1 || count > maxCount || strconv.Itoa(count) != text {
		return 0, errCount
	}
	return count, nil
}
