package adaptive

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestSamples has requests end in several ways, and checks which latencies the guard gets.
func TestSamples(t *testing.T) {
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		request func(*Permit)
		want    []time.Duration
	}{
		"a response":                  {func(p *Permit) { time.Sleep(20 * ms); p.Started(time.Now(), true, true) }, []time.Duration{20 * ms}},
		"a response twice":            {func(p *Permit) { p.Started(time.Now(), true, true); p.Started(time.Now(), true, true) }, []time.Duration{0}},
		"a fast failure":              {func(p *Permit) { time.Sleep(20 * ms); p.Started(time.Now(), false, true) }, nil},
		"a slow failure":              {func(p *Permit) { time.Sleep(600 * ms); p.Started(time.Now(), false, true) }, []time.Duration{600 * ms}},
		"a client that leaves early":  {func(p *Permit) { time.Sleep(20 * ms); p.Started(time.Now(), false, false) }, nil},
		"a client that leaves late":   {func(p *Permit) { time.Sleep(time.Second); p.Started(time.Now(), false, false) }, []time.Duration{time.Second}},
		"no response":                 {func(*Permit) { time.Sleep(time.Second) }, nil},
		"a response after the end":    {func(p *Permit) { p.Release(); p.Started(time.Now(), true, true) }, nil},
		"a body that is read slowly":  {upload(time.Minute, io.EOF), []time.Duration{20 * ms}},
		"a body that is not all read": {upload(time.Minute, io.ErrUnexpectedEOF), nil},
		"a response before the end of the body": {func(p *Permit) {
			b := p.Body(io.NopCloser(strings.NewReader("text")))
			p.Started(time.Now(), true, true)
			_, _ = io.Copy(io.Discard, b)
		}, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := New(settings)
			p, ok := l.Acquire(nil, true)
			if !ok || l.InFlight() != 1 {
				t.Fatalf("%s: acquire = %v with %d in flight, want a permit", name, ok, l.InFlight())
			}
			p.Begin(time.Now())
			test.request(p)
			p.Release()
			p.Release()
			if got := l.guard.latencies[:l.guard.samples]; len(got) != len(test.want) || len(got) > 0 && got[0] != test.want[0] {
				t.Errorf("%s: latencies = %v, want %v", name, got, test.want)
			}
			if l.InFlight() != 0 || l.learned.Inflight() != 0 {
				t.Errorf("%s: %d requests are in flight, and %d are measured, after all have ended", name, l.InFlight(), l.learned.Inflight())
			}
		})
	}
}

// upload returns a request whose body ends with an error after this long. Its response starts 20 ms
// after the body has ended.
func upload(lasts time.Duration, end error) func(*Permit) {
	return func(p *Permit) {
		b := p.Body(io.NopCloser(slowly{lasts, end}))
		_, _ = b.Read(make([]byte, 1))
		time.Sleep(20 * time.Millisecond)
		p.Started(time.Now(), true, true)
	}
}

// slowly is a body that ends after a time.
type slowly struct {
	lasts time.Duration
	end   error
}

func (s slowly) Read([]byte) (int, error) {
	time.Sleep(s.lasts)
	return 0, s.end
}

// TestShares has keys send requests that all stay in flight, under a limit of 20.
func TestShares(t *testing.T) {
	for _, test := range []struct{ requests, want string }{
		{strings.Repeat("a", 25), strings.Repeat("a", 20)},
		{strings.Repeat("a", 25) + "bbb", strings.Repeat("a", 20) + "bb"}, // two more than the limit: a tenth of it
		{strings.Repeat("ab", 15), strings.Repeat("ab", 10)},
		{strings.Repeat("a", 10) + strings.Repeat("b", 25), strings.Repeat("a", 10) + strings.Repeat("b", 10)},
		{"abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuv"},
	} {
		var s shares
		got := ""
		for _, key := range test.requests {
			if s.admits(uint64(key), 20) {
				s.begin(uint64(key))
				got += string(key)
			}
		}
		if got != test.want {
			t.Errorf("admitted of %s = %s, want %s", test.requests, got, test.want)
		}
		for _, key := range got {
			s.end(uint64(key))
		}
		if s.inFlight != 0 || len(s.ofKey) != 0 {
			t.Errorf("%d requests of %d keys are in flight after all have ended", s.inFlight, len(s.ofKey))
		}
	}
}

// TestDryRun has a limiter give a permit to a request above the limit if the limit is not enforced.
func TestDryRun(t *testing.T) {
	l := New(Settings{MaxLatency: time.Second, Min: 1, Max: 1})
	if _, ok := l.Acquire(nil, false); !ok {
		t.Error("the first request is not admitted")
	}
	p, ok := l.Acquire(nil, false)
	if ok || p == nil || l.InFlight() != 2 {
		t.Errorf("second request = %v, %v with %d in flight, want a permit, false and 2", p, ok, l.InFlight())
	}
	if p, ok := l.Acquire(nil, true); ok || p != nil {
		t.Errorf("enforced: %v, %v, want no permit", p, ok)
	}
}
