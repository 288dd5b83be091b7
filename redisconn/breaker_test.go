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

// state returns the state of the only primary of c.
func state(c *Client) BreakerState { return c.Breakers()[0].State }

// TestBreakerCounts has pipelines fail while a breaker counts.
func TestBreakerCounts(t *testing.T) {
	failure := errors.New("it failed")
	for _, test := range []struct {
		name      string
		good, bad int
		pause     time.Duration // before the last failure
		want      BreakerState
	}{
		{name: "four failures", bad: 4, want: Closed},
		{name: "five failures", bad: 5, want: Open},
		{name: "five of 25", good: 20, bad: 5, want: Open},
		{name: "five of 26", good: 21, bad: 5, want: Closed},
		{name: "the fifth comes late", bad: 5, pause: 11 * time.Second, want: Closed},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBreaker(BreakerOptions{})
			for range test.good {
				b.count(nil)
			}
			for range test.bad - 1 {
				b.count(failure)
			}
			time.Sleep(test.pause)
			b.count(failure)
			if got := b.current(); got != test.want {
				t.Errorf("%s: %v, want %v", test.name, got, test.want)
			}
			if err := b.err(); !errors.Is(err, ErrOpen) || !errors.Is(err, failure) {
				t.Errorf("%s: error = %v, want ErrOpen with the reason", test.name, err)
			}
		})
	}
}

// TestBreakerCloses trips a breaker and probes it.
func TestBreakerCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(BreakerOptions{})
		expect := func(want BreakerState) {
			t.Helper()
			if got := b.current(); got != want {
				t.Errorf("state = %v, want %v", got, want)
			}
		}
		b.trip(errSilent)
		expect(Open)
		b.count(nil) // it is too early for a probe
		expect(Open)
		time.Sleep(1001 * time.Millisecond)
		b.count(errSilent)
		expect(Open)
		time.Sleep(1001 * time.Millisecond)
		b.count(nil)
		expect(HalfOpen)
		b.trip(errSilent) // of a call that was under way
		expect(HalfOpen)
		b.count(nil)
		b.count(nil)
		expect(Closed)
		b.count(errSilent)
		expect(Closed)
	})
}

// TestBreakerOfDeadPrimary kills a primary that nobody calls, and starts it again. While it is dead,
// calls do not wait.
func TestBreakerOfDeadPrimary(t *testing.T) {
	s := redistest.NewServer(t)
	told := make(chan Breaker, 100)
	c := open(t, Options{Addresses: []string{s.Addr}, Breaker: quickProbes, OnBreaker: func(b Breaker) { told <- b }})
	ready(t, c, "k")
	until(t, "a probe", func() bool { return c.Breakers()[0].Latency > 0 })
	s.Kill()
	if b := <-told; b.State != Open || b.Err == nil || b.Addr != s.Addr {
		t.Errorf("told of %+v, want an open breaker of %s", b, s.Addr)
	}
	call := do(t, c, count, "k", 1)
	if !errors.Is(call.Err, ErrOpen) {
		t.Errorf("error = %v, want %v", call.Err, ErrOpen)
	}
	s.Restart()
	for b := range told {
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
	timer := longestTimer(defaultTimeout)
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
	if err := c.Breakers()[0].Err; err == nil {
		t.Error("an open breaker has no reason")
	}
	<-slow
	slow <- false
	ready(t, c, "k")
	if s := state(c); s != Closed {
		t.Errorf("with a primary that is fast again: %v", s)
	}
}

// TestBreakerOfReplica has a server become a replica and stay one.
func TestBreakerOfReplica(t *testing.T) {
	s, primary := redistest.NewServer(t), redistest.NewServer(t)
	c := open(t, Options{Addresses: []string{s.Addr}, Breaker: quickProbes})
	ready(t, c, "k")
	host, port, _ := net.SplitHostPort(primary.Addr)
	if err := s.Client().SlaveOf(t.Context(), host, port).Err(); err != nil {
		t.Fatal(err)
	}
	until(t, "an open breaker", func() bool { return state(c) == Open })
	time.Sleep(3 * quickProbes.ProbeEvery)
	if b := c.Breakers()[0]; b.State != Open {
		t.Errorf("a replica is %v", b.State)
	}
	if err := s.Client().SlaveOf(t.Context(), "no", "one").Err(); err != nil {
		t.Fatal(err)
	}
	ready(t, c, "k")
}

// TestLag notes pauses that were late.
func TestLag(t *testing.T) {
	var l lag
	l.note(10 * time.Millisecond)
	l.note(0)
	if got, want := l.allowance(), lagFactor*10*time.Millisecond*7/8; got != want {
		t.Errorf("allowance = %v, want %v", got, want)
	}
	l.note(20 * time.Millisecond)
	if got, want := l.allowance(), lagFactor*20*time.Millisecond; got != want {
		t.Errorf("allowance = %v, want %v", got, want)
	}
}
