package lease

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/test/racetest"
)

// TestRandomFleets plays random histories. Nodes of a fleet take from several zones at once, and
// refund some of the takes sooner or later. Requests are late or lost, the lender begins another
// incarnation, nodes restart, zones close and accounts are evicted. No more is admitted of a key
// than its algorithm allows, and no take spends an expired lease. In the end, only events that were
// counted as lost are missing.
func TestRandomFleets(t *testing.T) {
	seeds := uint64(100)
	if racetest.Enabled {
		seeds = 10 // make test plays all seeds without the race detector
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			f := newRandomFleet(t, seed)
			f.play()
			f.end()
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		})
		if t.Failed() {
			return
		}
	}
}

// A randomFleet is one random history.
type randomFleet struct {
	t        *testing.T
	lender   fleetLender
	rules    []*limiter.Rule
	slow     int           // the longest usual delay of a reply, in ms
	denies   *limiter.Rule // denies all takes
	restarts bool          // whether the lender begins other incarnations

	mu           sync.Mutex // guards what follows
	rng          *rand.Rand
	nodes        []*fleetNode
	lostByClosed uint64 // events lost by nodes that were closed
	admitted     map[name][]limiter.Events
	late         map[name]int64             // events admitted without the lender
	kept         int64                      // events of refunded late takes that stay debited
	leased       map[name][]limiter.Instant // when takes were admitted from leases
}

// A fleetLender never fails takes, because nobody would count the events that failed takes lose.
type fleetLender struct{ *memoryLender }

func (l fleetLender) Take(_ context.Context, _ limiter.Instant, takes []limiter.Take) error {
	var requests []limiter.LeaseRequest
	for _, k := range takes {
		requests = append(requests, limiter.LeaseRequest{Rule: k.Rule, Key: k.Key, Need: k.Cost})
	}
	l.lend(requests)
	for i := range takes {
		takes[i].Decision, takes[i].Err = requests[i].Decision, nil
	}
	return nil
}

var fleetZones = []string{"a", "b", "c", "denies"}

func newRandomFleet(t *testing.T, seed uint64) *randomFleet {
	f := &randomFleet{
		t: t, rng: rand.New(rand.NewPCG(seed, 5)), lender: fleetLender{newLender(rtt)},
		admitted: make(map[name][]limiter.Events), late: make(map[name]int64), leased: make(map[name][]limiter.Instant),
	}
	made := node{t, nil, nil}
	f.denies = made.rule(limiter.Rule{ID: 9, Zone: zoneName("denies"), MaxKeys: 50, Limit: limiter.Limit{Events: 1, Window: time.Hour}})
	for i, zone := range fleetZones[:3] {
		kind := append(kinds, limiter.FixedWindow, limiter.FixedWindow)[f.rng.IntN(len(kinds)+2)]
		f.rules = append(f.rules, made.rule(limiter.Rule{
			ID: uint32(i + 1), Zone: zoneName(zone), MaxKeys: 2 + f.rng.IntN(4), Strict: f.rng.IntN(5) == 0,
			Algorithm: limiter.Algorithm{Kind: kind},
			Limit: limiter.Limit{
				Events: []int64{3, 30, 200}[f.rng.IntN(3)],
				Window: []time.Duration{400 * time.Millisecond, 2 * time.Second, 24 * time.Hour}[f.rng.IntN(3)],
			},
		}))
	}
	f.slow = []int{5, 48}[f.rng.IntN(2)]
	f.restarts = f.rng.IntN(2) == 0
	fails := f.rng.IntN(2) * 20 // in 1000
	f.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) {
		f.mu.Lock()
		defer f.mu.Unlock()
		delay := time.Duration(1+f.rng.IntN(f.slow)) * time.Millisecond
		if f.rng.IntN(20) == 0 {
			delay = time.Duration(f.rng.IntN(700)) * time.Millisecond
		}
		if f.rng.IntN(1000) < fails {
			return []fate{lostRequest, lostReply, refused}[f.rng.IntN(3)], delay
		}
		return answered, delay
	})
	for range 1 + f.rng.IntN(3) {
		f.nodes = append(f.nodes, f.newNode())
	}
	return f
}

