package lease

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/test/racetest"
)

// A slowFleet is nodes that share a lender whose replies take some time.
type slowFleet struct {
	t      *testing.T
	lender *memoryLender
	nodes  []*Store

	mu       sync.Mutex // guards what follows
	admitted map[string]int64
	without  int // takes that were decided without the lender
}

// inSlowFleet runs a test in a bubble with a fleet. reply returns how long each reply takes.
func inSlowFleet(t *testing.T, nodes int, reply func(*rand.Rand) time.Duration, test func(f *slowFleet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &slowFleet{t: t, lender: newLender(rtt), admitted: make(map[string]int64)}
		var mu sync.Mutex
		rng := rand.New(rand.NewPCG(1, 2))
		f.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			return answered, reply(rng)
		})
		for range nodes {
			f.nodes = append(f.nodes, New(f.lender, Options{Nodes: func() int { return nodes }}))
		}
		test(f)
		f.lender.always(answered)
		for _, s := range f.nodes {
			s.Close()
		}
	})
}

// take takes one event of key under each of the rules at node i.
func (f *slowFleet) take(i int, key string, rules ...limiter.Rule) {
	s := f.nodes[i]
	takes := make([]limiter.Take, len(rules))
	for j, r := range rules {
		r.Zone, r.ID = s.Open(fmt.Sprint("zone", j)), uint32(j+1)
		made := node{f.t, s, nil}.rule(r)
		takes[j] = takeOf(made, key, 1)
	}
	_ = s.Take(context.Background(), s.options.Clock(), takes) // each take has its error
	admitted := true
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range takes {
		admitted = admitted && k.Decision.OK
		if k.Decision.Source.WithoutStore() {
			f.without++
		}
	}
	if admitted {
		f.admitted[key]++
	}
}

// burst has 40 takes of key arrive at each node, within the time spread.
func (f *slowFleet) burst(key string, spread time.Duration, rules ...limiter.Rule) {
	const takes = 40
	var wg sync.WaitGroup
	for i := range f.nodes {
		for j := range takes {
			wg.Go(func() {
				time.Sleep(spread * time.Duration(j) / takes)
				f.take(i, key, rules...)
			})
		}
	}
	wg.Wait()
}

func always(d time.Duration) func(*rand.Rand) time.Duration {
	return func(*rand.Rand) time.Duration { return d }
}

// between returns a random duration in [least, most).
func between(least, most time.Duration) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration { return least + time.Duration(r.Int64N(int64(most-least))) }
}

var inTime = []struct {
	name  string
	reply func(*rand.Rand) time.Duration
}{
	{"at once", always(0)},
	{"24 ms", always(24 * time.Millisecond)},
	{"49 ms", always(49 * time.Millisecond)},
	{"0 to 49 ms", between(0, 49*time.Millisecond)},
}

// kindsToPlay returns all algorithms, but only one under the race detector: make test plays the
// others without it.
func kindsToPlay() []limiter.Kind {
	if racetest.Enabled {
		return kinds[:1]
	}
	return kinds
}

// ofTwenty returns a limit of 20 events a day.
func ofTwenty(kind limiter.Kind, strict bool) limiter.Rule {
	return limiter.Rule{
		Algorithm: limiter.Algorithm{Kind: kind}, Strict: strict, Limit: limiter.Limit{Events: 20, Window: 24 * time.Hour},
	}
}

