package redisconn

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// arrivals are the results of calls of Do that arrive at a steady rate, each with a key of its own.
type arrivals struct {
	mu      sync.Mutex
	unsent  int             // calls that could not be written in time
	late    int             // calls that were written, and not answered in time
	failed  int             // calls with another error
	writes  []time.Duration // times from the call of Do to the write
	replies []time.Duration // times from the write to the answer
	total   []time.Duration // how long Do took
}

// arrive makes n calls, rate per second, and returns when all are done.
func arrive(t testing.TB, c *Client, rate, n int, key func(i int) string) *arrivals {
	a := new(arrivals)
	var calls sync.WaitGroup
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for i := range n {
		<-tick.C
		calls.Go(func() {
			began := time.Now()
			var wrote atomic.Int64 // the call may be written after Do has returned
			call := &Call{Script: count, Keys: []string{key(i)}, Args: []any{1}}
			call.Written = func() { wrote.Store(int64(time.Since(began))) }
			c.Do(t.Context(), call)
			a.note(call.Err, time.Duration(wrote.Load()), time.Since(began))
		})
	}
	calls.Wait()
	return a
}

func (a *arrivals) note(err error, wrote, total time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.total = append(a.total, total)
	switch {
	case err == nil:
		a.writes, a.replies = append(a.writes, wrote), append(a.replies, total-wrote)
	case errors.Is(err, ErrUnsent):
		a.unsent++
	case errors.Is(err, ErrTimeout):
		a.late++
	default:
		a.failed++
	}
}

func (a *arrivals) String() string {
	return fmt.Sprintf("%d calls: %d unsent, %d late, %d failed; to the write p50 %v p99 %v max %v; to the reply p99 %v; in all max %v",
		len(a.total), a.unsent, a.late, a.failed, percentile(a.writes, 50), percentile(a.writes, 99), percentile(a.writes, 100),
		percentile(a.replies, 99), percentile(a.total, 100))
}

func percentile(d []time.Duration, p int) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[min(len(d)-1, len(d)*p/100)].Round(10 * time.Microsecond)
}

// freshKeys returns a function that names keys which no other test uses.
func freshKeys(t testing.TB) func(i int) string {
	return func(i int) string { return fmt.Sprint(t.Name(), i) }
}

// slowTimeout is the timeout of tests with late replies. It is longer than the default, so that a
// machine that is busy with other tests is not late itself. Only the ratio of the delays to the timeout
// counts.
const slowTimeout = 200 * time.Millisecond

// reference asks a server directly, at a steady rate per second, until stop is called. It returns how long
// the answers took: as long as other programs kept the machine busy. So tests can tell a slow client from
// a slow machine.
func reference(t testing.TB, s *redistest.Server, rate int) (stop func() []time.Duration) {
	client := s.Client()
	var ended atomic.Bool
	result := make(chan []time.Duration, 1)
	go func() {
		var took []time.Duration
		for due := time.Now(); !ended.Load() && t.Context().Err() == nil; {
			due = due.Add(time.Second / time.Duration(rate))
			<-time.After(time.Until(due))
			_ = client.Ping(t.Context()).Err() // an error took its time, too
			took = append(took, time.Since(due))
		}
		result <- took
	}()
	return func() []time.Duration {
		ended.Store(true)
		return <-result
	}
}

// above returns how many of the durations are longer than a limit.
func above(took []time.Duration, limit time.Duration) (n int) {
	for _, d := range took {
		if d > limit {
			n++
		}
	}
	return n
}