// A fleetNode is a node of a random fleet, with the zones that it has open.
type fleetNode struct {
	*Store
	zones map[string]*Accounts
}

func (f *randomFleet) newNode() *fleetNode {
	n := &fleetNode{New(f.lender, Options{}), make(map[string]*Accounts)}
	for _, zone := range fleetZones {
		n.zones[zone] = n.Open(zone)
	}
	return n
}

// on returns r in its zone on n.
func (n *fleetNode) on(r *limiter.Rule) *limiter.Rule {
	here := *r
	here.Zone = n.zones[r.Zone.Name()]
	return &here
}

// A zoneName is the zone of a rule that no node has yet.
type zoneName string

func (z zoneName) Name() string { return string(z) }

// play has clients send requests, some of which give up early, and disturbs the nodes and the
// lender.
func (f *randomFleet) play() {
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			for range 150 {
				f.request()
			}
		})
	}
	for range 20 {
		time.Sleep(time.Duration(f.random(150)) * time.Millisecond)
		f.disturb()
	}
	wg.Wait()
}

// random returns a random number below n.
func (f *randomFleet) random(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rng.IntN(n)
}

// request takes from some zones at once.
func (f *randomFleet) request() {
	time.Sleep(time.Duration(f.random(15)) * time.Millisecond)
	var takes []limiter.Take
	f.mu.Lock()
	for _, i := range f.rng.Perm(len(f.rules))[:1+f.rng.IntN(len(f.rules))] {
		takes = append(takes, takeOf(f.rules[i], fmt.Sprint("key", f.rng.IntN(f.rng.IntN(f.rng.IntN(7)+1)+1)), 1+f.rng.Int64N(3)))
	}
	if f.rng.IntN(2) == 0 { // this zone denies after the others have admitted
		takes = append(takes, takeOf(f.denies, fmt.Sprint("fresh", f.rng.Int64()), 2))
	}
	s := f.nodes[f.rng.IntN(len(f.nodes))]
	for i := range takes {
		takes[i].Rule = s.on(takes[i].Rule)
	}
	ctx, cancel := context.WithCancel(context.Background())
	refund := f.rng.IntN(3) == 0
	if refund {
		for i := range takes {
			takes[i].Origin = new(limiter.Origin)
		}
	}
	if f.rng.IntN(20) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(f.rng.IntN(60))*time.Millisecond+time.Microsecond)
	}
	f.mu.Unlock()
	defer cancel()
	err := s.Take(ctx, s.options.Clock(), takes)
	denied := func(k limiter.Take) bool {
		return (k.Err == nil || k.Decision.Source.WithoutStore()) && !k.Decision.OK
	}
	switch {
	case err != nil && ctx.Err() != nil || slices.ContainsFunc(takes, denied):
	case refund:
		time.Sleep(time.Duration(f.random(1+f.random(500))) * time.Millisecond)
		_ = s.Refund(context.Background(), s.options.Clock(), takes)
		f.mu.Lock()
		for _, k := range takes {
			if k.Decision.Source.WithoutStore() {
				f.kept += k.Cost
			}
		}
		f.mu.Unlock()
	default:
		f.admit(s, takes)
	}
}

// admit notes what an admitted request has taken, and the instant of the lender's clock at which
// that counts.
func (f *randomFleet) admit(s *fleetNode, takes []limiter.Take) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range takes {
		if k.Err != nil && !k.Decision.Source.WithoutStore() {
			continue
		}
		n, at := name{k.Rule.ID, string(k.Key)}, k.Decision.At
		if k.Decision.Source != limiter.FromStore {
			at += limiter.At(time.Now().Add(3*time.Hour)) - s.options.Clock()
		}
		switch k.Decision.Source {
		case limiter.FromLate, limiter.FromOutage:
			f.late[n] += k.Cost
		case limiter.FromLease:
			f.leased[n] = append(f.leased[n], at)
		}
		f.admitted[n] = append(f.admitted[n], limiter.Events{At: at, N: k.Cost})
	}
}

