package limiter

// A Source says by what a take was decided.
type Source uint8

const (
	FromStore            Source = iota // by the store
	FromLease                          // admitted from what the store had lent before
	FromCredit                         // admitted before the store is told
	FromRememberedDenial               // denied, because the store has denied such a take before
	FromKnownState                     // by the newest known state, as the store had too much to do to answer in time
)

var sourceNames = [...]string{"store", "lease", "credit", "remembered_denial", "known_state"}

// String returns the name of s in metrics and placeholders.
func (s Source) String() string { return sourceNames[s] }

// Sources is how many there are.
const Sources = len(sourceNames)
