package rulestore

import (
	"github.com/fleetlimit/fleetlimit/rules"
)

// Keep changes how much s keeps.
func (s *Storage) Keep(versions, bytes int) { s.limits = limits{versions, bytes} }

// Keep changes how much r keeps.
func (r *Redis) Keep(versions, bytes int) { r.limits = limits{versions, bytes} }

// MostRows returns how many rows are read of a table of a list.
func MostRows() (n int) {
	for bound := (rowBound{rows: rules.MaxEntries}); ; n++ {
		if _, err := bound.decode([]byte("{}")); err != nil {
			return n
		}
	}
}
