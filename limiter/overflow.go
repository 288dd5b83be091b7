package limiter

// What a full bucket refills is lost: it overflows. A bucket is as full as it can be while nodes hold
// what it lacks, although they may have spent that already. So a bucket that lends notes when it has
// overflowed. When a node returns a lease and says when it has spent the events, the bucket gets
// those back that would have been refilled since: the overflow after an event was spent pays for it.
//
// The bucket notes the overflow of the last OverflowWindows windows of time, and a node says in which
// of these windows it has spent events. An event is paid for by later windows only, and each overflow
// pays once.

const (
	// OverflowWindows is how many windows of time a bucket looks back for its overflow.
	OverflowWindows = 12

	// overflowParts is how many windows a long slot has: see Rule.longSlot. A window has
	// overflowUnits units, and the overflow in a window is kept in whole units.
	overflowParts, overflowUnits = 24, 255
)

// Spends say when the events of a lease were spent, by the clock of the store.
type Spends struct {
	Newest int64                   // number of the newest window: see Rule.OverflowWindow
	Events [OverflowWindows]uint16 // spent in the window Newest - i; the last ones then or before
}

// OverflowWindow returns the length of the windows of time in which a bucket notes its overflow, in
// µs. The window with the number n begins at the instant n * OverflowWindow. It returns 0 if the bucket
// has no leases.
func (r *Rule) OverflowWindow() int64 { return overflowUnits * r.overflowUnit() }

func (r *Rule) overflowUnit() int64 { return r.longSlot() / (overflowParts * overflowUnits) }

// A Recall tells all nodes to return what they hold of a bucket. The store has decided it at the
// instant At.
type Recall struct {
	Key  []byte
	Rule uint32 // the ID of the rule
	At   Instant
}

// recallLasts is for how many µs after a recall a denied take may ask the store once more, because
// other nodes are returning what they hold.
const recallLasts = 3_000

// AsksAgain reports whether the store has denied a take while nodes are returning what they hold, so
// that the node should ask once more, a millisecond later.
func (l *LeaseRequest) AsksAgain() bool {
	return l.Need > 0 && l.RecalledAt > 0 && l.Denial() != nil && l.Decision.At-l.RecalledAt <= recallLasts
}
