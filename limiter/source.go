package limiter

// A Source is what a take was decided by.
type Source uint8

const (
	FromStore            Source = iota // the store
	FromLease                          // a lease, which the store has debited
	FromCredit                         // credit: admitted before the store has answered
	FromRememberedDenial               // a denial by the store, repeated by the node
	FromKnownState                     // the newest known state, as the store was too busy to answer in time
	FromOutage                         // Rule.OnOutage, as the store could not decide: see Take.Err
)

var sourceNames = [...]string{"store", "lease", "credit", "remembered_denial", "known_state", "outage"}

// String returns the name of s in metrics and placeholders.
func (s Source) String() string { return sourceNames[s] }

// Sources is the number of sources.
const Sources = len(sourceNames)