// TestRepliesInTimeDecideEverything has takes arrive in bursts and steadily, under one limit and
// under several. Each reply comes within the timeout. So the lender decides each take, and no more
// than the limit is admitted.
func TestRepliesInTimeDecideEverything(t *testing.T) {
	for _, kind := range kindsToPlay() {
		for _, strict := range []bool{true, false} {
			for _, nodes := range []int{1, 4} {
				for _, test := range inTime {
					t.Run(fmt.Sprintf("%v/strict=%v/%d nodes/%s", kind, strict, nodes, test.name), func(t *testing.T) {
						r := ofTwenty(kind, strict)
						wide, both := r, ofTwenty(kind, !strict)
						wide.Limit.Events = 1000
						inSlowFleet(t, nodes, test.reply, func(f *slowFleet) {
							f.burst("at once", 0, r)
							f.burst("in 10 ms", 10*time.Millisecond, r)
							f.burst("at 300 per second", 133*time.Millisecond, r)
							f.burst("at 20 per second", 2*time.Second, r)
							f.burst("two limits", 10*time.Millisecond, r, wide)
							f.burst("three limits", 10*time.Millisecond, wide, r, both)
							for key, got := range f.admitted { // two limits of 20 may each serve other requests
								if got > 20 || got < 20 && strict && key != "three limits" {
									t.Errorf("%s: admitted = %d, want 20", key, got)
								}
							}
							if f.without > 0 || len(f.admitted) != 6 {
								t.Errorf("takes decided without the lender = %d, want none", f.without)
							}
						})
					})
				}
			}
		}
	}
}

// TestLateRepliesExceedByOneLimit has the lender reply too late. Beyond the limit, the nodes
// together admit at most one more limit, or one event each if that is more. If on_outage is closed,
// they admit nothing beyond it.
func TestLateRepliesExceedByOneLimit(t *testing.T) {
	for _, kind := range kindsToPlay() {
		for _, nodes := range []int{1, 4, 22} {
			for _, reply := range []struct {
				name  string
				reply func(*rand.Rand) time.Duration
			}{
				{"60 ms", always(60 * time.Millisecond)},
				{"120 ms", always(120 * time.Millisecond)},
				{"30 to 70 ms", between(30*time.Millisecond, 70*time.Millisecond)},
				{"0 to 900 ms", between(0, 900*time.Millisecond)},
			} {
				for _, mode := range []limiter.OutageMode{limiter.OutageLocal, limiter.OutageClosed} {
					for _, strict := range []bool{true, false} {
						t.Run(fmt.Sprintf("%v/%d nodes/%s/%v/strict=%v", kind, nodes, reply.name, mode, strict), func(t *testing.T) {
							r := ofTwenty(kind, strict)
							r.OnOutage = mode
							inSlowFleet(t, nodes, reply.reply, func(f *slowFleet) {
								for range 2 {
									f.burst("at once", 0, r)
									f.burst("in 300 ms", 300*time.Millisecond, r)
								}
								most := int64(20)
								if mode == limiter.OutageLocal {
									most += int64(max(20, nodes))
								}
								for key, got := range f.admitted {
									if got > most {
										t.Errorf("%s: admitted = %d, want at most %d", key, got, most)
									}
								}
								if f.without == 0 {
									t.Error("no take was decided without the lender: the test is void")
								}
							})
						})
					}
				}
			}
		}
	}
}

// takesLate takes now. The outage mode must decide the take, because the lender does not answer in
// time.
func (n node) takesLate(r *limiter.Rule, key string, cost int64) limiter.Decision {
	n.t.Helper()
	takes := []limiter.Take{takeOf(r, key, cost)}
	if err := n.Take(n.t.Context(), n.options.Clock(), takes); !isLate(err) || takes[0].Decision.Source != limiter.FromLate {
		n.t.Errorf("take of a late lender = %+v, want it decided by the outage mode", takes[0])
	}
	return takes[0].Decision
}

