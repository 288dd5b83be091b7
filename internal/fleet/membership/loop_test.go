package membership

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/redisconn"
)

// A fakeRedis answers announcements with a number of nodes, or fails. The test cannot use a server,
// because it runs in a bubble.
type fakeRedis struct {
	mu        sync.Mutex // guards the fields below
	nodes     int64      // 0 if Redis is down
	announced []string   // the text of each announcement
}

func (f *fakeRedis) do(_ context.Context, calls ...*redisconn.Call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.announced = append(f.announced, calls[0].Args[2].(string))
	for _, c := range calls {
		if c.Reply = []any{f.nodes}; f.nodes == 0 {
			c.Reply, c.Err = nil, errors.New("down")
		}
	}
}

// set changes the number of nodes in answers.
func (f *fakeRedis) set(nodes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes = nodes
}

// texts returns the text of each announcement.
func (f *fakeRedis) texts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.announced)
}

// TestMemberLifecycle has a member announce its zones, lose Redis, and withdraw its zones.
func TestMemberLifecycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		redis := &fakeRedis{nodes: 20}
		m := newMember(redis.do, "rl", "a", func(Mismatch) {})
		m.start()
		expect := func(when string, announcements, nodes int) {
			t.Helper()
			synctest.Wait()
			if n := len(redis.texts()); n != announcements || m.Nodes() != nodes {
				t.Errorf("%s: announcements = %d, nodes = %d; want %d, %d", when, n, m.Nodes(), announcements, nodes)
			}
		}
		time.Sleep(time.Minute + 2*time.Second)
		expect("a minute without zones", 0, 1)

		m.Define("first", limited(map[string]string{"user": "10/s"}), 0, nil)
		expect("zones are defined", 1, 20)
		time.Sleep(2*Interval - time.Nanosecond)
		expect("just before two intervals", 2, 20)
		time.Sleep(time.Nanosecond)
		expect("two intervals", 3, 20)

		redis.set(0)
		time.Sleep(Interval)
		expect("Redis does not answer", 4, 20)
		time.Sleep(Interval)
		expect("nor at the next announcement", 5, 20)
		redis.set(3)
		time.Sleep(Interval)
		expect("Redis is back with fewer nodes: the number does not fall yet", 6, 20)
		time.Sleep(2 * Interval)
		expect("fewer were announced for 10 s", 8, 20)
		time.Sleep(Interval)
		expect("fewer were announced for 15 s", 9, 3)

		m.Define("second", limited(map[string]string{"user": "10/s"}), 0, nil)
		expect("a reload starts", 10, 3)
		m.Undefine("first")
		expect("a reload ends", 11, 3)
		m.Undefine("second")
		expect("it has no zones any more", 12, 3)
		if text := redis.texts()[11]; text != "" {
			t.Errorf("last announcement = %q, want none", text)
		}
		time.Sleep(time.Minute)
		expect("a minute later", 12, 3)
		m.Leave()
		expect("it leaves, after it had withdrawn", 12, 3)
	})
}

// TestLeaveWhileWithdrawing calls Leave while the loop withdraws the zones, as a shutdown may.
func TestLeaveWhileWithdrawing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		redis := &fakeRedis{nodes: 2}
		m := newMember(func(ctx context.Context, calls ...*redisconn.Call) {
			select {
			case <-time.After(time.Millisecond):
				redis.do(ctx, calls...)
			case <-ctx.Done(): // the call is not sent
			}
		}, "rl", "a", func(Mismatch) {})
		m.start()
		m.Define(1, limited(map[string]string{"user": "10/s"}), 0, nil)
		time.Sleep(2 * time.Millisecond)
		m.Undefine(1)
		synctest.Wait() // the loop withdraws
		m.Leave()
		if texts := redis.texts(); len(texts) != 2 || texts[1] != "" {
			t.Errorf("announcements = %q, want one, and then none of zones", texts)
		}
	})
}

// TestFixedNumberOfNodes has reloads fix the number of nodes, and count nodes again. One reload fails.
func TestFixedNumberOfNodes(t *testing.T) {
	m := newMember((&fakeRedis{nodes: 4}).do, "rl", "a", func(Mismatch) {})
	zones := limited(map[string]string{"user": "10/s"})
	check := func(when string, want int) {
		t.Helper()
		m.announce(t.Context(), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
		if got := m.Nodes(); got != want {
			t.Errorf("nodes %s = %d, want %d", when, got, want)
		}
	}
	m.Define(1, zones, 0, nil)
	check("when counted", 4)
	m.Define(2, zones, 50, nil)
	check("when fixed", 50)
	m.Undefine(1)
	check("after the reload", 50)
	m.Define(3, zones, 0, nil)
	check("by a configuration that fails to start", 4)
	m.Undefine(3)
	check("after that has failed", 50)
	m.Define(4, zones, 0, nil)
	m.Undefine(2)
	check("when counted again", 4)
}

// TestKnown calls Known before Redis has answered, while the number of nodes is fixed, after Redis has
// answered, and after it has failed.
func TestKnown(t *testing.T) {
	redis := new(fakeRedis)
	m := newMember(redis.do, "rl", "a", func(Mismatch) {})
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	check := func(when string, nodes int, known bool) {
		t.Helper()
		m.announce(t.Context(), now)
		now = now.Add(Interval)
		if n, k := m.Known(); n != nodes || k != known {
			t.Errorf("%s: known = %d, %v, want %d, %v", when, n, k, nodes, known)
		}
	}
	zones := limited(map[string]string{"user": "10/s"})
	m.Define(1, zones, 0, nil)
	check("Redis is down from the start", 1, false)
	m.Define(2, zones, 50, nil)
	check("the number is fixed", 50, true)
	m.Undefine(2)
	check("it is no more", 1, false)
	redis.set(20)
	check("Redis answers", 20, true)
	redis.set(0)
	for range 10 {
		check("Redis has failed", 20, true)
	}
	redis.set(3)
	for range 3 {
		check("Redis is back, and nodes announce themselves again", 20, true)
	}
	check("15 seconds later", 3, true)
}