// TestSlowReplies has replies that are late, but within the timeout. Calls are answered, and do not
// wait for the replies of those before them. The test allows for a few exceptions, because a machine
// may stand still at times, as a reference tells. BenchmarkSlowReplies measures exactly.
func TestSlowReplies(t *testing.T) {
	s := redistest.Shared(t)
	for _, test := range []struct {
		least, most time.Duration // by how much replies are late
		rate        int           // calls per second
	}{
		{0, 0, 300},
		{slowTimeout / 2, slowTimeout / 2, 75},
		{slowTimeout * 4 / 5, slowTimeout * 4 / 5, 5},
		{slowTimeout * 4 / 5, slowTimeout * 4 / 5, 75},
		{0, slowTimeout * 4 / 5, 75},
	} {
		t.Run(fmt.Sprintf("%v to %v, %d per second", test.least, test.most, test.rate), func(t *testing.T) {
			t.Parallel()
			p := redistest.NewProxy(t, s.Addr)
			c := open(t, Options{Addresses: []string{p.Addr}, Timeout: slowTimeout, Breaker: staysClosed})
			ready(t, c, "k")
			p.Jitter(test.least, test.most)
			key := freshKeys(t)
			n, machine := 2*test.rate, reference(t, s, test.rate)
			cold := arrive(t, c, test.rate, n, key) // connections are made meanwhile
			warm := arrive(t, c, test.rate, n, func(i int) string { return key(-1 - i) })
			took := machine()
			late := above(took, (slowTimeout-test.most)/4) // a call is written, read and woken
			for name, a := range map[string]*arrivals{"cold": cold, "warm": warm} {
				if t.Log(name, a); len(a.writes) < n-n/50-2*late {
					t.Errorf("%s: %d of %d calls were not answered, where the machine was late %d times", name, n-len(a.writes), n, late)
				}
			}
			if got, most := percentile(warm.writes, 75), test.most/8+5*time.Millisecond+percentile(took, 90); got > most {
				t.Errorf("from the call to the write: p75 %v, want at most %v", got, most)
			}
		})
	}
}

// TestTooSlowReplies has replies that come after the timeout. No caller waits for longer than the
// two timeouts, and no script runs twice.
func TestTooSlowReplies(t *testing.T) {
	for _, factor := range []float64{1.2, 2.4} {
		t.Run(fmt.Sprint(factor), func(t *testing.T) {
			t.Parallel()
			s := redistest.NewServer(t)
			p := redistest.NewProxy(t, s.Addr)
			c := open(t, Options{Addresses: []string{p.Addr}})
			ready(t, c, "k")
			p.Delay(time.Duration(factor * float64(defaultTimeout)))
			timer := longestTimer(t, defaultTimeout)
			a := arrive(t, c, 100, 100, freshKeys(t))
			t.Log(a)
			if got, most := percentile(a.total, 100), 2*defaultTimeout+timer()+slack; got > most {
				t.Errorf("a caller waited %v, want at most %v", got, most)
			}
			for _, key := range s.Client().Keys(t.Context(), t.Name()+"*").Val() {
				if n := s.Client().HGet(t.Context(), key, "1").Val(); n != "1" {
					t.Errorf("the script ran %s times for one call", n)
				}
			}
		})
	}
}

// TestOneSlowPrimary has the replies of one primary of a cluster come too late. Calls to the others
// do not notice.
func TestOneSlowPrimary(t *testing.T) {
	cluster := redistest.NewCluster(t, "cluster-node-timeout 60000")
	proxies := cluster.Proxies()
	c := open(t, Options{Mode: Cluster, Addresses: cluster.Addrs, Timeout: slowTimeout})
	keys := keysByPrimary(t, cluster)
	for _, key := range keys {
		ready(t, c, key)
	}
	for i, s := range cluster.Servers {
		if s == cluster.Primary(keys[0]) {
			proxies[i].Delay(2 * slowTimeout)
		}
	}
	var slow, others *arrivals
	var both sync.WaitGroup
	both.Go(func() { slow = arrive(t, c, 75, 100, func(int) string { return keys[0] }) })
	both.Go(func() { others = arrive(t, c, 150, 200, func(i int) string { return keys[1+i%2] }) })
	machine := reference(t, cluster.Primary(keys[1]), 150)
	both.Wait()
	took := machine()
	t.Log("slow:", slow)
	t.Log("others:", others)
	if len(slow.writes) == len(slow.total) {
		t.Error("every call to the slow primary was answered in time")
	}
	if n, late := len(others.total)-len(others.writes), above(took, slowTimeout/4); n > 2*late {
		t.Errorf("%d calls to the other primaries were not answered in time, where the machine was late %d times", n, late)
	}
	if got, most := percentile(others.total, 75), slowTimeout/2+percentile(took, 90); got > most {
		t.Errorf("calls to the other primaries took %v (p75), want at most %v", got, most)
	}
}

