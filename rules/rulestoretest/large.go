package rulestoretest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/rules"
)

// LargeDocument tests a store with a document of 100,000 overrides, and with changes of nothing or
// little of them. It takes too long under the race detector.
func LargeDocument(t *testing.T, fixture Fixture) {
	s := &suite{T: t, Fixture: fixture}
	large := Version(1)
	reason := strings.Repeat("because ", 8)
	for i := range 100_000 {
		o := *large.Document.Overrides[0]
		o.ID, o.Text, o.Reason = fmt.Sprint(i), fmt.Sprintf("sk_live_%016x", i*7919), reason
		large.Document.Overrides = append(large.Document.Overrides, &o)
	}
	one := s.open()
	s.write(one, large, 0)
	other := s.open()
	s.equal("the newest version", s.latest(other), large)
	for n := int64(2); n <= 4; n++ { // a document that the store has must not cost much
		v := *large
		v.Number = n
		s.write(one, &v, n-1)
		if got := s.latest(other); got.Number != n || len(got.Document.Overrides) != len(large.Document.Overrides) {
			s.Errorf("the newest version has number %d, %d overrides", got.Number, len(got.Document.Overrides))
		}
	}
	changed := *large
	changed.Number, changed.Document = 5, large.Document.Clone()
	override := *large.Document.Overrides[50_000]
	override.Reason = "another"
	changed.Document.Overrides[50_000] = &override
	s.write(other, &changed, 4)
	s.equal("the newest version", s.latest(one), &changed)
}

// manyChanges changes one entry of a long document after the other, more often than a store keeps
// patches in a row.
func (s *suite) manyChanges() {
	const entries, versions = 1000, 110
	document := Version(1).Document.Clone()
	for i := range entries {
		document.Overrides = append(document.Overrides, &rules.Override{
			Entry: rules.Entry{ID: fmt.Sprint(i)}, Key: rules.Key{Zone: "user", Text: fmt.Sprint(i)}, Limit: "1/1s",
		})
	}
	writer, follower := s.open(), s.open()
	all := make(map[int64]*rules.Version)
	for n := int64(1); n <= versions; n++ {
		v := *Version(n)
		v.Document = document.Clone()
		if n > 1 {
			place := 2 + int(n*7)%entries
			changed := *document.Overrides[place]
			changed.Reason = fmt.Sprint("change ", n)
			v.Document.Overrides[place] = &changed
		}
		document = v.Document
		all[n] = &v
		s.write(writer, &v, n-1)
		if n%10 == 0 {
			before := s.latest(follower)
			s.equal("the newest version at the follower", before, &v)
			writer, follower = follower, writer
		}
	}
	for _, n := range []int64{versions, versions - 1, 101, 100, 99, 50, 2, 1} {
		s.mustHave(s.open(), all[n])
	}
	s.equal("the newest version at a new store", s.latest(s.open()), all[versions])
	kept, next := s.latest(follower).Document, s.latest(writer)
	changed := *next
	changed.Number, changed.Document = versions+1, next.Document.Clone()
	changed.Document.Overrides = changed.Document.Overrides[:entries]
	s.write(writer, &changed, versions)
	after := s.latest(follower)
	s.equal("the newest version at the follower", after, &changed)
	if after.Document.Overrides[7] != kept.Overrides[7] {
		s.Error("an entry that has not changed is read again")
	}
}
