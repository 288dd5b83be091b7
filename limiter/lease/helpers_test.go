package lease

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// rtt is how long the lenders of tests take to reply, unless a test sets another time.
const rtt = 2 * time.Millisecond

// A node is a store with its lender, in a synctest bubble.
type node struct {
	t testing.TB
	*Store
	lender *memoryLender
}

// inBubble runs a test under synctest with a node. The bubble ends only after the goroutine of the
// node does, so every such test also shows that Close ends it.
func inBubble(t *testing.T, o Options, test func(t *testing.T, n node)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := node{t, nil, newLender(rtt)}
		n.Store = New(n.lender, o)
		defer n.Close()
		test(t, n)
	})
}

// rule returns r as a new rule. By default it is in zone "zone" and has the ID 1.
func (n node) rule(r limiter.Rule) *limiter.Rule {
	n.t.Helper()
	if r.Zone == nil {
		r.Zone = n.Open("zone")
	}
	if r.ID == 0 {
		r.ID = 1
	}
	made, err := limiter.NewRule(r)
	if err != nil {
		n.t.Fatal(err)
	}
	return made
}

// reopened returns r in its zone as that zone is open now.
func (n node) reopened(r *limiter.Rule) *limiter.Rule {
	again := *r
	again.Zone = n.Open(r.Zone.Name())
	return &again
}

// fixed returns a rule with a window that does not end during a test, so that unspent leased events
// are returned.
func (n node) fixed(zone string, id uint32, events int64) *limiter.Rule {
	n.t.Helper()
	return n.rule(limiter.Rule{
		ID: id, Zone: n.Open(zone), Algorithm: limiter.Algorithm{Kind: limiter.FixedWindow},
		Limit: limiter.Limit{Events: events, Window: time.Hour},
	})
}

// boundedRule returns a rule of a zone with room for maxKeys keys.
func (n node) boundedRule(events int64, maxKeys int) *limiter.Rule {
	n.t.Helper()
	return n.rule(limiter.Rule{
		Algorithm: limiter.Algorithm{Kind: limiter.FixedWindow}, MaxKeys: maxKeys,
		Limit: limiter.Limit{Events: events, Window: time.Hour},
	})
}

var kinds = []limiter.Kind{limiter.TokenBucket, limiter.SlidingWindowLog, limiter.SlidingWindow, limiter.FixedWindow}

func twoNodes() int { return 2 }

// takeOf returns a take.
func takeOf(r *limiter.Rule, key string, cost int64) limiter.Take {
	return limiter.Take{Rule: r, Key: []byte(key), Cost: cost}
}

// take takes now and returns the decision.
func (n node) take(r *limiter.Rule, key string, cost int64) limiter.Decision {
	n.t.Helper()
	takes := []limiter.Take{takeOf(r, key, cost)}
	if err := n.Take(n.t.Context(), n.options.Clock(), takes); err != nil {
		n.t.Fatalf("take of %d of %q: %v", cost, key, err)
	}
	return takes[0].Decision
}

// allowed takes now. The take must be allowed by this source.
func (n node) allowed(r *limiter.Rule, key string, cost int64, from limiter.Source) limiter.Decision {
	n.t.Helper()
	d := n.take(r, key, cost)
	if !d.OK || d.Source != from {
		n.t.Errorf("take of %d of %q = %+v, want it allowed from %v", cost, key, d, from)
	}
	return d
}

// denied takes now. The take must be denied by this source.
func (n node) denied(r *limiter.Rule, key string, cost int64, from limiter.Source) limiter.Decision {
	n.t.Helper()
	d := n.take(r, key, cost)
	if d.OK || d.Source != from {
		n.t.Errorf("take of %d of %q = %+v, want it denied by %v", cost, key, d, from)
	}
	return d
}

// fails takes now. The error must be want, which may be nil. It returns how long the take took.
func (n node) fails(want error, takes ...limiter.Take) time.Duration {
	n.t.Helper()
	begin := time.Now()
	if err := n.Take(n.t.Context(), n.options.Clock(), takes); !errors.Is(err, want) {
		n.t.Errorf("take = %v, want %v", err, want)
	}
	return time.Since(begin)
}

// warm takes events of the key until the node has leased more than a few takes need. It returns how
// many events it has taken.
func (n node) warm(r *limiter.Rule, key string) (taken int64) {
	n.t.Helper()
	for range 200 {
		if d := n.take(r, key, 1); !d.OK {
			n.t.Fatalf("warming up %q: %+v, want it allowed", key, d)
		}
		time.Sleep(time.Millisecond)
	}
	synctest.Wait()
	n.waitForReplies()
	if leased := n.leased(r, key); leased < 5 {
		n.t.Fatalf("leased of %q after 200 takes = %d, want 5 or more", key, leased)
	}
	return 200
}

