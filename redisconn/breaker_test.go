package redisconn

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// quickProbes are options with which a breaker closes soon.
var quickProbes = BreakerOptions{ProbeEvery: 200 * time.Millisecond}

// soonProbes are options for a test in which several probes fail.
var soonProbes = BreakerOptions{ProbeEvery: 20 * time.Millisecond}

// state returns the state of the only primary of c.
func state(c *Client) BreakerState { return c.Primaries()[0].State }

// TestBreakerCounts has pipelines fail while a breaker counts.
func TestBreakerCounts(t *testing.T) {
	failure := errors.New("it failed")
	for _, test := range []struct {
		name    string
		good    int
		results string        // one letter for each pipeline: x if it failed
		pause   time.Duration // before the last pipeline
		want    BreakerState
	}{
		{name: "four failures", results: "xxxx", want: Closed},
		{name: "five failures", results: "xxxxx", want: Open},
		{name: "five in a row", good: 1000, results: "xxxxx", want: Open},
		{name: "five of 25", good: 16, results: "xx.x..x.x", want: Open},
		{name: "five of 26", good: 17, results: "xx.x..x.x", want: Closed},
		{name: "the fifth comes late", results: "xxxxx", pause: 11 * time.Second, want: Closed},
	} {
		synctest.Test(t, func(t *testing.T) {
			opened := false
			b := newBreaker(BreakerOptions{}, func() { opened = true })
			for range test.good {
				b.count(nil)
			}
			for i, result := range test.results {
				if i == len(test.results)-1 {
					time.Sleep(test.pause)
				}
				if result == 'x' {
					b.count(failure)
				} else {
					b.count(nil)
				}
			}
			if got := b.current(); got != test.want || opened != (got == Open) {
				t.Errorf("%s: %v, reported: %v, want %v", test.name, got, opened, test.want)
			}
			if err := b.err(); !errors.Is(err, ErrOpen) || !errors.Is(err, failure) {
				t.Errorf("%s: error = %v, want ErrOpen with the reason", test.name, err)
			}
		})
	}
}

// TestBreakerCloses trips a breaker and probes it. Pipelines that end meanwhile make no difference.
func TestBreakerCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(BreakerOptions{}, func() {})
		expect := func(want BreakerState) {
			t.Helper()
			time.Sleep(time.Millisecond)
			b.count(nil)
			b.count(errSlow)
			b.trip(errSilent)
			if got := b.current(); got != want {
				t.Errorf("state = %v, want %v", got, want)
			}
		}
		expect(Open)
		b.probed(errSilent)
		expect(Open)
		b.probed(nil)
		expect(HalfOpen)
		b.probed(errSilent)
		expect(Open)
		for range 2 {
			b.probed(nil)
			expect(HalfOpen)
		}
		b.probed(nil)
		if got := b.current(); got != Closed {
			t.Errorf("after three good probes: %v", got)
		}
		b.count(errSlow)
		if got := b.current(); got != Closed {
			t.Errorf("after one failure: %v", got)
		}
	})
}

// TestBreakerOfDeadPrimary kills a primary that nobody calls, and starts it again. While it is
// dead, calls do not wait.
func TestBreakerOfDeadPrimary(t *testing.T) {
	s := redistest.NewServer(t)
	reported := make(chan Breaker, 100)
	c := open(t, Options{Addresses: []string{s.Addr}, Breaker: quickProbes, OnBreaker: func(b Breaker) { reported <- b }})
	ready(t, c, "k")
	until(t, "a probe", func() bool { return c.Primaries()[0].Latency > 0 })
	s.Kill()
	if b := <-reported; b.State != Open || b.Err == nil || b.Addr != s.Addr {
		t.Errorf("reported of %+v, want an open breaker of %s", b, s.Addr)
	}
	call := do(t, c, count, "k", 1)
	if !errors.Is(call.Err, ErrOpen) {
		t.Errorf("error = %v, want %v", call.Err, ErrOpen)
	}
	s.Restart()
	for b := range reported {
		if b.State == Closed {
			break
		}
	}
	if call := do(t, c, count, "k", 1); call.Err != nil {
		t.Errorf("after the restart: %v", call.Err)
	}
}

