package limiter

import (
	"fmt"
	"slices"
)

// An audit notes what happens in a world, and says what should not have. It stops at the first such thing.
type audit struct {
	*world
	keys     []keyAudit
	exact    []Count // what the algorithm decides on the same arrivals, undisturbed
	err      error
	wrongKey int
	wrongAt  Instant
	light    bool // it keeps no list of admissions, and compares with nothing
	calm     bool // nothing goes wrong: so nothing may be denied far from the limit
	changes  bool // of the limit: then nothing is said about what is given back
}

// A keyAudit is what happened to one key.
type keyAudit struct {
	admissions []*admission

	// Events but those of credit. In the end: debited == returned + admitted + lost.
	debited, returned, admitted, lost int64

	// Events of credit. In the end: credited == settled + unsettled.
	credited, settled, unsettled int64

	overturned bool  // by a failover
	forgotten  int64 // events that failovers lost

	takes, local, refused, abandoned, loans int64
	needs, refills                          int64
	exactRefused, exactUsed                 int64
	longestFalseWait                        int64 // that a take was told to wait while the exact algorithm had denied none, in µs
}

// An admission is an admitted take, at the instant of the store's clock that it counts at.
type admission struct {
	at     Instant
	n      int64
	credit bool
}

func (w *world) newAudit(keys int) *audit {
	a := &audit{world: w, keys: make([]keyAudit, keys)}
	for range keys {
		a.exact = append(a.exact, NewCount(w.rule.Algorithm))
	}
	return a
}

// failf says what is wrong with a key, and that it shows now.
func (a *audit) failf(key int, format string, args ...any) {
	if a.plant.blind {
		return
	}
	a.failAt(a.now, key, format, args...)
}

// failAt says what is wrong with a key, and that it showed at the instant at.
func (a *audit) failAt(at Instant, key int, format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf("key %d: "+format, append([]any{key}, args...)...)
		a.wrongKey, a.wrongAt = key, at
	}
}

// close checks what must hold in the end, when all is quiet.
func (a *audit) close() {
	for key := range a.keys {
		k := &a.keys[key]
		a.checkBound(key, k)
		if n := k.refused; a.calm && n > 0 && k.exactRefused == 0 && 2*k.exactUsed <= a.rule.capacity {
			a.failf(key, "denied %d, though no more than %d of %d were ever used", n, k.exactUsed, a.rule.capacity)
		}
		if k.overturned {
			continue // the sums are of a store that is no more
		}
		if got := k.debited - k.returned - k.admitted - k.lost; got != 0 {
			a.failf(key, "debited %d, returned %d, admitted %d, lost %d: %d are missing",
				k.debited, k.returned, k.admitted, k.lost, got)
		}
		if got := k.credited - k.settled; got < 0 || got > k.unsettled {
			a.failf(key, "credit of %d, of which %d settled, and at most %d could not be",
				k.credited, k.settled, k.unsettled)
		}
	}
	for _, n := range a.nodes {
		for key := range a.keys {
			if h := n.accounts[key]; h != nil && eventsIn(h.remaining) > 0 {
				a.failf(key, "%v: %d are leased in the end", n, h.remaining)
			}
		}
	}
}

// inOrder returns what was admitted to a key, oldest first.
func (k *keyAudit) inOrder() []*admission {
	slices.SortStableFunc(k.admissions, func(a, b *admission) int { return int(a.at - b.at) })
	return slices.DeleteFunc(k.admissions, func(e *admission) bool { return e.n == 0 })
}

// sum returns what happened to all keys together.
func (a *audit) sum() (s keyAudit) {
	for i := range a.keys {
		k := &a.keys[i]
		s.takes += k.takes
		s.local += k.local
		s.refused += k.refused
		s.admitted += k.admitted
		s.credited += k.credited
		s.abandoned += k.abandoned
		s.loans += k.loans
		s.needs += k.needs
		s.refills += k.refills
		s.exactRefused += k.exactRefused
	}
	return s
}
