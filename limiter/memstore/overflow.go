package memstore

import (
	"encoding/binary"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

const (
	// overflowBits is the logarithm of how many counts a rule has for keys that found no room. A
	// flood has to exhaust all of them before it locks out every new key. They take as much memory
	// as 4096 more keys of each rule, and only once a flood needs them.
	overflowBits = 12

	// warnEvery is the time between two warnings that a zone has no room.
	warnEvery = limiter.Instant(time.Minute / time.Microsecond)
)

// overflowTexts are the texts of the keys of overflow counts, two bytes each.
var overflowTexts = func() (texts [2 << overflowBits]byte) {
	for i := range 1 << overflowBits {
		binary.BigEndian.PutUint16(texts[2*i:], uint16(i))
	}
	return texts
}()

// moveToOverflow makes p the place of the count that its key shares with others that found no room.
// Which one that is depends on the seed of the store, so no client can choose keys that share the
// count of somebody else.
func (p *place) moveToOverflow() {
	i := p.key.Hash >> (64 - overflowBits)
	p.overflow, p.shard = true, &p.zone.overflow
	p.key.Hash, p.key.Text = spread(p.key.ID)^spread(uint32(i)), overflowTexts[2*i:][:2]
}

// An alarm rings once in a while. It is safe for concurrent use.
type alarm struct{ last atomic.Int64 }

// rings reports whether the last time is long ago, or after now, and makes now the last time if it
// is.
func (a *alarm) rings(now limiter.Instant) bool {
	last := a.last.Load()
	if since := now - limiter.Instant(last); 0 <= since && since < warnEvery {
		return false
	}
	return a.last.CompareAndSwap(last, int64(now))
}

// reportOverflow reports the zones that had no room for a take, each once a minute. No lock is
// held.
func (s *Store) reportOverflow(now limiter.Instant, places []place) {
	for i := range places {
		if p := &places[i]; p.overflow && p.zone.alarm.rings(now) {
			s.onOverflow(p.zone.name)
		}
	}
}