// TestBreakerOfSilentPrimary pauses a primary under load. Callers wait for it once at most.
func TestBreakerOfSilentPrimary(t *testing.T) {
	s := redistest.NewServer(t)
	c := open(t, Options{Addresses: []string{s.Addr}, Breaker: quickProbes})
	ready(t, c, "k")
	timer := longestTimer(t, defaultTimeout)
	l := startLoad(t, c, 8, func(int) string { return "k" })
	s.Pause()
	paused := time.Now()
	until(t, "an open breaker", func() bool { return state(c) == Open })
	opened := time.Since(paused)
	time.Sleep(500 * time.Millisecond)
	if s := state(c); s != Open {
		t.Errorf("after a while: %v", s)
	}
	s.Resume()
	until(t, "a closed breaker", func() bool { return state(c) == Closed })
	l.end()
	longest, bare := time.Duration(l.longest.Load()), timer()
	if longest > bare+slack {
		t.Errorf("a caller waited %v, want at most %v, for which a bare timer took up to %v", longest, defaultTimeout, bare)
	}
	if most := 200*time.Millisecond + lagFactor*(bare-defaultTimeout) + slack; opened > most {
		t.Errorf("it opened after %v, want at most %v", opened, most)
	}
	t.Logf("it opened after %v; the longest wait was %v", opened, longest)
}

// TestBreakerOfSlowPrimary has a primary answer everything after its callers have gone.
func TestBreakerOfSlowPrimary(t *testing.T) {
	slow := make(chan bool, 1)
	slow <- true
	f := newFake(t, nil, func([]string) string {
		if late := <-slow; true {
			slow <- late
			if late {
				time.Sleep(80 * time.Millisecond)
			}
		}
		return ":1\r\n"
	})
	c := open(t, Options{Addresses: []string{f.addr}, Breaker: quickProbes})
	until(t, "an open breaker", func() bool {
		_ = do(t, c, count, "k", 1)
		return state(c) == Open
	})
	if err := c.Primaries()[0].Err; err == nil {
		t.Error("an open breaker has no reason")
	}
	<-slow
	slow <- false
	ready(t, c, "k")
	if s := state(c); s != Closed {
		t.Errorf("with a primary that is fast again: %v", s)
	}
}

// TestBreakerOfReplica has a server become a replica and stay one. It answers, but takes no calls.
func TestBreakerOfReplica(t *testing.T) {
	s, primary := redistest.NewServer(t), redistest.NewServer(t)
	c := open(t, Options{Addresses: []string{s.Addr}, Breaker: quickProbes})
	ready(t, c, "k")
	host, port, _ := net.SplitHostPort(primary.Addr)
	if err := s.Client().ReplicaOf(t.Context(), host, port).Err(); err != nil {
		t.Fatal(err)
	}
	until(t, "an open breaker", func() bool {
		_ = do(t, c, count, "k", 1)
		return state(c) == Open
	})
	time.Sleep(3 * quickProbes.ProbeEvery)
	if b := c.Primaries()[0]; b.State != Open {
		t.Errorf("a replica is %v", b.State)
	}
	if err := s.Client().ReplicaOf(t.Context(), "no", "one").Err(); err != nil {
		t.Fatal(err)
	}
	ready(t, c, "k")
}

// TestLag has pauses end late.
func TestLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lag{began: time.Now().Add(-time.Hour)}
		expect := func(want time.Duration) {
			t.Helper()
			if got := l.allowance(); got != lagFactor*want {
				t.Errorf("allowance = %v, want %v", got, lagFactor*want)
			}
		}
		pause := func(late time.Duration) {
			l.expect(time.Now().Add(time.Second))
			time.Sleep(time.Second + late)
		}
		pause(10 * time.Millisecond)
		expect(10 * time.Millisecond) // although the pause has not ended
		l.note(time.Now())
		expect(10 * time.Millisecond)
		pause(0)
		l.note(time.Now())
		expect(10 * time.Millisecond * 7 / 8)
		pause(20 * time.Millisecond)
		l.note(time.Now())
		expect(20 * time.Millisecond)
	})
}

// TestLongOutage has a primary be away for several probes.
func TestLongOutage(t *testing.T) {
	s := redistest.NewServer(t)
	c := open(t, Options{Addresses: []string{s.Addr}, Breaker: quickProbes})
	ready(t, c, "k")
	s.Kill()
	until(t, "an open breaker", func() bool { return errors.Is(do(t, c, count, "k", 1).Err, ErrOpen) })
	<-time.After(5 * quickProbes.ProbeEvery)
	s.Restart()
	ready(t, c, "k")
}
