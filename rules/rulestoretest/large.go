package rulestoretest

import (
	"fmt"
	"strings"
	"testing"
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
	changed.Document.Overrides[50_000].Reason = "another"
	s.write(other, &changed, 4)
	s.equal("the newest version", s.latest(one), &changed)
}
