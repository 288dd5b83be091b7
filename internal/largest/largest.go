// Package largest finds the largest of many values, in memory for only those.
package largest

import (
	"cmp"
	"slices"
)

// A Set has the values with the greatest sizes of all that were added. The zero Set keeps none: use
// [New].
type Set[K cmp.Ordered, V any] struct {
	most  int
	items []item[K, V] // a heap: the smallest comes first
	index map[K]int    // in items
}

type item[K cmp.Ordered, V any] struct {
	key   K
	size  float64
	value V
}

// New returns a set of at most most values.
func New[K cmp.Ordered, V any](most int) *Set[K, V] {
	return &Set[K, V]{most: most, index: make(map[K]int)}
}

// Fits reports whether a value of this size would be kept now, so that one that would not need not be
// made.
func (s *Set[K, V]) Fits(size float64) bool {
	return len(s.items) < s.most || len(s.items) > 0 && size > s.items[0].size
}

// Add adds a value, in place of one with the same key.
func (s *Set[K, V]) Add(key K, size float64, value V) {
	i, found := s.index[key]
	switch {
	case found:
	case len(s.items) < s.most:
		i = len(s.items)
		s.items = append(s.items, item[K, V]{})
	case !s.Fits(size):
		return
	default:
		i = 0
		delete(s.index, s.items[0].key)
	}
	s.items[i] = item[K, V]{key, size, value}
	s.index[key] = i
	s.down(s.up(i))
}

// up moves an item towards the beginning until none before it is greater, and returns where it is.
func (s *Set[K, V]) up(i int) int {
	for i > 0 && s.items[i].size < s.items[(i-1)/2].size {
		s.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	return i
}

// down moves an item towards the end until none after it is smaller.
func (s *Set[K, V]) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(s.items); child++ {
			if s.items[child].size < s.items[least].size {
				least = child
			}
		}
		if least == i {
			return
		}
		s.swap(i, least)
		i = least
	}
}

func (s *Set[K, V]) swap(i, j int) {
	s.items[i], s.items[j] = s.items[j], s.items[i]
	s.index[s.items[i].key], s.index[s.items[j].key] = i, j
}

// Sorted returns the values, the greatest first. Those of one size are in the order of their keys.
func (s *Set[K, V]) Sorted() []V {
	items := slices.Clone(s.items)
	slices.SortFunc(items, func(a, b item[K, V]) int {
		return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.key, b.key))
	})
	values := make([]V, len(items))
	for i := range items {
		values[i] = items[i].value
	}
	return values
}
