package redisstore

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	redis "github.com/redis/go-redis/v9"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/leasetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

var lendRuns = flag.Int("lend.runs", 50, "how many random histories TestLendAsSpecified plays")

// TestLendAsSpecified plays the same random histories of nodes on this store and on ledgers, which
// are the specification, and compares every reply.
func TestLendAsSpecified(t *testing.T) {
	redis, client := redistest.Shared(t).Client(), connect(t, standalone(t))
	for seed := range *lendRuns {
		h := newLeaseHistory(t, withClock(client), uint64(seed), algorithms...)
		if h.keys = []string{"alice", "bob"}; seed%2 == 1 {
			h.failsOver = redis
		}
		h.play(t, 300)
	}
}

// TestLendAsSpecifiedWithClockSetBack plays such histories with a clock that now and then steps
// back, after a call whose instant was written.
func TestLendAsSpecifiedWithClockSetBack(t *testing.T) {
	client := connect(t, standalone(t))
	for seed := range 200 {
		h := newLeaseHistory(t, withClock(client), uint64(seed), algorithms[seed%len(algorithms)])
		h.keys, h.stepsBack = []string{"alice"}, true
		h.play(t, 100)
	}
}

// A leaseHistory is a random sequence of calls by nodes.
type leaseHistory struct {
	*history
	seed        uint64
	nodes       []*Store
	keys        []string
	ledgers     map[account]*leasetest.Ledger
	granted     []grant                      // grants that may be returned
	served      []returnable                 // served events that may be canceled
	seen        map[account][]limiter.Events // states in the last replies
	incarnation uint64
	expires     limiter.Instant // expiry of the last lease
	latest      limiter.Instant // latest instant that the clock has shown
	stepsBack   bool
	mayStepBack bool          // the last write has the newest instant
	failsOver   *redis.Client // its counts return to an earlier state now and then; nil if they never do
	replica     replica
}

// An account is one key under one rule.
type account struct {
	key  string
	rule uint32
}

// A returnable is what an account was served at an instant.
type returnable struct {
	account
	limiter.Events
}

// A grant is what an account was granted.
type grant struct {
	account
	limiter.Return
}

func newLeaseHistory(t *testing.T, s *Store, seed uint64, kinds ...limiter.Algorithm) *leaseHistory {
	h := &leaseHistory{history: &history{Rand: rand.New(rand.NewPCG(seed, 11))}, seed: seed}
	h.now = limiter.Instant(1_770_000_000_000_000 + h.Int64N(1<<40))
	for id, a := range kinds {
		r := h.randomRule(t, uint32(id), a)
		if seed%4 != 0 {
			r = h.usualRule(t, uint32(id), a)
		}
		h.rules = append(h.rules, r)
	}
	s.clock = func(limiter.Instant) string { return fmt.Sprint(int64(h.now)) }
	other := *s
	h.nodes = []*Store{s, &other}
	h.ledgers = make(map[account]*leasetest.Ledger)
	h.seen, h.incarnation = make(map[account][]limiter.Events), 1 // 1 until a server replies
	return h
}

// usualRule returns a rule under which leases are useful.
func (h *leaseHistory) usualRule(t *testing.T, id uint32, a limiter.Algorithm) *limiter.Rule {
	t.Helper()
	return mustRule(t, id, a, limiter.Limit{
		Events: pick[int64](h.history, 10, 99, 1_000, 1_000_003),
		Window: pick(h.history, time.Second, 13*time.Second, time.Minute, time.Hour),
	})
}

func (h *leaseHistory) play(t *testing.T, calls int) {
	t.Helper()
	for call := range calls {
		if err := h.step(t); err != nil {
			t.Fatalf("seed %d, call %d at %d: %v", h.seed, call, h.now, err)
		}
	}
}

