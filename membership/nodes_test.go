package membership

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/lua"
	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestNodesAreCounted has nodes come and go.
func TestNodesAreCounted(t *testing.T) {
	var none []Mismatch
	a, b, c := member(t, "a", &none), member(t, "b", &none), member(t, "c", &none)
	zones := map[string]string{"user": "10/s"}
	now := time.Now() // as the members think
	expect := func(when string, members []*Member, want int) {
		t.Helper()
		for range ExpireAfter/Interval + 2 { // the last one is heard by all, and fewer are heard of for long enough
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
	a.Define(1, zones, 0)
	expect("alone", []*Member{a}, 1)
	b.Define(1, zones, 0)
	c.Define(1, map[string]string{}, 0)
	expect("with another one, and one without zones", []*Member{a, b}, 2)
	c.Define(2, zones, 0)
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

// TestRedisComesBackEmpty has Redis lose all that the nodes have announced: until they have done so again, none of them believes to be
// one of few; not even one that has had no zones for a while.
func TestRedisComesBackEmpty(t *testing.T) {
	var none []Mismatch
	redis := redistest.Shared(t).Client()
	members := []*Member{member(t, "a", &none), member(t, "b", &none), member(t, "c", &none)}
	now := time.Now() // as the members think
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
		m.Define(1, map[string]string{"user": "10/s"}, 0)
	}
	announce("")
	announce("when all have announced themselves")
	members[0].Undefine(1)
	members[0].announce(t.Context(), now)
	if err := redis.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	members[0].Define(1, map[string]string{"user": "10/s"}, 0)
	for range ExpireAfter/Interval + 2 {
		announce("after Redis came back empty")
	}
}

// TestRollout has three nodes take a new configuration one after the other: what none of them says any longer is gone, so
// that it cannot be taken for a difference.
func TestRollout(t *testing.T) {
	var heard []Mismatch
	redis := redistest.Shared(t).Client()
	members := []*Member{member(t, "a", &heard), member(t, "b", &heard), member(t, "c", &heard)}
	announce := func(which ...int) {
		for _, i := range which {
			members[i].announce(t.Context(), time.Now())
		}
	}
	for _, m := range members {
		m.Define(1, map[string]string{"user": "10/s"}, 0)
	}
	announce(0, 1, 2, 0, 1)
	for i, m := range members {
		m.Define(2, map[string]string{"user": "20/s"}, 0)
		announce(i)
	}
	for _, pair := range keys("rl") {
		if n := redis.HLen(t.Context(), pair[1]).Val(); n != 1 {
			t.Errorf("definitions in %s = %d, want 1", pair[1], n)
		}
	}
	announce(0, 1, 2, 0, 1, 2)
	if len(heard) > 0 {
		t.Errorf("reports = %v, want none", heard)
	}
}

// TestSilence runs the script by a clock of its own.
func TestSilence(t *testing.T) {
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
		{15*second + 1, "b", 1}, // a was silent for longer than 15 s
		{16 * second, "a", 2},
		{17 * second, "a", 2},
		{30*second + 2, "a", 1},
	} {
		reply, err := redis.Eval(t.Context(), lua.Announce(), keys("rl")[0],
			start+test.at, test.node, "{}", "{}", ExpireAfter.Microseconds()).Slice()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(reply, []any{test.nodes}) {
			t.Errorf("reply to %s after %d µs = %v, want [%d]", test.node, test.at, reply, test.nodes)
		}
	}
}

// TestPrimaryGone has a primary hang before two nodes have heard of each other: they do by the other two.
func TestPrimaryGone(t *testing.T) {
	cluster := redistest.SharedCluster(t)
	var primaries []*redistest.Server
	for _, pair := range keys("rl") {
		p := cluster.Primary(pair[0])
		if slices.Contains(primaries, p) {
			t.Fatalf("%s is on %s, as another one is: want one primary each", pair[0], p.Addr)
		}
		primaries = append(primaries, p)
	}

	client := redisconn.New(redisconn.Options{Mode: redisconn.Cluster, Addresses: cluster.Addrs, Timeout: 500 * time.Millisecond})
	defer client.Close()
	var heard []Mismatch
	failed := 0 // calls of the last announcement of a
	do := func(ctx context.Context, calls ...*redisconn.Call) {
		client.Do(ctx, calls...)
		failed = 0
		for _, c := range calls {
			if c.Err != nil {
				failed++
			}
		}
	}
	a := newMember(do, "rl", "a", func(d Mismatch) { heard = append(heard, d) })
	b := newMember(client.Do, "rl", "b", func(Mismatch) {})
	a.Define(1, map[string]string{"user": "10/s"}, 0)
	b.Define(1, map[string]string{"user": "20/s"}, 0)
	primaries[0].Pause()
	b.announce(t.Context(), time.Now())
	a.announce(t.Context(), time.Now())
	a.announce(t.Context(), time.Now())
	if want := []Mismatch{{"user", "b"}}; a.Nodes() != 2 || !slices.Equal(heard, want) {
		t.Errorf("with a primary that hangs nodes = %d and differences = %v, want 2 and %v", a.Nodes(), heard, want)
	}
	if failed == 0 {
		t.Error("all primaries answered: the one that hangs was replaced before the end, so nothing was tested")
	}
}
