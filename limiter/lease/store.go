// Package lease decides takes on this node, from events that the store of a fleet has lent it, and asks that store only
// where it has to. A node spends nothing that the store has not debited, but for a bounded credit: however many nodes there
// are, together they do not exceed the limit, or not by more than was configured.
//
// # Structure
//
// A [Store] has a book per zone, a book has shards, and a shard is a mutex with the accounts of its keys. What an account may
// spend, when it asks and for how much is decided by [limiter.Account]; this package has the locks, the waiting and the time.
//
//	take ──▶ account ──▶ answer                          almost always: one lock, one look-up
//	            │ has not enough
//	            ▼
//	         flight ──▶ lender                           one for all takes that wait on a key
//	            ▲
//	wheel ──────┘ what is leased ends, and goes back     one goroutine for all accounts
//
// An account that is asking has a queue: of the takes that fly with its loan, of those that came later, and of what the
// lender has served or lent in vain. Takes that have given up are still in the queue; what is served to them is undone by the
// next loan. A take that another zone denied returns what it has spent to the lease that it came from. When the account does not
// hold that any more, the next loan returns it.
//
// Flights that nobody waits for are bounded. When there is no room for one, the wheel comes again to what is owed or goes back;
// what is only wanted is asked for by a later take.
//
// # Nothing is spent twice
//
// A loan is never sent again. When it fails, what it was to give back is lost, and so is what it brought; only debt, which
// is told as a running total, is told again. An account is forgotten when it has nothing leased, owes nothing and remembers
// no denial, or after all that has been sent back.
//
// # Locks
//
// A goroutine holds the lock of one shard at a time, and calls nobody with it. Only the wheel, which has a lock of its own,
// and the rules of a book are reached with it held.
package lease

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A Store is a [limiter.Store] that decides from leases. Use [New].
type Store struct {
	lender     limiter.Lender
	options    Options
	seed       maphash.Seed // unknown to clients, so none can choose keys that share a shard or a group
	wheel      wheel
	background backgroundLimit
	clock      *clock
	fleet      atomic.Pointer[fleet] // replaced by the janitor alone
	stats      counters

	mu     sync.Mutex       // guards what follows
	zones  map[string]*Zone // that are open, by name
	forgot limiter.Instant  // when a zone was closed last; 0: never

	stop    chan struct{}
	closing sync.Once
	janitor sync.WaitGroup
}

var _ limiter.Store = (*Store)(nil)

// New returns a store without zones that borrows from lender. Close ends it.
func New(lender limiter.Lender, o Options) *Store {
	s := &Store{
		lender: lender, options: o.withDefaults(), seed: maphash.MakeSeed(), stop: make(chan struct{}), clock: newClock(time.Now()),
		zones: make(map[string]*Zone),
	}
	if s.options.Clock == nil {
		s.options.Clock = s.Now
	}
	now := s.options.Clock()
	s.fleet.Store(new(fleet))
	s.countNodes(now)
	s.wheel.next = int64(now) / tick
	s.janitor.Go(s.run)
	return s
}

// At returns t, which was just read from [time.Now], as an instant of the store's clock. That follows the monotonic clock of the
// process, and skips the time in which the host was suspended.
func (s *Store) At(t time.Time) limiter.Instant { return s.clock.at(t) }

// Now returns the instant by the store's clock.
func (s *Store) Now() limiter.Instant { return s.At(time.Now()) }

// Close gives back what is leased, and ends the store's goroutine. Takes that come afterwards, since requests may outlive the
// configuration they came in under, are left to the lender.
func (s *Store) Close() {
	s.closing.Do(func() { close(s.stop) })
	s.janitor.Wait()
	s.mu.Lock()
	open := slices.Collect(maps.Values(s.zones))
	for _, z := range open {
		z.closed.Store(true)
	}
	clear(s.zones)
	s.mu.Unlock()
	s.drain(open...)
}

// Open returns the zone of this name, which is new unless it is open.
func (s *Store) Open(name string) *Zone {
	s.mu.Lock()
	defer s.mu.Unlock()
	z := s.zones[name]
	if z == nil {
		z = &Zone{store: s, name: name}
		z.forgot.Store(int64(s.forgot))
		s.zones[name] = z
	}
	return z
}

// openZones returns all zones that are open.
func (s *Store) openZones() []*Zone {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.zones))
}

// Peek implements [limiter.Store]: from the account of a key that has one, without asking for the others.
func (s *Store) Peek(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	var unknown []int
	for i := range takes {
		if takes[i].Err = nil; !s.peek(&takes[i], now) {
			unknown = append(unknown, i)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	asked := pick(takes, unknown)
	s.stats.passed.Add(1)
	err := s.lender.Peek(ctx, now, asked)
	for i, j := range unknown {
		takes[j].Decision, takes[j].Err = asked[i].Decision, asked[i].Err
	}
	return err
}

// Refund implements [limiter.Store]. The lender takes back what it has decided itself: under strict rules, and what is left to it
// altogether. Nothing is given back of another take that an account has answered: its decision says what clients were told, and
// not how much the lender counted then; and a lease that it was spent from may have ended.
func (s *Store) Refund(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	var left []int
	for i := range takes {
		k := &takes[i]
		if s.bookOf(k.Rule) == nil || k.Rule.Strict && k.Decision.Source == limiter.FromStore {
			left = append(left, i)
		}
	}
	if len(left) == 0 {
		return nil
	}
	back := pick(takes, left)
	err := s.lender.Refund(ctx, now, back)
	for i := range back {
		s.refunded(&back[i])
	}
	return err
}

// refunded tells the account of k, if there is one, that the lender was asked to take back what it has consumed.
func (s *Store) refunded(k *limiter.Take) {
	var p location
	if !k.Decision.OK || !s.find(&p, k) {
		return
	}
	p.shard.mu.Lock()
	if a, ok := p.account(); ok {
		a.Refunded(k.Cost)
	}
	p.shard.mu.Unlock()
}
