package limiter

// A Source says what has decided a take.
type Source uint8

const (
	FromStore            Source = iota // the store
	FromLease                          // a lease, which the store has debited
	FromRememberedDenial               // a denial by the store, repeated by the node
	FromLate                           // Rule.OnOutage, as the store has not answered in time: see Take.Err
	FromOutage                         // Rule.OnOutage, as the store could not decide for another reason
)

var sourceNames = [...]string{"store", "lease", "remembered_denial", "late", "outage"}

// String returns the name of s in metrics and placeholders.
func (s Source) String() string { return sourceNames[s] }

// WithoutStore reports whether s means that Rule.OnOutage has decided the take. Such a take has an
// error.
func (s Source) WithoutStore() bool { return s == FromLate || s == FromOutage }

// Sources is the number of sources.
const Sources = len(sourceNames)