// step lets time pass and makes one call.
func (h *leaseHistory) step(t *testing.T) error {
	t.Helper()
	if !h.passTime() { // after a late reading, Redis may no longer know that it was late
		h.now = max(h.now, h.last.At)
	}
	if h.IntN(20) == 0 {
		if err := h.changeAndTake(t); err != nil {
			return err
		}
	}
	if h.failsOver != nil {
		h.maybeFailOver(t)
	}
	h.latest, h.mayStepBack = max(h.latest, h.now), false
	switch n := h.IntN(10); {
	case n < 2:
		return h.take(t)
	case n == 2 && !h.stepsBack: // a peek does not write the instant
		return h.peek(t)
	case n == 3 && !h.stepsBack:
		return h.refund(t)
	case n == 4 && !h.stepsBack:
		return h.operate(t)
	}
	return h.lend(t)
}

// changeAndTake changes limits, and takes at once: see history.changeAndTake.
func (h *leaseHistory) changeAndTake(t *testing.T) error {
	changed := h.changeLimit(t, func(r *limiter.Rule, key string) bool {
		ledger := h.ledgers[account{key, r.ID}]
		return !slices.Contains(h.keys, key) || ledger != nil && ledger.Inspect(r, h.now).Consumed > 0
	})
	for _, key := range h.keys {
		r := h.rules[slices.IndexFunc(h.rules, func(r *limiter.Rule) bool { return r.ID == changed.ID })]
		if err := h.takeOf(t, key, []limiter.Take{{Rule: r, Key: []byte(key), Cost: 1}}); err != nil {
			return err
		}
	}
	return nil
}

// passTime lets time pass, often to the end of a lease or a slot, or close to it. Now and then it
// sets the clock back, and reports that.
func (h *leaseHistory) passTime() (setBack bool) {
	if h.mayStepBack && h.IntN(10) == 0 {
		h.now -= limiter.Instant(pick(h.history, h.Int64N(limiter.LateReading), limiter.LateReading+h.Int64N(1<<30)))
		return true
	}
	r := h.rules[h.IntN(len(h.rules))]
	to := h.now
	switch h.IntN(6) {
	case 0:
		to += limiter.Instant(h.Int64N(2*r.LeaseSlot() + 1))
	case 1:
		to += limiter.Instant(h.Int64N(r.LeaseSlot()/3 + 1))
	case 2:
		to = h.expires + limiter.Instant(h.Int64N(3)-1)
	default:
		h.move()
	}
	h.now = max(h.now, to)
	return false
}

// lend has a node send requests under some rules.
func (h *leaseHistory) lend(t *testing.T) error {
	s, key := h.nodes[h.IntN(len(h.nodes))], pick(h.history, h.keys...)
	var requests []limiter.LeaseRequest
	for _, i := range h.Perm(len(h.rules))[:1+h.IntN(min(3, len(h.rules)))] {
		requests = append(requests, h.randomRequest(s, h.rules[i], key))
	}
	want := slices.Clone(requests)
	sent := fmt.Sprintf("%+v", requests)
	reply := make(chan error, 1)
	s.Lend(requests, nil, func(err error) { reply <- err })
	if err := <-reply; err != nil {
		return err
	}
	h.incarnation = requests[0].Incarnation
	leasetest.Lend(h.incarnation, h.now, h.ledgersOf(key, want), want)
	written := true
	for i, got := range requests {
		l, a := want[i], account{key, got.Rule.ID}
		if got.Decision != l.Decision || got.Served != l.Served || got.Granted != l.Granted || got.GrantedShare != l.GrantedShare ||
			got.Expires != l.Expires || got.Incarnation != l.Incarnation || got.Unserved != l.Unserved || got.Held != l.Held ||
			got.Ample != l.Ample || got.RecalledAt != l.RecalledAt {
			return fmt.Errorf("request %d of %d under %v with %+v, sent %s:\n got %+v, served %d, granted %d and %d until %d, then %+v, %d held, ample %t, recalled at %d\nwant %+v, %d, %d and %d, %d, %+v, %d, %t, %d",
				i+1, len(requests), got.Rule.Algorithm, got.Rule.Limit, sent,
				got.Decision, got.Served, got.Granted, got.GrantedShare, got.Expires, got.Unserved, got.Held, got.Ample, got.RecalledAt,
				l.Decision, l.Served, l.Granted, l.GrantedShare, l.Expires, l.Unserved, l.Held, l.Ample, l.RecalledAt)
		}
		written = written && got.Served+got.Granted+got.GrantedShare > 0
		h.remember(a, got)
	}
	h.mayStepBack = h.stepsBack && written
	return nil
}

