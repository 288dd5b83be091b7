package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// sinceBase returns how long ago base was, in µs.
func (h *hot) sinceBase(now instant) int64 { return max(0, now.since(h.base)) }

// idleSince returns when the account was last used, as far as it can tell at now.
func (a account) idleSince(now instant) instant {
	return min(now, max(a.base.plus(int64(a.shownAt)), a.requestedAt(), a.localAt))
}

// noteRequest notes that a request is sent at now.
func (a account) noteRequest(now instant) {
	if a.base == 0 {
		a.rebase(now)
	}
	a.requestedAfter = uint32(min(a.sinceBase(now)/1000, math.MaxUint32))
}

// requestedAt returns when the newest request was sent, in whole ms.
func (a account) requestedAt() instant {
	return a.base.plus(int64(a.requestedAfter) * 1000)
}

// sinceRequest returns how long ago the newest request was sent, in µs.
func (a account) sinceRequest(now instant) int64 {
	return max(0, now.since(a.requestedAt()))
}

// storeTime returns what the store's clock reads at now, or a little more.
func (h *hot) storeTime(now instant) limiter.Instant {
	return h.seenAt + limiter.Instant(h.sinceBase(now))
}

// untilNext returns how long it is to the next window or sub-window, in µs, as far as the node
// knows.
func (h *hot) untilNext(r *limiter.Rule, now instant) int64 {
	if h.seenAt == 0 {
		return r.Period()
	}
	return r.UntilNext(h.storeTime(now))
}

// windowPassed reports whether a fixed window has ended since the newest reply, so that what was
// used in it no longer counts.
func (h *hot) windowPassed(r *limiter.Rule, now instant) bool {
	return r.Algorithm.Kind == limiter.FixedWindow && r.UntilNext(h.seenAt) <= h.sinceBase(now)
}

// rebase makes base, in whole ms, the instant that the account's times count from.
func (a account) rebase(base instant) {
	base -= base % 1000
	later := base.since(a.base)
	for i := range a.expires {
		a.expires[i] = uint16(max(0, int64(a.expires[i])-later/1000))
	}
	a.arrivedAfter = uint32(max(0, int64(a.arrivedAfter)-later))
	a.shownAt -= float32(later)
	a.requestedAfter = uint32(max(0, int64(a.requestedAfter)-later/1000))
	a.debtAfter = uint32(max(0, int64(a.debtAfter)-later/1000))
	a.base = base
}