// TestLateTakeIsDebitedOnce admits takes late. The lender serves them later, or hears of them
// later, or denies them. In each case it debits them once, as far as it has room.
func TestLateTakeIsDebitedOnce(t *testing.T) {
	for _, test := range []struct {
		name string
		fate fate
		used int64 // what was used before
		want int64
	}{
		{"served", answered, 0, 6},
		{"not asked", refused, 0, 6},
		{"denied", answered, 19, 20},
	} {
		for _, strict := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/strict=%v", test.name, strict), func(t *testing.T) {
				inBubble(t, Options{}, func(t *testing.T, n node) {
					r := n.rule(ofTwenty(limiter.FixedWindow, strict))
					if test.used > 0 { // by another node
						n.lender.lend([]limiter.LeaseRequest{{Rule: r, Key: []byte("key"), Need: test.used}})
					}
					n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return test.fate, 80 * time.Millisecond })
					var wg sync.WaitGroup
					for range 3 { // one take waits for the reply to another
						wg.Go(func() {
							if d := n.takesLate(r, "key", 2); !d.OK {
								t.Errorf("late take = %+v, want it admitted by the local bucket", d)
							}
						})
					}
					wg.Wait()
					n.lender.always(answered)
					n.waitForReturns()
					n.checkUsed(r, "key", test.want)
					if s := n.Stats(); s.OutageDebt() != 0 {
						t.Errorf("stats = %+v, want no debt", s)
					}
				})
			})
		}
	}
}

// TestPatience varies the call that carries a take. It is written late, or twice, or a busy process
// reads its reply late, or the take waits for another call first.
func TestPatience(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name    string
		written []time.Duration // when the call is written
		lag     time.Duration
		waits   time.Duration
	}{
		{"written at once", []time.Duration{0}, 0, 50 * ms},
		{"written late", []time.Duration{30 * ms}, 0, 80 * ms},
		{"written again", []time.Duration{0, 20 * ms}, 0, 70 * ms},
		{"written too late", []time.Duration{70 * ms}, 0, 100 * ms},
		{"never written", []time.Duration{}, 0, 100 * ms},
		{"a busy process", []time.Duration{0}, 20 * ms, 70 * ms},
		{"a very busy process", []time.Duration{0}, time.Second, 100 * ms},
		{"a very busy process that writes late", []time.Duration{60 * ms}, time.Second, 150 * ms},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, n node) {
				n.lender.always(silence)
				n.lender.lag, n.lender.writes = test.lag, test.written
				r := n.fixed("zone", 1, 10)
				if took := n.fails(ErrTimeout, takeOf(r, "key", 1)); took != test.waits {
					t.Errorf("a take without a reply took %v, want %v", took, test.waits)
				}
			})
		})
	}
}

// TestQueuedTakeIsAsLateAsTheCallsUnderWay has takes wait while two calls of their key get no
// reply. No take waits for longer than until these calls are overdue, and none for less than the
// timeout.
func TestQueuedTakeIsAsLateAsTheCallsUnderWay(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		const ms = time.Millisecond
		n.lender.always(silence)
		n.lender.writes = []time.Duration{20 * ms}
		r := n.fixed("zone", 1, 10)
		var wg sync.WaitGroup
		for i, want := range []time.Duration{70 * ms, 70 * ms, 60 * ms, 50 * ms} {
			wg.Go(func() {
				time.Sleep([]time.Duration{0, 10 * ms, 20 * ms, 60 * ms}[i])
				if took := n.fails(ErrTimeout, takeOf(r, "key", 1)); took != want {
					t.Errorf("take %d took %v, want %v", i, took, want)
				}
			})
		}
		wg.Wait()
		if got := n.Stats().Requests; got != 2 {
			t.Errorf("requests = %d, want 2 under way at a time", got)
		}
	})
}

// TestUnusedEventsAreNoDenial has two takes wait. One needs more than is left and gives up. The
// other needs less. The lender serves events for the first one, which are canceled, so that the
// next take is not denied because of them.
func TestUnusedEventsAreNoDenial(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 7) // so few that nothing is leased
		var wg sync.WaitGroup
		for i, take := range []struct {
			cost int64
			ok   bool
		}{{1, true}, {1, true}, {1, true}, {6, false}} {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Microsecond)
				if d := n.take(r, "key", take.cost); d.OK != take.ok {
					t.Errorf("take %d of %d = %+v, want OK %v", i, take.cost, d, take.ok)
				}
			})
		}
		wg.Wait()
		n.waitForReplies()
		n.allowed(r, "key", 4, limiter.FromStore)
	})
}