// remember notes what a reply has granted, served and shown.
func (h *leaseHistory) remember(a account, l limiter.LeaseRequest) {
	h.last = l.Decision
	if h.seen[a] = append(h.seen[a], l.Decision.Seen()); len(h.seen[a]) > 5 {
		h.seen[a] = h.seen[a][1:]
	}
	if l.Granted+l.GrantedShare > 0 {
		h.expires = l.Expires
		h.granted = append(h.granted, grant{a, limiter.Return{
			Events: limiter.Events{At: l.Decision.At, N: l.Granted}, Share: l.GrantedShare,
		}})
	}
	if l.Served > 0 {
		h.served = append(h.served, returnable{a, limiter.Events{At: l.Decision.At, N: l.Served}})
	}
}

// randomRequest returns a lease request with random contents.
func (h *leaseHistory) randomRequest(s *Store, r *limiter.Rule, key string) limiter.LeaseRequest {
	limit, a := r.Capacity(), account{key, r.ID}
	l := limiter.LeaseRequest{
		Rule:        r,
		Key:         []byte(key),
		Need:        pick(h.history, 0, 0, 1, 1, 1+h.Int64N(limit), max(1, h.last.Remaining), limit, limit+1),
		More:        pick(h.history, 0, 0, 1, h.Int64N(limit)),
		Want:        pick(h.history, 0, 1, h.Int64N(limit), 2*limit),
		Share:       pick(h.history, 0, 1, h.Int64N(limiter.Shares), limiter.Shares),
		Incarnation: pick(h.history, h.incarnation, h.incarnation, h.incarnation, h.incarnation+1, 0),
	}
	l.Nodes = pick(h.history, 0, 1, 10, 10_000)
	for i := range l.Returns {
		if h.IntN(3) == 0 {
			l.Returns[i] = h.giveBack(a)
		}
	}
	if e := l.Returns[1]; e.N > 0 && e.Share == 0 && h.IntN(3) > 0 {
		l.Spends = h.randomSpends(r, e)
	}
	if h.IntN(6) == 0 {
		l.Cancel = h.takeBack(a)
	}
	if h.IntN(3) == 0 {
		l.Seen = pick(h.history, append(h.seen[a], limiter.Events{})...)
	}
	if h.mayHaveExpired(r, key) {
		l.Seen = limiter.Events{}
	}
	if l.Cancel.N > 0 && h.IntN(2) == 0 { // right after the served events, little else was used
		l.Lacked, l.Incarnation = l.Cancel.N+h.Int64N(4), h.incarnation
	}
	return l
}

// randomSpends says of some of the spent events of a part when they were spent: since it was granted,
// or about then.
func (h *leaseHistory) randomSpends(r *limiter.Rule, e limiter.Return) (s limiter.Spends) {
	if r.OverflowWindow() == 0 {
		return s
	}
	s.Newest = max(0, int64(h.now)/r.OverflowWindow()+pick[int64](h.history, 0, 0, 0, -1, 1))
	for i := range s.Events {
		if h.IntN(2) == 0 {
			s.Events[i] = uint16(h.Int64N(min(e.Spent, 65535) + 1))
		}
	}
	return s
}

// mayHaveExpired reports whether Redis may have dropped the value of an account, which is a matter
// of chance. The value has the instant of the newest write, which a ledger keeps in any case.
// Without that instant, more may be restored.
func (h *leaseHistory) mayHaveExpired(r *limiter.Rule, key string) bool {
	ledger := h.ledgers[account{key, r.ID}]
	return ledger != nil && ledger.Newest() > 0 && ledger.Inspect(r, h.now).Consumed == 0
}

// giveBack makes a return of some of what the account was granted. Each grant is returned once. For
// a part, it may say that more was spent than the part has accrued.
func (h *leaseHistory) giveBack(a account) limiter.Return {
	for i, o := range h.granted {
		if o.account == a {
			r := o.Return
			if h.IntN(4) == 0 {
				r.N = h.Int64N(r.N + 1)
			}
			if r.Share > 0 || h.IntN(2) == 0 {
				r.Spent = pick(h.history, 0, r.N, h.Int64N(2*r.N+2))
			}
			h.granted = slices.Delete(h.granted, i, i+1)
			return r
		}
	}
	return limiter.Return{}
}

