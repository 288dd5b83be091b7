package redisconn

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// A load is callers that each make a new call as soon as the last one is answered.
type load struct {
	stop    chan struct{}
	callers sync.WaitGroup

	answered, failed, other atomic.Int64
	longest                 atomic.Int64 // ns that a caller waited

	mu    sync.Mutex
	acked []string // ARGV[1] of the calls that were answered
}

// startLoad has n goroutines call the script count, each on the key that key returns for it.
func startLoad(t testing.TB, c *Client, n int, key func(i int) string) *load {
	l := &load{stop: make(chan struct{})}
	for i := range n {
		l.callers.Go(func() {
			var acked []string
			for seq := 0; ; seq++ {
				select {
				case <-l.stop:
					l.mu.Lock()
					l.acked = append(l.acked, acked...)
					l.mu.Unlock()
					return
				default:
				}
				id := fmt.Sprint(i, ".", seq)
				start := time.Now()
				call := do(t, c, count, key(i), id)
				for waited := int64(time.Since(start)); ; {
					if longest := l.longest.Load(); waited <= longest || l.longest.CompareAndSwap(longest, waited) {
						break
					}
				}
				switch {
				case call.Err == nil:
					l.answered.Add(1)
					acked = append(acked, id)
				case errors.Is(call.Err, ErrTimeout):
					l.failed.Add(1)
				case errors.Is(call.Err, ErrOpen):
					l.failed.Add(1)
					<-time.After(10 * time.Millisecond) // the call fails at once, and others need the processor
				default:
					l.other.Add(1)
				}
			}
		})
	}
	return l
}

func (l *load) end() {
	close(l.stop)
	l.callers.Wait()
}

// rate returns how many calls per second are answered, measured for d.
func (l *load) rate(d time.Duration) float64 {
	before := l.answered.Load()
	<-time.After(d)
	return float64(l.answered.Load()-before) / d.Seconds()
}

// TestHangingPrimary pauses a primary several times under load. No caller waits longer than its
// timeout, no script runs twice, and the script of every answered call has run.
func TestHangingPrimary(t *testing.T) {
	s := redistest.NewServer(t)
	c := open(t, Options{Addresses: []string{s.Addr}})
	ready(t, c, "k")
	timer := longestTimer(t, defaultTimeout)
	l := startLoad(t, c, 64, func(int) string { return "effects" })
	for range 3 {
		<-time.After(100 * time.Millisecond)
		s.Pause()
		<-time.After(1300 * time.Millisecond) // beyond detached, so that links are closed whose pipelines Redis still reads
		s.Resume()
	}
	<-time.After(100 * time.Millisecond)
	l.end()
	c.Close()

	effects := s.Client().HGetAll(t.Context(), "effects").Val()
	for id, n := range effects {
		if n != "1" {
			t.Errorf("call %s had its effect %s times", id, n)
		}
	}
	for _, id := range l.acked {
		if effects[id] != "1" {
			t.Errorf("call %s was answered and had its effect %q times", id, effects[id])
		}
	}
	if l.answered.Load() == 0 || l.failed.Load() == 0 {
		t.Errorf("%d calls were answered and %d timed out, want some of both", l.answered.Load(), l.failed.Load())
	}
	longest, bare := time.Duration(l.longest.Load()), timer()
	if longest > bare+slack {
		t.Errorf("a caller waited %v, want at most %v, for which a bare timer took up to %v", longest, defaultTimeout, bare)
	}
	t.Logf("%d answered, %d timed out, %d failed otherwise; %d effects; the longest wait was %v",
		l.answered.Load(), l.failed.Load(), l.other.Load(), len(effects), longest)
}

