package redisconn

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// soon is how long after its promotion a new primary must be in use.
const soon = time.Second

func TestPromotedReplicaIsUsedOnCluster(t *testing.T) {
	cluster := redistest.NewCluster(t)
	reported := make(chan Breaker, 100)
	c := open(t, Options{Mode: Cluster, Addresses: cluster.Addrs, OnBreaker: func(b Breaker) { reported <- b }})
	const key = "failover"
	ready(t, c, key)
	old := cluster.Primary(key)
	replica := cluster.Replica(old)
	old.Pause()
	usedAfter(t, c, key, func() bool {
		role, err := replica.Client().Do(t.Context(), "role").Slice()
		return err == nil && role[0] == "master"
	})
	for _, want := range []Breaker{{State: Open}, {State: Closed, Replaced: true, Successor: replica.Addr}} {
		b := <-reported
		if b.Addr != old.Addr || b.State != want.State || b.Replaced != want.Replaced || b.Successor != want.Successor {
			t.Errorf("reported of %+v, want %+v of %s", b, want, old.Addr)
		}
	}
}

// All Sentinels die. The primary that they named stays in use. OnLookup is told once that a failover
// would not be noticed, and once that a Sentinel is back.
func TestNoSentinelAnswers(t *testing.T) {
	t.Parallel()
	s := redistest.NewSentinel(t)
	reported := make(chan error, 100)
	c := open(t, Options{Mode: Sentinel, Addresses: s.Addrs, MasterName: s.MasterName, OnLookup: func(err error) { reported <- err }})
	ready(t, c, "key")
	redistest.Eventually(t, "an answer of all Sentinels", func() bool {
		n, asked := c.Sentinels()
		return asked && n == len(s.Sentinels)
	})
	for _, sentinel := range s.Sentinels {
		sentinel.Kill()
	}
	if err := <-reported; err == nil || c.LookupErr() == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("reported %v, then the error is %v; want connection refused", err, c.LookupErr())
	}
	if n, _ := c.Sentinels(); n != 0 {
		t.Errorf("dead Sentinels that answer = %d", n)
	}
	if call := do(t, c, count, "key", 1); call.Err != nil || c.Failing() {
		t.Errorf("a call without Sentinels = %v, failing: %v; want an answer", call.Err, c.Failing())
	}
	s.Sentinels[0].Restart()
	if err := <-reported; err != nil || c.LookupErr() != nil || len(reported) > 0 {
		t.Errorf("reported %v with a Sentinel, then the error is %v, and %d more; want nil once", err, c.LookupErr(), len(reported))
	}
}

// TestPromotedReplicaIsUsedWithSentinel measures from the time at which the first Sentinel names the
// replica. A Sentinel may learn a second late that the replica has become the primary.
func TestPromotedReplicaIsUsedWithSentinel(t *testing.T) {
	s := redistest.NewSentinel(t)
	c := open(t, Options{Mode: Sentinel, Addresses: s.Addrs, MasterName: s.MasterName})
	const key = "failover"
	ready(t, c, key)
	s.Primary.Pause()
	usedAfter(t, c, key, func() bool {
		for _, sentinel := range s.Sentinels {
			addr, err := sentinel.Client().Do(t.Context(), "sentinel", "get-master-addr-by-name", s.MasterName).StringSlice()
			if err == nil && strings.Join(addr, ":") == s.Replica.Addr {
				return true
			}
		}
		return false
	})
	if n := s.Replica.Client().HLen(t.Context(), key).Val(); n == 0 {
		t.Error("the promoted replica has no effects")
	}
}