// TestLostConnections has the network lose all connections without closing them. Calls over them
// are late. Then the primary is silent, new connections are made, and calls are answered again.
func TestLostConnections(t *testing.T) {
	p := redistest.NewProxy(t, redistest.Shared(t).Addr)
	c := open(t, Options{Addresses: []string{p.Addr}, Timeout: slowTimeout, Breaker: quickProbes})
	ready(t, c, "k")
	p.Delay(slowTimeout / 2)
	arrive(t, c, 75, 75, freshKeys(t))
	q := c.table.Load().queues[0]
	q.mu.Lock()
	linked := q.pool.linked
	q.mu.Unlock()
	if linked <= q.pool.kept {
		t.Fatalf("%d connections, want more than are kept", linked)
	}
	p.Delay(0)
	p.Drop()
	dropped := time.Now()
	until(t, "the loss of an answer", func() bool { return do(t, c, count, "k", "lost").Err != nil })
	until(t, "an answer", func() bool { return do(t, c, count, "k", "found").Err == nil })
	if took, most := time.Since(dropped), silentTimeouts*slowTimeout+3*detached; took > most {
		t.Errorf("with %d connections that were lost, the first answer came after %v, want at most %v", linked, took, most)
	}
}

// TestSurplusConnectionsAreClosed has replies come at once again after they were late.
func TestSurplusConnectionsAreClosed(t *testing.T) {
	p := redistest.NewProxy(t, redistest.Shared(t).Addr)
	c := New(Options{Addresses: []string{p.Addr}, Timeout: slowTimeout})
	t.Cleanup(c.Close)
	ready(t, c, "k")
	p.Delay(slowTimeout / 2)
	arrive(t, c, 75, 75, freshKeys(t))
	p.Delay(0)
	q := c.table.Load().queues[0]
	linked := func() (n, kept int) {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.pool.linked, q.pool.kept
	}
	if n, kept := linked(); n <= kept {
		t.Errorf("%d connections while replies are late, want more than %d", n, kept)
	}
	until(t, "the end of the surplus connections", func() bool {
		q.mu.Lock()
		q.pool.checked = q.pool.checked.Add(-surplusFor) // as if the time had passed
		q.mu.Unlock()
		n, kept := linked()
		return n == kept
	})
	c.Close()
	if stacks := goroutines(); stacks != "" {
		t.Errorf("goroutines still run:\n%s", stacks)
	}
}

// TestCallsAtOnce has calls arrive at the same time while replies are late. The calls are written over
// free connections, without waiting for each other's replies.
func TestCallsAtOnce(t *testing.T) {
	p := redistest.NewProxy(t, redistest.Shared(t).Addr)
	c := open(t, Options{Addresses: []string{p.Addr}, Timeout: slowTimeout, Breaker: staysClosed})
	ready(t, c, "k")
	p.Delay(slowTimeout / 2)
	key := freshKeys(t)
	arrive(t, c, 75, 75, key) // connections are made meanwhile
	var last []time.Duration  // times until the last call of a round was written
	for round := range 3 {
		<-time.After(slowTimeout)
		began := time.Now()
		var calls []*Call
		var written sync.WaitGroup
		for i := range 5 {
			written.Add(1)
			call := &Call{Script: count, Keys: []string{key(-1 - 5*round - i)}, Args: []any{1}, Written: sync.OnceFunc(written.Done)}
			if calls = append(calls, call); i < 2 {
				c.Send(call)
				<-time.After(time.Millisecond) // so that it is not written in one pipeline with the others
			}
		}
		c.Send(calls[2:]...)
		written.Wait()
		last = append(last, time.Since(began))
	}
	if got := percentile(last, 50); got > slowTimeout/4 {
		t.Errorf("the last of five calls was written after %v, want less than the replies take", got)
	}
}