// TestAbandonedCallIsNeverSent has calls queue behind a pipeline that hangs. Their callers leave before
// the calls are written.
func TestAbandonedCallIsNeverSent(t *testing.T) {
	s := redistest.NewServer(t)
	c := open(t, Options{Addresses: []string{s.Addr}, PoolSize: 1})
	settled(t, c)
	s.Pause()
	written := do(t, c, count, "effects", "written")
	occupy(t, c, "others")
	for n := range 5 {
		calls := make([]*Call, 20)
		for i := range calls {
			calls[i] = &Call{Script: count, Keys: []string{"effects"}, Args: []any{strconv.Itoa(n*100 + i)}, Reply: "mine"}
		}
		c.Do(t.Context(), calls...)
		for _, call := range calls {
			if !errors.Is(call.Err, ErrTimeout) && !errors.Is(call.Err, ErrOpen) || call.Reply != nil {
				t.Errorf("with a hanging primary: %v, %v, want %v or %v", call.Reply, call.Err, ErrTimeout, ErrOpen)
			}
		}
	}
	s.Resume()
	until(t, "an answer", func() bool { return do(t, c, count, "after", 1).Err == nil })
	got := s.Client().HKeys(t.Context(), "effects").Val()
	if !slices.Equal(got, []string{"written"}) {
		t.Errorf("effects = %v, want only that of the written call", got)
	}
	if written.Err != ErrTimeout || written.Reply != nil {
		t.Errorf("a caller that had left got the late reply: %v, %v", written.Reply, written.Err)
	}
}

// TestHangingConnect has the server hang before there is a connection. Nothing is written.
func TestHangingConnect(t *testing.T) {
	s := redistest.NewServer(t)
	s.Pause()
	c := open(t, Options{Addresses: []string{s.Addr}})
	for n := range 10 {
		if call := do(t, c, count, "effects", n); !errors.Is(call.Err, ErrTimeout) && !errors.Is(call.Err, ErrOpen) {
			t.Errorf("error = %v, want %v or %v", call.Err, ErrTimeout, ErrOpen)
		}
	}
	s.Resume()
	until(t, "an answer", func() bool { return do(t, c, count, "after", 1).Err == nil })
	if got := s.Client().HKeys(t.Context(), "effects").Val(); len(got) != 0 {
		t.Errorf("effects = %v, want none: no call was written in time", got)
	}
}

// TestHangingPrimarySlowsNoOther compares the rate of calls to two primaries before and while a third
// one hangs. Other work of the machine changes the rates too, so one good comparison of five is enough.
func TestHangingPrimarySlowsNoOther(t *testing.T) {
	cluster := redistest.NewCluster(t, "cluster-node-timeout 60000") // the hanging one is not replaced
	c := open(t, Options{Mode: Cluster, Addresses: cluster.Addrs})
	keys := keysByPrimary(t, cluster)
	for _, key := range keys {
		ready(t, c, key)
	}
	timer := longestTimer(t, defaultTimeout)
	const span = 700 * time.Millisecond
	others := startLoad(t, c, 32, func(i int) string { return keys[1+i%2] })
	defer others.end()
	victim := cluster.Primary(keys[0])
	var longest time.Duration
	compare := func() (slowed bool) {
		others.rate(100 * time.Millisecond)
		before := others.rate(span)
		victim.Pause()
		victims := startLoad(t, c, 32, func(int) string { return keys[0] })
		defer victims.end()
		others.rate(100 * time.Millisecond)
		during := others.rate(span)
		t.Logf("%.0f/s before, %.0f/s while one hangs: %.0f%%", before, during, 100*during/before)
		longest = time.Duration(max(int64(longest), others.longest.Load(), victims.longest.Load()))
		if n := victims.answered.Load(); n > 0 {
			t.Errorf("%d calls were answered by a primary that hangs", n)
		}
		victim.Resume()
		until(t, "an answer of the primary that hung", func() bool { return victims.answered.Load() > 0 })
		return during < before/2
	}
	for tries := 1; compare(); tries++ {
		if tries == 5 {
			t.Fatal("calls to the other primaries are slower while one hangs")
		}
	}
	if bare := timer(); longest > bare+slack {
		t.Errorf("a caller waited %v, want at most %v, for which a bare timer took up to %v", longest, defaultTimeout, bare)
	}
}

// keysByPrimary returns a key of each primary.
func keysByPrimary(t testing.TB, cluster *redistest.Cluster) []string {
	t.Helper()
	var keys []string
	seen := make(map[string]bool)
	for i := 0; len(keys) < 3; i++ {
		key := fmt.Sprint("key", i)
		if addr := cluster.Primary(key).Addr; !seen[addr] {
			seen[addr] = true
			keys = append(keys, key)
		}
	}
	return keys
}