// usedAfter makes calls until one is answered. It fails if that is later than soon after the promotion.
func usedAfter(t *testing.T, c *Client, key string, promoted func() bool) {
	t.Helper()
	used := make(chan time.Time, 1)
	longest, timer := time.Duration(0), longestTimer(t, defaultTimeout)
	var caller sync.WaitGroup
	defer caller.Wait()
	caller.Go(func() {
		for n := 0; t.Context().Err() == nil; n++ {
			start := time.Now()
			call := do(t, c, count, key, n)
			longest = max(longest, time.Since(start))
			if call.Err == nil {
				used <- time.Now()
				return
			}
			if errors.Is(call.Err, ErrClosed) {
				return // the test has given up
			}
			if errors.Is(call.Err, ErrOpen) {
				<-time.After(time.Millisecond) // the call fails at once, and others need the processor
			}
		}
	})
	redistest.Within(t, time.Minute, "the promotion", promoted) // Sentinels on a busy machine take long to agree
	since := time.Now()
	select {
	case at := <-used:
		t.Logf("the promoted replica was used after %v; the longest wait was %v", at.Sub(since), longest)
		if bare := timer(); longest > bare+slack {
			t.Errorf("a caller waited %v, want at most %v, for which a bare timer took up to %v", longest, defaultTimeout, bare)
		}
	case <-time.After(soon):
		t.Errorf("the promoted replica was not used within %v", soon)
		timer()
		c.Close()
	}
}

// TestPlannedFailoverFailsNoCall promotes the replica of a healthy primary under load. The client
// recovers from MOVED and READONLY.
func TestPlannedFailoverFailsNoCall(t *testing.T) {
	cluster := redistest.NewCluster(t)
	c := open(t, Options{Mode: Cluster, Addresses: cluster.Addrs, Timeout: patience})
	const key = "planned"
	ready(t, c, key)
	old := cluster.Primary(key)
	replica := cluster.Replica(old)
	l := startLoad(t, c, 8, func(int) string { return key })
	cluster.Promote(key, replica)
	l.end()
	if failed := l.failed.Load() + l.other.Load(); failed > 0 || l.answered.Load() == 0 {
		t.Errorf("%d calls failed and %d were answered during a planned failover", failed, l.answered.Load())
	}
	effects := cluster.Client().HGetAll(t.Context(), key).Val()
	for _, id := range l.acked {
		if effects[id] != "1" {
			t.Errorf("call %s was answered and had its effect %q times", id, effects[id])
		}
	}
}

// TestSlotMigrationFailsNoCall moves a slot, with its keys, to another primary under load. The
// client recovers from ASK, TRYAGAIN and MOVED.
func TestSlotMigrationFailsNoCall(t *testing.T) {
	cluster := redistest.NewCluster(t)
	c := open(t, Options{Mode: Cluster, Addresses: cluster.Addrs, Timeout: patience})
	keys := keysByPrimary(t, cluster)
	for _, key := range keys {
		ready(t, c, key)
	}
	from, to := cluster.Primary(keys[0]), cluster.Primary(keys[1])
	slot := slotOf(keys[0])
	tag := func(i int) string { return fmt.Sprintf("{%s}%d", keys[0], i%8) }
	l := startLoad(t, c, 32, tag)
	until(t, "some load", func() bool { return l.answered.Load() > 500 })

	cluster.MoveSlot(slot, from, to, func() {
		asked := l.answered.Load()
		until(t, "load between two keys", func() bool { return l.answered.Load() > asked+50 })
	})
	answered := l.answered.Load()
	until(t, "load on the new primary", func() bool { return l.answered.Load() > answered+500 })
	l.end()
	if failed := l.failed.Load() + l.other.Load(); failed > 0 {
		t.Errorf("%d of %d calls failed while a slot moved", failed, failed+l.answered.Load())
	}
	effects := make(map[string]string)
	for i := range 8 {
		for id, n := range to.Client().HGetAll(t.Context(), tag(i)).Val() {
			effects[id] = n
		}
	}
	for _, id := range l.acked {
		if effects[id] != "1" {
			t.Errorf("call %s was answered and had its effect %q times", id, effects[id])
		}
	}
}

// TestSlotsAsRedis compares the slots of keys with those of CLUSTER KEYSLOT.
func TestSlotsAsRedis(t *testing.T) {
	client := redistest.SharedCluster(t).Client()
	for i := range 200 {
		key := strings.Repeat("{", i%3) + fmt.Sprint("k\x00é", i*i) + strings.Repeat("}", i%4) + fmt.Sprint(i)
		if want := client.ClusterKeySlot(t.Context(), key).Val(); int64(slotOf(key)) != want {
			t.Errorf("slotOf(%q) = %d, want %d", key, slotOf(key), want)
		}
	}
}
