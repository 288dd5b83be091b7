package rulestoretest

import (
	"errors"

	"github.com/fleetlimit/fleetlimit/rules"
)

// writeBack has nodes that know different versions write back what the store has lost.
func (s *suite) writeBack() {
	store := s.open()
	s.write(store, Version(5), 0)
	if err := store.Write(s.Context(), Version(7), 0); !errors.Is(err, rules.ErrConflict) {
		s.Errorf("writing back with an old look = %v, want ErrConflict", err)
	}
	s.write(store, Version(7), 5)
	if err := store.Write(s.Context(), Version(6), 5); !errors.Is(err, rules.ErrConflict) {
		s.Errorf("writing back an older version = %v, want ErrConflict", err)
	}
	s.equal("the newest version", s.latest(s.open()), Version(7))
	s.write(store, Version(8), 7)
	s.hasNumbers(store, 8, 7, 5)
}

// older adds versions to a history that has a newer one, as to a store that has lost the older
// ones.
func (s *suite) older() {
	store := s.open()
	s.write(store, Version(9), 0)
	if !s.AddsOlder {
		if err := store.Write(s.Context(), Version(7), 9); !errors.Is(err, rules.ErrConflict) {
			s.Errorf("adding an older version = %v, want ErrConflict", err)
		}
		return
	}
	s.write(store, Version(7), 9)
	s.write(store, Version(3), 9)
	s.write(store, Version(8), 9)
	other := *Version(7)
	other.Author = "mallory"
	if err := store.Write(s.Context(), &other, 9); !errors.Is(err, rules.ErrConflict) {
		s.Errorf("adding another version of a number = %v, want ErrConflict", err)
	}
	if err := store.Write(s.Context(), Version(5), 8); !errors.Is(err, rules.ErrConflict) {
		s.Errorf("adding an older version with an old look = %v, want ErrConflict", err)
	}
	s.equal("the newest version", s.latest(s.open()), Version(9))
	s.hasNumbers(store, 9, 8, 7, 3)
	for _, n := range []int64{3, 7, 8, 9} {
		s.mustHave(s.open(), Version(n))
	}
	s.write(store, Version(10), 9)
}