// grant gives an account a lease of this size, as if the lender had just granted it.
func (n node) grant(r *limiter.Rule, key string, events int64) {
	n.t.Helper()
	requests := []limiter.LeaseRequest{{Rule: r, Key: []byte(key), Want: events}}
	n.lender.lend(requests)
	p := n.locationOf(r, key)
	now := n.now()
	p.shard.Lock()
	a, ok := p.findLocked()
	if !ok {
		a, _, _ = p.addLocked(r, now)
	}
	var l limiter.LeaseRequest
	a.request(r, now, 0, 0, &l)
	a.applyReply(r, now, now, &requests[0], 0, false)
	p.zone.rules.add(r)
	_, next := a.nextReturn(r, now)
	p.shard.Unlock()
	n.wheel.add(due{next, p.zone, p.key.Hash})
}

// checkIdle checks that no background call is under way and that no account of the zone of r backs
// off.
func (n node) checkIdle(r *limiter.Rule) {
	n.t.Helper()
	synctest.Wait()
	if got := n.background.calls.Load(); got != 0 {
		n.t.Errorf("background calls in the end = %d, want none", got)
	}
	z := n.zoneOf(r)
	for i := range uint64(1) << shardBits {
		if got := z.accounts.Shard(i << (64 - shardBits)).State.backoffs; got != nil {
			n.t.Errorf("backoffs of shard %d in the end = %v, want none and no memory for them", i, got)
		}
	}
}

// fillBackground pretends that this number of background calls is under way, until release is
// called.
func (n node) fillBackground(calls int64) (release func()) {
	n.background.calls.Add(calls)
	return func() { n.background.calls.Add(-calls) }
}

// suspend lets time pass by the wall clock only, by making the store seem to have begun earlier.
func (n node) suspend(d time.Duration) {
	last := *n.clock.last.Load()
	last.ahead -= d
	n.clock.last.Store(&last)
}

// waitForReplies waits until no request is under way.
func (n node) waitForReplies() {
	time.Sleep(10 * rtt)
	synctest.Wait()
}

// waitForReturns waits until unspent leases are returned. A lease that takes have spent may be
// followed by another lease.
func (n node) waitForReturns() {
	time.Sleep(22 * time.Second)
	synctest.Wait()
}

// locationOf returns the location of the account of a key.
func (n node) locationOf(r *limiter.Rule, key string) *location {
	var l location
	l.locate(r.Zone.(*Accounts), r.ID, []byte(key))
	return &l
}

// newTakeSet returns a set of these takes, all of which are selected.
func (n node) newTakeSet(takes ...limiter.Take) *takeSet {
	now := n.now()
	r := &takeSet{now: now, takes: make([]takeState, len(takes))}
	for i := range takes {
		t := &r.takes[i]
		t.Take, t.selected = &takes[i], true
		t.location = *n.locationOf(takes[i].Rule, string(takes[i].Key))
	}
	return r
}

// outstanding returns how many leased events and how much debt the account of a key has. Both are 0
// if there is no account.
func (n node) outstanding(r *limiter.Rule, key string) (leased, debt int64) {
	p := n.locationOf(r, key)
	p.shard.Lock()
	defer p.shard.Unlock()
	if a, ok := p.findLocked(); ok {
		return a.held(), int64(a.debt)
	}
	return 0, 0
}

func (n node) leased(r *limiter.Rule, key string) int64 {
	leased, _ := n.outstanding(r, key)
	return leased
}

// expiresIn returns how long it is until the lease of the key must be returned.
func (n node) expiresIn(r *limiter.Rule, key string) time.Duration {
	p := n.locationOf(r, key)
	p.shard.Lock()
	defer p.shard.Unlock()
	now := n.now()
	a, _ := p.findLocked()
	_, next := a.nextReturn(r, now)
	return time.Duration(next.since(now)) * time.Microsecond
}

// checkUsed checks how many events of a key the lender has debited, leased events included.
func (n node) checkUsed(r *limiter.Rule, key string, want int64) {
	n.t.Helper()
	if got := n.lender.used(r, key); got != want {
		n.t.Errorf("used of %q = %d, want %d", key, got, want)
	}
}

// checkAccounts checks how many accounts there are.
func (n node) checkAccounts(want int) {
	n.t.Helper()
	if got := n.Stats().Accounts; got != want {
		n.t.Errorf("accounts = %d, want %d", got, want)
	}
}
