package journal

import (
	"fmt"
	"testing"
	"time"
)

var start = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// at returns the instant this long after start.
func at(after time.Duration) time.Time { return start.Add(after) }

func rejection(key string) *Event {
	return &Event{Place: Place{Kind: Rejected, Rule: 7, Key: []byte(key)}}
}

// texts returns the events of a log as text, by their keys.
func texts(l *Log) map[string]string {
	all := make(map[string]string)
	for _, e := range l.View().Events {
		all[string(e.Key)] += fmt.Sprintf("%s %s to %s, %d; ", e.Kind, e.First.Sub(start), e.Last.Sub(start), e.Times)
	}
	return all
}

// Rejections in consecutive windows are one event. After a pause, a rejection begins another event.
func TestEventGoesOn(t *testing.T) {
	var l Log
	for _, after := range []time.Duration{0, time.Minute, 2 * time.Minute, 12 * time.Minute, 23 * time.Minute} {
		if !l.Add(at(after), rejection("a")) {
			t.Fatalf("a rejection after %s is left out", after)
		}
	}
	if got, want := texts(&l)["a"], "rejected 0s to 12m0s, 4; rejected 23m0s to 23m0s, 1; "; got != want {
		t.Errorf("events = %q, want %q", got, want)
	}
}

// A rejection under another limit is another event.
func TestEventUnderAnotherLimit(t *testing.T) {
	var l Log
	for i, events := range []int64{10, 20, 20} {
		e := rejection("a")
		e.Limit.Events = events
		l.Add(at(time.Duration(i)*time.Minute), e)
	}
	if got, want := texts(&l)["a"], "rejected 0s to 0s, 1; rejected 1m0s to 2m0s, 2; "; got != want {
		t.Errorf("events = %q, want %q", got, want)
	}
}

// Add copies the key, because the next request overwrites the buffer that holds it.
func TestKeyIsCopied(t *testing.T) {
	var l Log
	e := rejection("a")
	l.Add(start, e)
	e.Key[0] = 'b'
	if texts(&l)["a"] == "" {
		t.Errorf("events = %v, want one of a", texts(&l))
	}
}

// A flood of keys neither fills the memory nor drives out a key that is rejected again and again.
func TestFlood(t *testing.T) {
	var l Log
	missed := 0
	for second := range 200 {
		l.Add(at(time.Duration(second)*time.Second), rejection("customer"))
		for i := range 100 {
			if !l.Add(at(time.Duration(second)*time.Second), rejection(fmt.Sprint("flood ", second, i))) {
				missed++
			}
		}
	}
	if got, want := texts(&l)["customer"], "rejected 0s to 3m19s, 200; "; got != want {
		t.Errorf("events of the customer = %q, want %q", got, want)
	}
	v := l.View()
	if len(v.Events) != Most || len(l.newest) != Most {
		t.Errorf("events = %d, known = %d, want %d", len(v.Events), len(l.newest), Most)
	}
	// In the first second, one of the new events is the event of the customer.
	if want := 200*(100-newPerSecond) + 1; missed != want || v.Missed != uint64(want) {
		t.Errorf("missed = %d, told %d, want %d", missed, v.Missed, want)
	}
}

// A change of tier that both lists of keys notice is one event. The change back is another event.
func TestTier(t *testing.T) {
	var l Log
	see := func(after time.Duration, before, tier string) {
		l.Tier(at(after), &Place{Kind: TierSeen, Rule: 7, Key: []byte("a"), Before: before, Tier: tier})
	}
	see(0, "free", "pro")
	see(time.Second, "free", "pro")
	see(time.Minute, "pro", "free")
	if got, want := texts(&l)["a"], "tier_seen 0s to 0s, 1; tier_seen 1m0s to 1m0s, 1; "; got != want {
		t.Errorf("events = %q, want %q", got, want)
	}
}

func TestReloads(t *testing.T) {
	var l Log
	for i := range mostReloads + 5 {
		l.AddReload(&Reload{Time: at(time.Duration(i) * time.Second)})
	}
	v := l.View()
	first, last := v.Reloads[0].Time.Sub(start), v.Reloads[len(v.Reloads)-1].Time.Sub(start)
	if len(v.Reloads) != mostReloads || first != 5*time.Second || last != 54*time.Second {
		t.Errorf("reloads = %d from %s to %s, want the newest %d", len(v.Reloads), first, last, mostReloads)
	}
}

// A key that is rejected again allocates nothing.
func TestAddAllocatesNothing(t *testing.T) {
	var l Log
	e := rejection("a key of some length")
	l.Add(start, e)
	if n := testing.AllocsPerRun(100, func() { l.Add(start, e) }); n != 0 {
		t.Errorf("allocations = %v, want 0", n)
	}
}
