package lease

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/internal/keyed"
)

// shardBits is the binary logarithm of the number of shards. With 128 shards, takes on tens of
// cores seldom wait for each other's lock.
const shardBits = 7

// Accounts are the accounts of one zone. Use [Store.Open].
type Accounts struct {
	store    *Store
	name     string
	accounts *keyed.Map[hot, cold, shardState]
	rules    rules
	crowd    crowd

	// keysAtLimit is how many keys at their limit the last sweep of each part has found.
	keysAtLimit [sweepParts]atomic.Int32

	// closed says that no account is added any more, and that all leases are returned.
	closed atomic.Bool
}

// A shard has a part of a zone's accounts.
type shard = keyed.Shard[hot, cold, shardState]

// shardState is what only a few accounts of a shard have. Both maps are made when they are needed.
type shardState struct {
	queues map[name]*queue // of the accounts with a request under way

	// The pauses of accounts that have something to spend or news for the lender, but whose last
	// request has failed or could not be sent. The keys are the hashes by which the wheel finds
	// accounts.
	backoffs map[uint64]backoff
}

// A name tells an account from all others of its shard.
type name struct {
	id  uint32
	key string
}

// An entry is the hot half of an account with its key.
type entry = keyed.Entry[hot]

func accountOf(sh *shard, e *entry) account { return account{e.Value(), sh.Entries.Cold(e)} }

// Name implements [limiter.Counts].
func (z *Accounts) Name() string { return z.name }

// KeysAtLimit returns how many keys were at their limit when their accounts were last swept, as far
// as this node knows: the store has denied a take, and its retry instant was still to come.
func (z *Accounts) KeysAtLimit() (n int) {
	for i := range z.keysAtLimit {
		n += int(z.keysAtLimit[i].Load())
	}
	return n
}

// Keys calls yield with the keys that have an account, until it returns false. A key may come
// several times.
func (z *Accounts) Keys(yield func(key []byte) bool) { z.accounts.Texts(yield) }

// Close returns the leases of the zone and removes its accounts. Takes under way are decided. The
// lender decides later ones.
func (z *Accounts) Close() {
	s := z.store
	s.mu.Lock()
	closed := z.closed.Swap(true)
	if !closed {
		delete(s.zones, z.name)
	}
	s.mu.Unlock()
	if !closed {
		s.drain(z)
	}
}

// leases reports whether accounts may request more leases.
func (z *Accounts) leases() bool { return !z.closed.Load() && !z.store.leasingEnded.Load() }

// zoneOf returns the zone of r. It returns nil if that is not an open zone of s.
func (s *Store) zoneOf(r *limiter.Rule) *Accounts {
	z, _ := r.Zone.(*Accounts)
	if z == nil || z.store != s || z.closed.Load() {
		return nil
	}
	return z
}

// A location is where the account of a key is, if there is one. It stays valid although accounts
// move.
type location struct {
	zone  *Accounts
	shard *shard
	key   keyed.Key
}

// locate sets l to the location of a key in z.
func (l *location) locate(z *Accounts, id uint32, key []byte) {
	l.zone = z
	l.key.ID, l.key.Text = id, key
	l.key.Hash = z.accounts.Hash(id, key)
	l.shard = z.accounts.Shard(l.key.Hash)
}

// locate returns the location of the account of key under r. It reports false if the zone of r is
// not open.
func (s *Store) locate(r *limiter.Rule, key []byte) (l location, ok bool) {
	z := s.zoneOf(r)
	if z == nil {
		return l, false
	}
	l.locate(z, r.ID, key)
	return l, true
}

// findLocked returns the account, if there is one.
func (l *location) findLocked() (a account, ok bool) {
	e, c := l.shard.Entries.Find(&l.key)
	if e == nil {
		return a, false
	}
	return account{e.Value(), c}, true
}

// withAccount calls do with the account, if there is one, under its lock.
func (l *location) withAccount(do func(account)) (found bool) {
	l.shard.Lock()
	defer l.shard.Unlock()
	a, found := l.findLocked()
	if found {
		do(a)
	}
	return found
}

// withAccount calls do with the account of key under r, if there is one, under its lock.
func (s *Store) withAccount(r *limiter.Rule, key []byte, do func(account)) {
	if l, ok := s.locate(r, key); ok {
		l.withAccount(do)
	}
}

