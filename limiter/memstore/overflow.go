package memstore

import (
	"encoding/binary"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

const (
	// overflowBits is the logarithm of how many counts a rule has for keys without room. A flood
	// must exhaust all of them before it locks out every new key. They take the memory of 4096 more
	// keys per rule, and only once a flood needs them.
	overflowBits = 12

	// warnEvery is the time between two calls of Options.OnOverflow for a zone.
	warnEvery = limiter.Instant(time.Minute / time.Microsecond)
)

// overflowTexts are the texts of the keys of overflow counts, two bytes each.
var overflowTexts = func() (texts [2 << overflowBits]byte) {
	for i := range 1 << overflowBits {
		binary.BigEndian.PutUint16(texts[2*i:], uint16(i))
	}
	return texts
}()

// moveToOverflow makes l the location of the count that its key shares with other keys without
// room. The hash that chooses it has a secret seed, so no client can choose keys that share a
// certain count.
func (l *location) moveToOverflow() {
	i := l.key.Hash >> (64 - overflowBits)
	l.key.Text = overflowTexts[2*i:][:2]
	l.key.Hash = l.zone.overflow.Hash(l.key.ID, l.key.Text)
	l.overflow, l.shard = true, l.zone.overflow.Shard(l.key.Hash)
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
		since := now - limiter.Instant(last) // negative if a later take was faster, or the clock was set back
		if max(since, -since) >= warnEvery && l.zone.lastWarning.CompareAndSwap(last, int64(now)) {
			s.onOverflow(l.zone.name)
		}
	}
}
