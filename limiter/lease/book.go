package lease

import (
	"sync"
	"sync/atomic"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// shardBits is the logarithm of how many shards a book has: enough that takes on tens of cores seldom meet.
const shardBits = 7

// A Zone has the accounts of one zone. Use [Store.Open].
type Zone struct {
	store  *Store
	name   string
	shards [1 << shardBits]shard
	keys   atomic.Int64 // accounts in shards, and places reserved for such. Invariant: grows only below MaxKeys
	debt   atomic.Int64 // events that accounts owe
	rules  rules        // that accounts were opened or asked for under
	crowd  crowd        // the keys without an account

	// closed says that no account is opened any more, and nothing stays leased.
	closed atomic.Bool

	// forgot is the instant at which the last account was forgotten that may have had credit. It may come back and know
	// nothing of it, so no credit is given before a window has passed.
	forgot atomic.Int64
}

// Name implements [limiter.Zone].
func (b *Zone) Name() string { return b.name }

// Close gives back what is leased in the zone and forgets its accounts. Takes of it that are under way are decided.
func (b *Zone) Close() {
	s := b.store
	s.mu.Lock()
	closed := b.closed.Swap(true)
	if !closed {
		delete(s.zones, b.name)
		s.forgot = s.options.Clock()
	}
	s.mu.Unlock()
	if !closed {
		s.drain(b)
	}
}

// shard returns the shard of the keys with this hash.
func (b *Zone) shard(hash uint64) *shard { return &b.shards[hash>>(64-shardBits)] }

// expire drops what a has leased of a window that has passed.
func (b *Zone) expire(a limiter.Account, r *limiter.Rule, now limiter.Instant) {
	if n := a.Expire(r, now); n > 0 {
		b.store.stats.expired.Add(uint64(n))
	}
}

// close removes the account of e from its shard s, which is locked. It must not be asking. What it has leased and what it
// owes is returned as a flight, nil when that is nothing. Its place is the caller's.
func (b *Zone) close(s *shard, e *entry, now limiter.Instant) (back *leaseRequest) {
	a := s.account(e)
	r := b.rules.under(e.ID(), a)
	a.Retire()
	b.expire(a, r, now)
	if leased, owed := a.Outstanding(); leased+owed > 0 {
		back = newLeaseRequest(s.accounts.Text(e, 0), now)
		back.add(target{book: b}, a, r)
	}
	s.accounts.Remove(e)
	return back
}

// release gives back a place that is not used.
func (b *Zone) release() { b.keys.Add(-1) }

// Rules are the rules under which there are accounts, so that an account can be dealt with when no take is there that says its
// rule. Takes of one ID may have several limits: those of the tiers, and of the configuration before.
type rules struct {
	mu   sync.Mutex // held while a list is replaced
	byID sync.Map   // rule ID -> []*limiter.Rule, the newest first
}

// maxRulesPerID is how many rules of one ID are known. An account whose rule is known no more is dealt with as if its limit had
// changed: what it has leased goes back.
const maxRulesPerID = 256

// note remembers r, in place of an older rule of the same limit.
func (rs *rules) note(r *limiter.Rule) {
	if known := rs.of(r.ID); len(known) > 0 && known[0] == r {
		return
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	known := rs.of(r.ID)
	list := append(make([]*limiter.Rule, 0, len(known)+1), r)
	for _, old := range known {
		if old == r {
			return
		}
		if old.Limit != r.Limit && len(list) < maxRulesPerID {
			list = append(list, old)
		}
	}
	rs.byID.Store(r.ID, list)
}

func (rs *rules) of(id uint32) []*limiter.Rule {
	list, _ := rs.byID.Load(id)
	known, _ := list.([]*limiter.Rule)
	return known
}

// under returns the rule that a, which has this rule ID, is under.
func (rs *rules) under(id uint32, a limiter.Account) *limiter.Rule {
	known := rs.of(id)
	for _, r := range known {
		if a.AppliesTo(r) {
			return r
		}
	}
	return known[0]
}
