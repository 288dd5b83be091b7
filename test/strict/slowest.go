package main

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

const (
	// longTest is the time in seconds from which a test is named among the slowest.
	longTest = 5

	// mostSlowest is the most tests that are named.
	mostSlowest = 12
)

// slowest are tests that took long.
type slowest []event

// add adds a test that has ended, unless it was fast or is part of another one.
func (s *slowest) add(e event) {
	if e.Elapsed >= longTest && !strings.Contains(e.Test, "/") {
		*s = append(*s, e)
	}
}

// String returns one line about the tests that took longest. It is empty if there are none.
func (s slowest) String() string {
	slices.SortStableFunc(s, func(a, b event) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	var named []string
	for _, e := range s[:min(len(s), mostSlowest)] {
		named = append(named, fmt.Sprintf("%s.%s %.0f s", path.Base(e.Package), e.Test, e.Elapsed))
	}
	if len(named) == 0 {
		return ""
	}
	return "slowest: " + strings.Join(named, ", ") + "\n"
}
