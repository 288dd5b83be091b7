package adaptive

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// An upstream works on some requests at once, the oldest first. It does not notice that a client
// has left.
type upstream struct {
	workers chan struct{}
	mu      sync.Mutex
	takes   time.Duration
	closed  chan struct{}
}

func newUpstream(workers int, takes time.Duration) *upstream {
	return &upstream{workers: make(chan struct{}, workers), takes: takes, closed: make(chan struct{})}
}

func (u *upstream) set(takes time.Duration) { u.mu.Lock(); u.takes = takes; u.mu.Unlock() }

// serve reports whether the response comes before ctx ends.
func (u *upstream) serve(ctx context.Context) bool {
	done := make(chan struct{})
	go func() {
		select {
		case u.workers <- struct{}{}:
		case <-u.closed:
			return
		}
		u.mu.Lock()
		takes := u.takes
		u.mu.Unlock()
		time.Sleep(takes)
		<-u.workers
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// A load is requests of one key at random instants.
type load struct {
	key       string
	perSecond float64
	deadline  time.Duration
}

// counts are what became of requests.
type counts struct{ sent, good, late, rejected int }

// run sends the requests of the loads for a time, through l unless l is nil. It returns the counts
// of each load.
func run(u *upstream, l *Limiter, lasts time.Duration, loads ...load) []counts {
	all := make([]counts, len(loads))
	var mu sync.Mutex
	var requests, senders sync.WaitGroup
	note := func(n *int) { mu.Lock(); *n++; mu.Unlock() }
	until := time.Now().Add(lasts)
	for i, from := range loads {
		c, r := &all[i], rand.New(rand.NewPCG(1, uint64(i)))
		senders.Go(func() {
			for {
				time.Sleep(time.Duration(r.ExpFloat64() / from.perSecond * float64(time.Second)))
				if time.Now().After(until) {
					return
				}
				note(&c.sent)
				requests.Go(func() {
					ctx, cancel := context.WithTimeout(context.Background(), from.deadline)
					defer cancel()
					var p *Permit
					if l != nil {
						ok := false
						if p, ok = l.Acquire([]byte(from.key), true); !ok {
							note(&c.rejected)
							return
						}
						defer p.Release()
						p.Begin(time.Now())
					}
					answered := u.serve(ctx)
					if p != nil {
						p.Started(time.Now(), answered, answered)
					}
					if answered {
						note(&c.good)
					} else {
						note(&c.late)
					}
				})
			}
		})
	}
	senders.Wait()
	requests.Wait()
	return all
}

var settings = Settings{MaxLatency: 500 * time.Millisecond, Min: 10, Max: 1000}

// end ends the requests that are still in the upstream.
func (u *upstream) end() {
	close(u.closed)
	time.Sleep(time.Minute)
}

// TestOverload offers 300 requests per second to an upstream that can answer 100, from clients that
// leave after a second: first with a limiter, then without one.
func TestOverload(t *testing.T) {
	const lasts = 20 * time.Second
	offered := load{"k", 300, time.Second}
	synctest.Test(t, func(t *testing.T) {
		u, l := newUpstream(10, 100*time.Millisecond), New(settings)
		first := run(u, l, 10*time.Second, offered)[0]
		c := run(u, l, lasts, offered)[0]
		u.end()
		perSecond := float64(c.good) / lasts.Seconds()
		t.Logf("with the limiter: %.1f good responses per second, %d of %d late; %d in the first 10 s; limit %d", perSecond, c.late, c.sent,
			first.good, l.Limit())
		if perSecond < 90 || c.late > c.sent/100 {
			t.Errorf("good responses = %.1f per second, and %d of %d late, want at least 90 of 100, and 1 %% late", perSecond, c.late, c.sent)
		}
		if first.good < 600 {
			t.Errorf("good responses in the first 10 s = %d, want at least 600 of 1000", first.good)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(10, 100*time.Millisecond)
		run(u, nil, 10*time.Second, offered)
		c := run(u, nil, lasts, offered)[0]
		u.end()
		t.Logf("without it: %d good responses in %v, %d of %d late", c.good, lasts, c.late, c.sent)
		if c.good > 0 {
			t.Errorf("good responses without the limiter = %d, want the upstream to collapse", c.good)
		}
	})
}

// TestLongIncident has an upstream need 200 ms in place of 10 ms for ten minutes. With the guard,
// the limiter rejects requests until the incident ends, and admits all requests again from 10 s
// after its end. With a guard that never acts, the limiter rejects nothing.
func TestLongIncident(t *testing.T) {
	for _, test := range []struct {
		maxLatency time.Duration
		shed       bool
	}{{100 * time.Millisecond, true}, {time.Hour, false}} {
		synctest.Test(t, func(t *testing.T) {
			offered := load{"k", 50, 10 * time.Second}
			u, l := newUpstream(10_000, 10*time.Millisecond), New(Settings{MaxLatency: test.maxLatency, Min: 1, Max: 1000})
			if c := run(u, l, 30*time.Second, offered)[0]; c.rejected > 0 {
				t.Errorf("rejected before the incident = %d of %d, want none", c.rejected, c.sent)
			}
			u.set(200 * time.Millisecond)
			for minute := range 10 {
				c := run(u, l, time.Minute, offered)[0]
				if shed := float64(c.rejected) / float64(c.sent); (shed > 0.7) != test.shed {
					t.Errorf("max latency %v: rejected in minute %d = %d of %d, limit %d", test.maxLatency, minute+1, c.rejected, c.sent, l.Limit())
				}
			}
			t.Logf("max latency %v: limit %d after ten minutes", test.maxLatency, l.Limit())
			u.set(10 * time.Millisecond)
			recovery := run(u, l, 10*time.Second, offered)[0]
			if c := run(u, l, 10*time.Second, offered)[0]; c.rejected > 0 {
				t.Errorf("rejected from 10 s after the incident on = %d of %d, want none", c.rejected, c.sent)
			}
			t.Logf("max latency %v: %d of %d rejected in the 10 s after it; limit %d", test.maxLatency, recovery.rejected, recovery.sent, l.Limit())
		})
	}
}

// TestFairShares has one key that sends more requests than the upstream can answer, and twenty keys
// that send a few.
func TestFairShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, l := newUpstream(10, 100*time.Millisecond), New(settings)
		loads := []load{{"heavy", 300, time.Second}}
		for i := range 20 {
			loads = append(loads, load{string(rune('a' + i)), 1, time.Second})
		}
		run(u, l, 10*time.Second, loads...)
		all := run(u, l, time.Minute, loads...)
		u.end()
		var light counts
		for _, c := range all[1:] {
			light.sent, light.rejected, light.good = light.sent+c.sent, light.rejected+c.rejected, light.good+c.good
		}
		heavy := all[0]
		t.Logf("light: %+v; heavy: %+v", light, heavy)
		if light.rejected > light.sent/20 {
			t.Errorf("rejected of light keys = %d of %d, want at most 5 %%", light.rejected, light.sent)
		}
		if good := light.good + heavy.good; good < 90*60 {
			t.Errorf("good responses = %d in a minute, want at least %d", good, 90*60)
		}
	})
}
