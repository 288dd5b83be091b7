// Package share bounds what one client takes from the counts that keys without room share, so that
// no client exhausts all of these counts.
//
// A key uses one of these counts, whoever sends it. If the count depended on the client, clients
// with several addresses would have a multiple of the key's limit. So a take needs both: events
// that are left in the count, and events that the client's address may still take from all counts
// of the rule together.
package share

import (
	"hash/maphash"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

const (
	// CountBits is the logarithm of how many counts a rule has for keys without room. They take the
	// memory of 4096 more keys per rule, and only once a flood needs them.
	CountBits = 12

	// PerClient is how many counts a client may exhaust in the time in which an exhausted count is
	// full again: one in 128 counts. Around the end of that time, it may exhaust twice as many.
	PerClient = 32
)

// Of chooses the count of a key by the hash of the key. The hash has a secret seed, so no client
// can choose keys that share a certain count.
func Of(hash uint64) uint16 { return uint16(hash >> (64 - CountBits)) }

// Shares are what clients have taken from shared counts. The zero value is ready to use. Shares are
// not safe for concurrent use.
type Shares struct {
	seed maphash.Seed // secret: no client can choose addresses with the share of another one
	of   map[id]*Share
}

// An id identifies a share. All addresses with the same hash have one share, so a rule has no more
// shares than counts.
type id struct {
	rule   uint32
	client uint16
}

// Of returns the share of the client that sends k. It returns nil if the client is not known, and
// so not bounded.
func (s *Shares) Of(k *limiter.Take) *Share {
	if k.Client == nil {
		return nil
	}
	network := k.Client.Network()
	if !network.IsValid() {
		return nil
	}
	if s.of == nil {
		s.seed, s.of = maphash.MakeSeed(), make(map[id]*Share)
	}
	text := network.As16()
	of := id{k.Rule.ID, Of(maphash.Bytes(s.seed, text[:]))}
	found := s.of[of]
	if found == nil {
		found = new(Share)
		s.of[of] = found
	}
	return found
}

// Len returns the number of shares.
func (s *Shares) Len() int { return len(s.of) }

// Sweep removes the shares that would begin anew.
func (s *Shares) Sweep(now limiter.Instant) {
	for of, share := range s.of {
		if share.ends <= now {
			delete(s.of, of)
		}
	}
	if len(s.of) == 0 {
		s.of = nil
	}
}

// A Share is what one client has taken since the share began anew. A nil Share has no bound.
type Share struct {
	ends  limiter.Instant // when the share begins anew
	taken int64
}

// Allows reports whether the client may take cost events. capacity is what a count has at most, and
// fillTime is how long an exhausted count takes to be full again.
func (s *Share) Allows(now limiter.Instant, capacity int64, fillTime time.Duration, cost int64) bool {
	if s == nil {
		return true
	}
	length := limiter.Instant(fillTime / time.Microsecond)
	if now >= s.ends || s.ends > now+length+limiter.LateReading { // then the clock was set back
		s.ends, s.taken = now+length, 0
	}
	return cost <= PerClient*capacity-s.taken
}

// Add adds events that the client has taken. A negative number means events that it has given back.
func (s *Share) Add(events int64) {
	if s != nil {
		s.taken += events
	}
}

// Deny makes d a denial until the share begins anew. d is about a take that the share does not
// allow.
func (s *Share) Deny(d *limiter.Decision) {
	if !d.OK {
		return
	}
	d.OK, d.Remaining, d.Turn = false, 0, 0
	d.RetryAt = max(d.At+1, s.ends)
	d.ResetAt = max(d.ResetAt, d.RetryAt)
}
