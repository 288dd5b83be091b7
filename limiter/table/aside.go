package table

// An Overflow keeps what does not fit into entries, which know it by a number. The zero Aside is empty and ready to use. It is
// not safe for concurrent use.
type Overflow[V any] struct {
	values map[int64]V
	last   int64 // number that was given out
	most   int   // values since the map was made
}

// Put keeps v and returns the number by which it is found, which is not 0.
func (a *Overflow[V]) Put(v V) (number int64) {
	if a.values == nil {
		a.values = make(map[int64]V)
	}
	a.last++
	a.values[a.last] = v
	a.most = max(a.most, len(a.values))
	return a.last
}

// At returns what has this number.
func (a *Overflow[V]) At(number int64) V { return a.values[number] }

// Len returns how many values are kept.
func (a *Overflow[V]) Len() int { return len(a.values) }

// Drop forgets what has this number. A map never gives memory back, so when most values are gone, the others get a new one.
func (a *Overflow[V]) Drop(number int64) {
	delete(a.values, number)
	if a.most < 64 || len(a.values) > a.most/4 {
		return
	}
	rest := make(map[int64]V, len(a.values))
	for number, v := range a.values {
		rest[number] = v
	}
	a.values, a.most = rest, len(rest)
}
