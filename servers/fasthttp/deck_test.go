package main

import (
	"math"
	"testing"
)

func TestADealIsOfDistinctCards(t *testing.T) {
	cards := make(deck[int], 50)
	for i := range cards {
		cards[i] = i
	}
	for count := range len(cards) + 1 {
		dealt := map[int]bool{}
		for _, card := range cards.deal(count) {
			dealt[card] = true
		}
		if len(dealt) != count {
			t.Errorf("%d distinct cards of %d", len(dealt), count)
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