// takeBack returns some of the events that the account was served, each of them once.
func (h *leaseHistory) takeBack(a account) limiter.Events {
	for i, o := range h.served {
		if o.account == a {
			e := limiter.Events{At: o.At, N: 1 + h.Int64N(o.N)}
			if h.IntN(4) > 0 {
				e.N = o.N
			}
			h.served = slices.Delete(h.served, i, i+1)
			return e
		}
	}
	return limiter.Events{}
}

// ledgersOf returns the ledgers of the accounts of requests.
func (h *leaseHistory) ledgersOf(key string, requests []limiter.LeaseRequest) []*leasetest.Ledger {
	var ledgers []*leasetest.Ledger
	for _, l := range requests {
		a := account{key, l.Rule.ID}
		if h.ledgers[a] == nil {
			h.ledgers[a] = leasetest.NewLedger(l.Rule.Algorithm)
		}
		ledgers = append(ledgers, h.ledgers[a])
	}
	return ledgers
}

// take has a node take without a lease. For a ledger, such a take is a request that needs the cost.
func (h *leaseHistory) take(t *testing.T) error {
	key := pick(h.history, h.keys...)
	var takes []limiter.Take
	for _, i := range h.Perm(len(h.rules))[:1+h.IntN(min(2, len(h.rules)))] {
		r := h.rules[i]
		limit := r.Capacity()
		cost := pick(h.history, 1, 1, 1+h.Int64N(limit), max(1, h.last.Remaining), limit)
		takes = append(takes, limiter.Take{Rule: r, Key: []byte(key), Cost: cost})
	}
	return h.takeOf(t, key, takes)
}

// takeOf has a node take from counts of the key.
func (h *leaseHistory) takeOf(t *testing.T, key string, takes []limiter.Take) error {
	var requests []limiter.LeaseRequest
	for _, k := range takes {
		strict := *k.Rule // a take recalls no parts
		strict.Strict = true
		requests = append(requests, limiter.LeaseRequest{Rule: again(t, &strict), Need: k.Cost})
	}
	s := h.nodes[0]
	if err := s.Take(t.Context(), h.now, takes); err != nil {
		return err
	}
	leasetest.Lend(h.incarnation, h.now, h.ledgersOf(key, requests), requests)
	if err := h.compare(takes, requests); err != nil {
		return fmt.Errorf("take: %w", err)
	}
	if requests[0].Served > 0 {
		h.taken = append(h.taken, takes)
	}
	return nil
}

// peek peeks at all accounts of a key.
func (h *leaseHistory) peek(t *testing.T) error {
	key := pick(h.history, h.keys...)
	var takes []limiter.Take
	var requests []limiter.LeaseRequest
	for _, r := range h.rules {
		takes = append(takes, limiter.Take{Rule: r, Key: []byte(key), Cost: 1})
		requests = append(requests, limiter.LeaseRequest{Rule: r})
	}
	if err := h.nodes[0].Peek(t.Context(), h.now, takes); err != nil {
		return err
	}
	for i, ledger := range h.ledgersOf(key, requests) {
		requests[i].Decision = ledger.Peek(requests[i].Rule, h.now)
	}
	if err := h.compare(takes, requests); err != nil {
		return fmt.Errorf("peek: %w", err)
	}
	return nil
}

// compare compares the decisions on takes with those on requests.
func (h *leaseHistory) compare(takes []limiter.Take, requests []limiter.LeaseRequest) error {
	for i, k := range takes {
		got, want := k.Decision, requests[i].Decision
		if got.Breach = false; got != want {
			return fmt.Errorf("%d of %d, %d of %q under %v with %+v:\n got %+v\nwant %+v as a ledger",
				i+1, len(takes), k.Cost, k.Key, k.Rule.Algorithm, k.Rule.Limit, got, want)
		}
		h.last = got
	}
	return nil
}