// addLocked adds an account for the key of l, which must have none. It reports false if the zone is
// closed, or if the zone is full and no account can be evicted. returns are calls that return what
// evicted accounts held. The caller sends them in both cases.
func (l *location) addLocked(r *limiter.Rule, now instant) (a account, ok bool, returns []*call) {
	z := l.zone
	if z.closed.Load() {
		return a, false, nil
	}
	room := z.store.background.room() > 0
	e := z.accounts.AddLocked(l.shard, &l.key, r.MaxKeys,
		func(sh *shard, e *entry) (cost int64, evictable bool) {
			a := accountOf(sh, e)
			return a.evictionCost(z.rules.ruleFor(e.ID(), a), now, room)
		},
		func(sh *shard, e *entry) {
			if c := z.closeAccountLocked(sh, e, now); c != nil {
				z.store.background.calls.Add(1)
				c.background = true
				returns = append(returns, c)
			}
		})
	if e == nil {
		return a, false, returns
	}
	z.rules.add(r)
	return accountOf(l.shard, e), true, returns
}

// idle reports whether nothing is lost when the account is removed: it has no lease, no debt, no
// remembered denial and a full local bucket, and was not used for idleFor µs. nodes is how many
// nodes share the limit in an outage.
func (a account) idle(r *limiter.Rule, now instant, idleFor int64, nodes int) bool {
	return !a.localLacks(r.InOutage(nodes), now) && !a.requesting && a.settled() && !a.denies(r, now, math.MaxInt64) &&
		now.since(a.idleSince(now)) > idleFor
}

// evictionCost returns a cost that is higher, the later the account was used. An account is not
// evictable while it has a request under way, remembers a denial or is at its local limit. Nor is
// it while it holds leases if canReturn is false.
func (a account) evictionCost(r *limiter.Rule, now instant, canReturn bool) (cost int64, evictable bool) {
	leased := a.held() // debt does not count: else a flood in an outage would lock out new keys
	evictable = (canReturn || leased == 0) && !a.requesting && !a.denies(r, now, math.MaxInt64) &&
		!a.atLocalLimit(now)
	return int64(a.idleSince(now)), evictable
}

// closeAccountLocked returns the call that returns the leases of the account of e and tells the
// lender its debt. It returns nil if there are neither. The caller removes the account, which must
// have no request under way.
func (z *Accounts) closeAccountLocked(sh *shard, e *entry, now instant) *call {
	a := accountOf(sh, e)
	r := z.rules.ruleFor(e.ID(), a)
	a.retire()
	z.dropPassed(a, r, now)
	if a.settled() {
		return nil
	}
	c := newCall(sh.Entries.Text(e), now)
	c.addLocked(target{location: location{zone: z}}, a, r)
	return c
}

// dropPassed drops the leases of a that the lender would not take back any more, and counts their
// events.
func (z *Accounts) dropPassed(a account, r *limiter.Rule, now instant) {
	if n := a.dropPassed(r, now); n > 0 {
		z.store.stats.expired.Add(uint64(n))
	}
}

// dropPassedDebt drops the debt of a that counts no longer, and counts its events.
func (z *Accounts) dropPassedDebt(a account, r *limiter.Rule, now instant) {
	if n := a.dropPassedDebt(r, now); n > 0 {
		z.store.stats.debtDropped.Add(uint64(n))
	}
}

// rules are those under which accounts last sent requests. The janitor needs them, because an
// account does not name its rule. Takes of one ID may have several limits: those of tiers, and of
// an earlier configuration.
type rules struct {
	mu   sync.Mutex // held while a list is replaced
	byID sync.Map   // rule ID -> []*limiter.Rule, the newest first
}

// maxRulesPerID bounds the rules of one ID. If the rule of an account is not known any more, the
// account is treated as if its limit had changed: its leases are returned.
const maxRulesPerID = 256

// add makes r the newest rule of its ID, in place of an older one with the same limit.
func (rs *rules) add(r *limiter.Rule) {
	if known := rs.list(r.ID); len(known) > 0 && known[0] == r {
		return
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	known := rs.list(r.ID)
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

func (rs *rules) list(id uint32) []*limiter.Rule {
	list, _ := rs.byID.Load(id)
	known, _ := list.([]*limiter.Rule)
	return known
}

// ruleFor returns the rule of an account with this rule ID. It returns the newest rule of the ID if
// the account's own is not known any more.
func (rs *rules) ruleFor(id uint32, a account) *limiter.Rule {
	known := rs.list(id)
	for _, r := range known {
		if a.appliesTo(r) {
			return r
		}
	}
	return known[0]
}
