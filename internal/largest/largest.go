// Package largest finds the largest of many values, in memory for only those.
package largest

import (
	"cmp"
	"container/heap"
	"slices"
)

// A Set has the values with the greatest sizes of all that were added. The zero Set keeps none: use
// [New].
type Set[K cmp.Ordered, V any] struct {
	most int
	kept items[K, V]
}

type item[K cmp.Ordered, V any] struct {
	key   K
	size  float64
	value V
}

// New returns a set of at most most values.
func New[K cmp.Ordered, V any](most int) *Set[K, V] {
	return &Set[K, V]{most: most, kept: items[K, V]{index: make(map[K]int)}}
}

// Fits reports whether a value of this size would be kept now, so that one that would not need not
// be made.
func (s *Set[K, V]) Fits(size float64) bool {
	return s.kept.Len() < s.most || s.kept.Len() > 0 && size > s.kept.all[0].size
}

// Add adds a value, in place of one with the same key.
func (s *Set[K, V]) Add(key K, size float64, value V) {
	added := item[K, V]{key, size, value}
	if i, found := s.kept.index[key]; found {
		s.kept.all[i] = added
		heap.Fix(&s.kept, i)
		return
	}
	if !s.Fits(size) {
		return
	}
	if s.kept.Len() == s.most {
		heap.Pop(&s.kept)
	}
	heap.Push(&s.kept, added)
}

// Sorted returns the values, the greatest first. Those of one size are in the order of their keys.
func (s *Set[K, V]) Sorted() []V {
	all := slices.Clone(s.kept.all)
	slices.SortFunc(all, func(a, b item[K, V]) int {
		return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.key, b.key))
	})
	values := make([]V, len(all))
	for i := range all {
		values[i] = all[i].value
	}
	return values
}

// items are a heap with the smallest first.
type items[K cmp.Ordered, V any] struct {
	all   []item[K, V]
	index map[K]int // in all
}

func (h *items[K, V]) Len() int           { return len(h.all) }
func (h *items[K, V]) Less(i, j int) bool { return h.all[i].size < h.all[j].size }

func (h *items[K, V]) Swap(i, j int) {
	h.all[i], h.all[j] = h.all[j], h.all[i]
	h.index[h.all[i].key], h.index[h.all[j].key] = i, j
}

func (h *items[K, V]) Push(x any) {
	h.index[x.(item[K, V]).key] = len(h.all)
	h.all = append(h.all, x.(item[K, V]))
}

func (h *items[K, V]) Pop() any {
	last := h.all[len(h.all)-1]
	h.all = h.all[:len(h.all)-1]
	delete(h.index, last.key)
	return last
}
