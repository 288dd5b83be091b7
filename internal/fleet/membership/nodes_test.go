package membership

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/lua"
	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestNodesAreCounted has nodes join and leave.
func TestNodesAreCounted(t *testing.T) {
	var none []Mismatch
	a, b, c := member(t, "a", &none), member(t, "b", &none), member(t, "c", &none)
	zones := limited(map[string]string{"user": "10/s"})
	now := time.Now() // the time of the members
	expect := func(when string, members []*Member, want int) {
		t.Helper()
		for range expireAfter/Interval + 2 { // all hear of the last one, and fewer are announced for long enough
			now = now.Add(Interval)
			for _, m := range members {
				m.announce(t.Context(), now)
			}
		}
		for _, m := range members {
			if got := m.Nodes(); got != want {
				t.Errorf("nodes by %s, %s = %d, want %d", m.name, when, got, want)
			}
		}
	}
	a.Define(1, zones, 0, nil)
	expect("alone", []*Member{a}, 1)
	b.Define(1, zones, 0, nil)
	c.Define(1, limited(map[string]string{}), 0, nil)
	expect("with another one, and one without zones", []*Member{a, b}, 2)
	c.Define(2, zones, 0, nil)
	expect("when that has zones", []*Member{a, b, c}, 3)
	b.Leave()
	expect("when b has left", []*Member{a, c}, 2)
	c.Undefine(2)
	c.announce(t.Context(), now)
	expect("when c has no zones any more", []*Member{a}, 1)
	if len(none) > 0 {
		t.Errorf("reports = %v, want none", none)
	}
}

// TestRedisComesBackEmpty has Redis lose all announcements. The number of nodes does not fall until all
// nodes have announced themselves again, not even on a node that had no zones for a while.
func TestRedisComesBackEmpty(t *testing.T) {
	var none []Mismatch
	redis := redistest.Shared(t).Client()
	members := []*Member{member(t, "a", &none), member(t, "b", &none), member(t, "c", &none)}
	now := time.Now() // the time of the members
	announce := func(when string) {
		t.Helper()
		now = now.Add(Interval)
		for _, m := range members {
			m.announce(t.Context(), now)
			if n := m.Nodes(); n != len(members) && when != "" {
				t.Errorf("nodes by %s, %s = %d, want %d", m.name, when, n, len(members))
			}
		}
	}
	for _, m := range members {
		m.Define(1, limited(map[string]string{"user": "10/s"}), 0, nil)
	}
	announce("")
	announce("when all have announced themselves")
	members[0].Undefine(1)
	members[0].announce(t.Context(), now)
	if err := redis.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	members[0].Define(1, limited(map[string]string{"user": "10/s"}), 0, nil)
	for range expireAfter/Interval + 2 {
		announce("after Redis came back empty")
	}
}

// TestRolloutIsNoMismatch has three nodes load a new configuration, one after the other. Redis removes
// a definition that no node has any more, so it cannot count as a mismatch.
func TestRolloutIsNoMismatch(t *testing.T) {
	var reports []Mismatch
	redis := redistest.Shared(t).Client()
	members := []*Member{member(t, "a", &reports), member(t, "b", &reports), member(t, "c", &reports)}
	announce := func(which ...int) {
		for _, i := range which {
			members[i].announce(t.Context(), time.Now())
		}
	}
	for _, m := range members {
		m.Define(1, limited(map[string]string{"user": "10/s"}), 0, nil)
	}
	announce(0, 1, 2, 0, 1)
	for i, m := range members {
		m.Define(2, limited(map[string]string{"user": "20/s"}), 0, nil)
		announce(i)
	}
	for _, pair := range keys("rl") {
		if n := redis.HLen(t.Context(), pair[1]).Val(); n != 1 {
			t.Errorf("definitions in %s = %d, want 1", pair[1], n)
		}
	}
	announce(0, 1, 2, 0, 1, 2)
	if len(reports) > 0 {
		t.Errorf("reports = %v, want none", reports)
	}
}

// TestSilentNodeExpires runs the script with instants of its own.
func TestSilentNodeExpires(t *testing.T) {
	redis := redistest.Shared(t).Client()
	const second, start = int64(1_000_000), int64(1_767_268_800_000_000)
	for _, test := range []struct {
		at    int64 // µs since the start
		node  string
		nodes int64
	}{
		{0, "a", 1},
		{5 * second, "b", 2},
		{15 * second, "b", 2},
		{15*second + 1, "b", 1}, // a has been silent for longer than 15 s
		{16 * second, "a", 2},
		{17 * second, "a", 2},
		{30*second + 2, "a", 1},
	} {
		reply, err := redis.Eval(t.Context(), lua.Announce(), keys("rl")[0],
			start+test.at, test.node, "{}", "{}", expireAfter.Microseconds()).Slice()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(reply, []any{test.nodes, []any{}}) {
			t.Errorf("reply to %s after %d µs = %v, want [%d]", test.node, test.at, reply, test.nodes)
		}
	}
}

// TestOnePrimaryHangs has one primary hang before two nodes know of each other. The nodes learn of each
// other from the other two primaries.
func TestOnePrimaryHangs(t *testing.T) {
	cluster := redistest.SharedCluster(t)
	var primaries []*redistest.Server
	for _, pair := range keys("rl") {
		p := cluster.Primary(pair[0])
		if slices.Contains(primaries, p) {
			t.Fatalf("%s is on %s with another key, want one primary each", pair[0], p.Addr)
		}
		primaries = append(primaries, p)
	}

	client := redisconn.New(redisconn.Options{Mode: redisconn.Cluster, Addresses: cluster.Addrs, Timeout: 500 * time.Millisecond})
	defer client.Close()
	var reports []Mismatch
	failed := 0 // calls in the last announcement of a that failed
	do := func(ctx context.Context, calls ...*redisconn.Call) {
		client.Do(ctx, calls...)
		failed = 0
		for _, c := range calls {
			if c.Err != nil {
				failed++
			}
		}
	}
	a := newMember(do, "rl", "a", func(d Mismatch) { reports = append(reports, d) })
	b := newMember(client.Do, "rl", "b", func(Mismatch) {})
	a.Define(1, limited(map[string]string{"user": "10/s"}), 0, nil)
	b.Define(1, limited(map[string]string{"user": "20/s"}), 0, nil)
	primaries[0].Pause()
	b.announce(t.Context(), time.Now())
	a.announce(t.Context(), time.Now())
	a.announce(t.Context(), time.Now())
	if want := []Mismatch{{"user", "b", []string{"limit"}, 1}}; a.Nodes() != 2 || !reflect.DeepEqual(reports, want) {
		t.Errorf("with a primary that hangs nodes = %d and mismatches = %v, want 2 and %v", a.Nodes(), reports, want)
	}
	if failed == 0 {
		t.Error("all primaries answered: the hanging one was replaced too early, so the test proves nothing")
	}
}
