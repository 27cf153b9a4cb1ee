package main

import "math/rand/v2"

// deck deals distinct cards: the first steps of a Fisher-Yates shuffle. It is as good from any order, so a deck stays as
// the last deal left it and no deal costs more than the cards that it takes.
type deck[T any] []T

func (d deck[T]) deal(n int) []T {
	for i := range n {
		j := i + rand.IntN(len(d)-i)
		d[i], d[j] = d[j], d[i]
	}
	return d[:n]
}