// disturb restarts a node, closes a zone or begins another incarnation of the lender.
func (f *randomFleet) disturb() {
	node, zone := f.random(len(f.nodes)), fleetZones[f.random(len(fleetZones))]
	switch f.random(8) {
	case 0: // the node restarts; its requests under way go on
		old := f.nodes[node]
		f.mu.Lock()
		f.nodes[node] = f.newNode()
		f.mu.Unlock()
		f.retire(old)
	case 1:
		n := f.nodes[node]
		n.zones[zone].Close()
		f.mu.Lock()
		n.zones[zone] = n.Open(zone)
		f.mu.Unlock()
	case 2:
		if !f.restarts {
			return
		}
		f.lender.mu.Lock()
		f.lender.incarnation++
		f.lender.mu.Unlock()
	}
}

// retire closes a node, waits for its last requests and adds up what it has lost.
func (f *randomFleet) retire(s *fleetNode) {
	s.Close()
	time.Sleep(3 * time.Second)
	synctest.Wait()
	f.mu.Lock()
	f.lostByClosed += s.Stats().Lost
	f.mu.Unlock()
}

// end closes all nodes and checks what must hold then.
func (f *randomFleet) end() {
	f.lender.always(answered)
	time.Sleep(12 * time.Second)
	for _, s := range f.nodes {
		f.retire(s)
	}
	missing := int64(0)
	for _, r := range f.rules {
		for key := range 7 {
			n := name{r.ID, fmt.Sprint("key", key)}
			f.checkBound(r, n)
			f.checkLeases(r, n)
			kind := r.Algorithm.Kind
			if r.Limit.Window < time.Hour || kind == limiter.TokenBucket || kind == limiter.SlidingWindowLog {
				continue // events that are returned too late are not counted as lost
			}
			got := int64(0)
			for _, e := range f.admitted[n] {
				got += e.N
			}
			used := f.lender.used(r, n.key)
			if used < got-f.late[n] {
				f.t.Errorf("rule %+v: used of %s = %d, of which %d were admitted: something was returned twice", r.Limit, n.key, used, got)
			}
			missing += max(0, used-got)
		}
	}
	if lost := int64(f.lostByClosed) + f.lender.lostGrants + f.kept; missing > lost {
		f.t.Errorf("missing = %d, want no more than the %d that were lost", missing, lost)
	}
}

// checkBound checks that no span of the admitted takes has more than the algorithm allows. Takes
// without the lender may come on top, because nodes decide them alone. So may events that were
// served in vain before the span began and that a bucket gets back in the span: see
// lendingBucket.cancel.
func (f *randomFleet) checkBound(r *limiter.Rule, n name) {
	admitted, window := f.admitted[n], limiter.Instant(r.Limit.Window.Microseconds())
	slices.SortStableFunc(admitted, func(a, b limiter.Events) int { return int(a.At - b.At) })
	most := float64(r.Limit.Events + f.late[n])
	check := func(at limiter.Instant, got float64) {
		if got > most+1e-6 {
			f.t.Errorf("%v %+v: admitted of %s in a window up to %d = %.2f, want at most %.2f", r.Algorithm, r.Limit, n.key, at, got, most)
		}
	}
	switch r.Algorithm.Kind {
	case limiter.FixedWindow:
		sums := make(map[limiter.Instant]int64)
		for _, e := range admitted {
			sums[e.At/window] += e.N
			check(e.At, float64(sums[e.At/window]))
		}
	case limiter.TokenBucket:
		level, at := 0.0, limiter.Instant(0)
		for _, e := range admitted {
			accrued := float64(e.At-at) * float64(r.Limit.Events) / float64(window)
			level = max(-float64(f.uncanceled(n, e.At)), level-accrued) + float64(e.N)
			at = e.At
			check(at, level)
		}
	case limiter.SlidingWindowLog:
		first, sum := 0, int64(0)
		for _, e := range admitted {
			sum += e.N
			for ; admitted[first].At <= e.At-window; first++ {
				sum -= admitted[first].N
			}
			check(e.At, float64(sum))
		}
	}
}

