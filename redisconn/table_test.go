package redisconn

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestSlotOf(t *testing.T) {
	for key, want := range map[string]int{
		"": 0, "foo": 12182, "bar": 5061, "123456789": 0x31C3, "{foo}": 12182, "x{foo}y{bar}": 12182, "foo{}": 5542,
		"{}foo": 9500, "foo{{bar}}zap": 4015, "{user1000}.following": 3443, "{user1000": 8723,
	} {
		if got := slotOf(key); got != want {
			t.Errorf("slotOf(%q) = %d, want %d", key, got, want)
		}
	}
}

// TestSlotsWithoutPrimary has slots without a primary. The calls of the other slots go on, and a call
// without a primary has the primaries looked up.
func TestSlotsWithoutPrimary(t *testing.T) {
	f := newFake(t, nil, func([]string) string { return ":1\r\n" })
	c := open(t, Options{Addresses: []string{f.addr}, Timeout: patience})
	c.use(view{primaries: []slots{{12182, 12182, f.addr}}}) // the slot of foo
	if call := do(t, c, count, "foo", 1); call.Err != nil {
		t.Errorf("foo: %v", call.Err)
	}
	if n := len(c.topology.woken); n != 0 {
		t.Errorf("%d lookups were asked for before a call had no primary", n)
	}
	if call := do(t, c, count, "bar", 1); call.Err != ErrNoPrimary {
		t.Errorf("bar: error = %v, want %v", call.Err, ErrNoPrimary)
	}
	if n := len(c.topology.woken); n != 1 {
		t.Errorf("%d lookups were asked for, want 1", n)
	}
}

// TestIdleQueueOfFormerPrimaryEnds has a server lose and regain its role. Its queue ends when the queue
// has been idle, and a new one is made when it is needed.
func TestIdleQueueOfFormerPrimaryEnds(t *testing.T) {
	one := newFake(t, nil, func([]string) string { return ":1\r\n" })
	two := newFake(t, nil, func([]string) string { return ":2\r\n" })
	c := open(t, Options{Addresses: []string{one.addr}, Timeout: patience})
	viewOf := func(f *fake) view { return view{primaries: []slots{{0, slotCount - 1, f.addr}}} }
	if call := do(t, c, count, "k", 1); call.Reply != int64(1) {
		t.Fatalf("%v, %v, want 1", call.Reply, call.Err)
	}
	first := c.table.Load().queues[0]
	c.use(viewOf(two))
	c.use(viewOf(two))
	if call := do(t, c, count, "k", 1); call.Reply != int64(2) {
		t.Fatalf("%v, %v, want 2", call.Reply, call.Err)
	}
	if first.ctx.Err() != nil {
		t.Error("the queue ended though callers may still find it in the last table")
	}
	first.mu.Lock()
	first.used = time.Now().Add(-queueIdle - time.Second)
	first.mu.Unlock()
	c.use(viewOf(two))
	if first.ctx.Err() == nil {
		t.Error("the idle queue of a server that is no primary goes on")
	}
	c.use(viewOf(one))
	if call := do(t, c, count, "k", 1); call.Reply != int64(1) {
		t.Errorf("a primary again: %v, %v, want 1", call.Reply, call.Err)
	}
}

// A server dies, another one takes over, and the first is made the primary again. Calls do not fail
// because of the breaker that opened when it died.
func TestPrimaryAgainStartsWithClosedBreaker(t *testing.T) {
	var redirect atomic.Bool // from two to one
	redirected := make(chan bool, 1000)
	answer := func([]string) string { return ":1\r\n" }
	one := newFake(t, nil, answer)
	two := newFake(t, nil, func(command []string) string {
		if redirect.Load() && strings.EqualFold(command[0], "evalsha") {
			redirected <- true
			return "-MOVED 12182 " + one.addr + "\r\n"
		}
		return answer(command)
	})
	c := open(t, Options{Mode: Cluster, Addresses: []string{one.addr}, Timeout: patience, Breaker: BreakerOptions{ProbeEvery: time.Hour}})
	viewOf := func(f *fake) view { return view{primaries: []slots{{0, slotCount - 1, f.addr}}} }
	c.use(viewOf(one))
	c.table.Load().queues[0].trip(errSilent)
	if call := do(t, c, count, "foo", 1); !errors.Is(call.Err, ErrOpen) {
		t.Fatalf("while the breaker is open: %v, want %v", call.Err, ErrOpen)
	}
	c.use(viewOf(two))
	if call := do(t, c, count, "foo", 1); call.Err != nil {
		t.Fatal(call.Err)
	}
	redirect.Store(true)
	var call *Call
	var caller sync.WaitGroup
	caller.Go(func() { call = do(t, c, count, "foo", 1) })
	<-redirected
	<-redirected // the call was tried again
	c.use(viewOf(one))
	caller.Wait()
	if call.Err != nil {
		t.Errorf("a call that is redirected to a primary again: %v", call.Err)
	}
}
