package main

import (
	"math"
	"testing"
)

func TestADrawIsOfDistinctIdsOfTheTable(t *testing.T) {
	var d drawing
	for _, count := range []int{0, 1, 20, 500, 10_000} {
		dealt := map[int32]bool{}
		d.draw(count)
		for _, id := range d.ids {
			if id < 1 || id > 10_000 {
				t.Error(id)
			}
			dealt[id] = true
		}
		if len(dealt) != count {
			t.Errorf("%d distinct ids of %d", len(dealt), count)
		}
	}
}

func TestEveryDealIsEquallyLikely(t *testing.T) {
	const deals, outcomes = 120_000, 12 // ordered pairs of four cards
	counts := map[[2]int]int{}
	cards := deck[int]{0, 1, 2, 3}
	for range deals {
		counts[[2]int(cards.deal(2))]++
	}
	const expected = deals / outcomes
	for pair, count := range counts {
		if math.Abs(float64(count-expected)) > 8*math.Sqrt(expected) { // beyond 8 standard deviations
			t.Error(pair, count)
		}
	}
	if len(counts) != outcomes {
		t.Error(counts)
	}
}