// checkLeases checks that, whenever a take was admitted from a lease, the lender had granted one
// that had not expired.
func (f *randomFleet) checkLeases(r *limiter.Rule, n name) {
	var leases []limiter.LeaseRequest
	for _, l := range f.lender.requests {
		if l.Rule.ID == n.id && string(l.Key) == n.key && l.Granted > 0 {
			leases = append(leases, l)
		}
	}
	for _, at := range f.leased[n] {
		usable := func(l limiter.LeaseRequest) bool { return l.Decision.At <= at && at < l.Expires }
		if !slices.ContainsFunc(leases, usable) {
			f.t.Errorf("%v %+v: a take of %s at %d was admitted from a lease, want none then", r.Algorithm, r.Limit, n.key, at)
		}
	}
}

// uncanceled returns how many events of n were served in vain by the instant at, and were canceled
// at that instant or later.
func (f *randomFleet) uncanceled(n name, at limiter.Instant) (events int64) {
	for _, l := range f.lender.requests {
		if l.Rule.ID == n.id && string(l.Key) == n.key && l.Cancel.At <= at && at <= l.Decision.At {
			events += l.Cancel.N
		}
	}
	return events
}

// TestUncanceledEventsRaiseBound has a bucket of 3 events serve 2 and 1 events in vain. The second
// cancel comes after the bucket was full, but names what the bucket lacked before the first cancel.
// So the bucket admits 1 event too many. That event was still to be canceled.
func TestUncanceledEventsRaiseBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &randomFleet{t: t, lender: fleetLender{newLender(0)}, admitted: make(map[name][]limiter.Events)}
		r := node{t, nil, nil}.rule(limiter.Rule{
			Zone: zoneName("a"), Limit: limiter.Limit{Events: 3, Window: 400 * time.Millisecond},
		})
		n := name{r.ID, "key"}
		lend := func(l limiter.LeaseRequest) limiter.Decision {
			t.Helper()
			l.Rule, l.Key, l.Incarnation = r, []byte(n.key), 1
			requests := []limiter.LeaseRequest{l}
			if f.lender.lend(requests); requests[0].Served != l.Need {
				t.Fatalf("request %+v = %+v, want it served", l, requests[0])
			}
			return requests[0].Decision
		}
		serve := func(events int64) limiter.Events {
			t.Helper()
			d := lend(limiter.LeaseRequest{Need: events})
			return d.Seen()
		}
		admit := func(events int64) {
			t.Helper()
			f.admitted[n] = append(f.admitted[n], limiter.Events{At: serve(events).At, N: events})
		}
		first, second := serve(2), serve(1)
		time.Sleep(time.Millisecond)
		lend(limiter.LeaseRequest{Cancel: limiter.Events{At: first.At, N: 2}, Lacked: first.N})
		time.Sleep(260 * time.Millisecond)
		admit(3)
		lend(limiter.LeaseRequest{Cancel: limiter.Events{At: second.At, N: 1}, Lacked: second.N})
		admit(1)
		f.checkBound(r, n)
		for after, want := range []int64{1, 0} {
			if got := f.uncanceled(n, f.admitted[n][0].At+limiter.Instant(after)); got != want {
				t.Errorf("uncanceled %d µs after the second cancel = %d, want %d", after, got, want)
			}
		}
	})
}
