package keyed

import "maps"

// A Spill keeps values that cannot stand in entries, because they are too long or have pointers.
// The entry has the number of its value. The zero Spill is empty and ready to use. It is not safe
// for concurrent use.
type Spill[V any] struct {
	values map[int64]V
	last   int64 // the number that was given out last
	most   int   // the most values at a time since the map was made
}

// Put keeps v and returns its number, which is not 0.
func (s *Spill[V]) Put(v V) (number int64) {
	if s.values == nil {
		s.values = make(map[int64]V)
	}
	s.last++
	s.values[s.last] = v
	s.most = max(s.most, len(s.values))
	return s.last
}

// At returns the value with this number.
func (s *Spill[V]) At(number int64) V { return s.values[number] }

// Drop removes the value with this number. A Go map never gives memory back, so the few values that
// remain after a rush move to a new map.
func (s *Spill[V]) Drop(number int64) {
	delete(s.values, number)
	if s.most < 64 || len(s.values) > s.most/4 {
		return
	}
	kept := make(map[int64]V, len(s.values))
	maps.Copy(kept, s.values)
	s.values, s.most = kept, len(kept)
}
