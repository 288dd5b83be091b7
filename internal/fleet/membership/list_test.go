package membership

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/redisconn"
)

func TestList(t *testing.T) {
	a, b := member(t, "a", new([]Mismatch)), member(t, "b", new([]Mismatch))
	for _, m := range []*Member{a, b} {
		m.Define(1, limited(map[string]string{"user": "10/s"}), 0, nil)
	}
	check := func(want ...string) {
		t.Helper()
		nodes, err := a.List(t.Context())
		if err != nil || len(nodes) != len(want) {
			t.Fatalf("nodes = %v, %v, want %v", nodes, err, want)
		}
		for i, n := range nodes {
			if n.Name != want[i] || n.Seen < 0 || n.Seen > time.Minute {
				t.Errorf("node = %+v, want %s, seen lately", n, want[i])
			}
		}
	}
	check()
	a.announce(t.Context(), time.Now())
	b.announce(t.Context(), time.Now())
	check(a.Name(), b.Name())
	b.Leave()
	check(a.Name())
	a.Leave()
}

// List succeeds if one primary answers.
func TestListDuringOutage(t *testing.T) {
	broken := errors.New("broken")
	answer := func(fail func(i int) bool) ([]Node, error) {
		m := newMember(func(_ context.Context, calls ...*redisconn.Call) {
			for i, c := range calls {
				if c.Reply = []any{"n", int64(2000 - 500*i)}; fail(i) {
					c.Reply, c.Err = nil, broken
				}
			}
		}, "rl", "n", nil)
		return m.List(t.Context())
	}
	if nodes, err := answer(func(i int) bool { return i == 2 }); err != nil || len(nodes) != 1 || nodes[0].Seen != 1500*time.Millisecond {
		t.Errorf("nodes = %v, %v, want n, seen 1.5 s ago", nodes, err)
	}
	if nodes, err := answer(func(int) bool { return true }); !errors.Is(err, broken) {
		t.Errorf("nodes = %v, %v, want the error of the primaries", nodes, err)
	}
}
