package limiter

import "slices"

// A Lister finds the keys that use a zone most, from what this node has of them anyway: takes pay
// nothing for it. It keeps no take waiting for more than some microseconds at a time, however many
// keys there are.
type Lister interface {
	// Top returns the keys with the most use at now, the greatest first. What use is depends on the
	// store. Keys without any are left out. Counts that change meanwhile are seen before or after the
	// change.
	Top(now Instant, q *TopQuery) []KeyUse
}

// A TopQuery says what [Lister.Top] looks for.
type TopQuery struct {
	Zone Zone
	Most int // how many keys are returned at most

	// Rules returns the rules that may be in force for the count of key with this rule ID, the
	// likeliest first. It returns none for counts that are not looked for. Takes wait for it, so it
	// must be quick. It must not keep key.
	Rules func(id uint32, key []byte) []*Rule
}

// RuleOf returns the rule that the count of key was last used under: the first of Rules for which
// used reports true, else the likeliest. It returns nil for a count that is not looked for.
func (q *TopQuery) RuleOf(id uint32, key []byte, used func(*Rule) bool) *Rule {
	rules := q.Rules(id, key)
	if i := slices.IndexFunc(rules, used); i >= 0 {
		return rules[i]
	}
	if len(rules) == 0 {
		return nil
	}
	return rules[0]
}

// A KeyUse is how much a key uses a rule.
type KeyUse struct {
	// Rule is the one of TopQuery.Rules under which the key was used last. It is the likeliest if
	// that one is not in force any more.
	Rule *Rule
	Key  []byte

	Use float64

	// At is the instant of this use by the clock of the store. Compare RetryAt with it, not with
	// another clock.
	At Instant

	// RetryAt is not 0 if the node knows that takes are denied: the earliest instant at which that
	// may end.
	RetryAt Instant
}
