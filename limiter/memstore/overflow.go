package memstore

import (
	"encoding/binary"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/internal/share"
)

// warnEvery is the time between two calls of Options.OnOverflow for a zone.
const warnEvery = limiter.Instant(time.Minute / time.Microsecond)

// overflowTexts are the texts of the keys of overflow counts, two bytes each.
var overflowTexts = func() (texts [2 << share.CountBits]byte) {
	for i := range 1 << share.CountBits {
		binary.BigEndian.PutUint16(texts[2*i:], uint16(i))
	}
	return texts
}()

// moveToOverflow makes l the location of the count that its key shares with other keys without
// room.
func (l *location) moveToOverflow() {
	i := 2 * int(share.Of(l.key.Hash))
	l.key.Text = overflowTexts[i:][:2]
	l.key.Hash = l.zone.overflow.Hash(l.key.ID, l.key.Text)
	l.overflow, l.shard = true, l.zone.overflow.Shard(l.key.Hash)
}

// allows reports whether the client may take the cost of k, if the key found no room.
func (l *location) allows(k *limiter.Take, now limiter.Instant) bool {
	return l.share.Allows(now, k.Rule.Capacity(), k.Rule.FillTime(), k.Cost)
}

// take is [countRef.take], within the share of the client.
func (l *location) take(k *limiter.Take, now limiter.Instant) {
	if !l.allows(k, now) {
		k.Decision = l.peekTake(k, now)
		return
	}
	if l.countRef.take(k, now); k.Decision.OK {
		l.share.Add(k.Cost)
	}
}

// peekTake is [countRef.peekTake], within the share of the client.
func (l *location) peekTake(k *limiter.Take, now limiter.Instant) limiter.Decision {
	d := l.countRef.peekTake(k, now)
	if !l.allows(k, now) {
		l.share.Deny(&d)
	}
	return d
}

// refund is [countRef.refund], and gives the cost back to the share of the client too.
func (l *location) refund(k *limiter.Take, now limiter.Instant) {
	l.countRef.refund(k, now)
	l.share.Add(-k.Cost)
}

// warnOverflow calls OnOverflow for the zones that had no room for a take, unless it did so within
// the last minute. No lock is held.
func (s *Store) warnOverflow(now limiter.Instant, locations []location) {
	for i := range locations {
		l := &locations[i]
		if !l.overflow {
			continue
		}
		last := l.zone.lastWarning.Load()
		since := now - limiter.Instant(last) // negative after a take with a later now, or if the clock was set back
		if max(since, -since) >= warnEvery && l.zone.lastWarning.CompareAndSwap(last, int64(now)) {
			s.onOverflow(l.zone.name)
		}
	}
}
