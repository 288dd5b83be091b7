package membership

import "time"

// A liveness is how long the other nodes have known of this one. The zero value is that of a node that has not announced
// itself. Invariant: since <= last, and no gap between the announcements from since to last is as long as Silence.
type liveness struct {
	since time.Time // of the first announcement after which the others have not forgotten this node
	last  time.Time // of the latest announcement
}

// announced returns p after an announcement at now that Redis heard.
func (p liveness) announced(now time.Time) liveness {
	if p.last.IsZero() || now.Sub(p.last) >= ExpireAfter {
		p.since = now
	}
	p.last = now
	return p
}

// settled reports whether every other node counts this one, and will until the next attempt to announce, an Interval after
// now. Two intervals after its first announcement each of them has heard of it in one of its own.
func (p liveness) settled(now time.Time) bool {
	return !p.last.IsZero() && now.Sub(p.since) >= 2*Interval && now.Sub(p.last)+Interval < ExpireAfter
}
