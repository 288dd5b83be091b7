package limiter

import (
	"testing"
	"time"
)

// TestRuleOf finds the rule of a count among several, one or none.
func TestRuleOf(t *testing.T) {
	tiers := []*Rule{
		mustRule(t, bucket, Limit{Events: 10, Window: time.Minute}),
		mustRule(t, bucket, Limit{Events: 20, Window: time.Minute}),
		mustRule(t, bucket, Limit{Events: 20, Window: time.Hour}),
	}
	q := TopQuery{Rules: func(id uint32, key []byte) []*Rule {
		if string(key) != "alice" {
			return nil
		}
		return tiers[id:]
	}}
	for _, test := range []struct {
		name   string
		id     uint32
		key    string
		events int64 // of the limit that the count was last used under
		want   *Rule
	}{
		{"the only one that fits", 0, "alice", 10, tiers[0]},
		{"the first that fits", 0, "alice", 20, tiers[1]},
		{"none fits any more", 1, "alice", 10, tiers[1]},
		{"there is no rule", 3, "alice", 10, nil},
		{"the key is not looked for", 0, "bob", 10, nil},
	} {
		got := q.RuleOf(test.id, []byte(test.key), func(r *Rule) bool { return r.Limit.Events == test.events })
		if got != test.want {
			t.Errorf("%s: rule = %+v, want %+v", test.name, got, test.want)
		}
	}
}
