package membership

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// Nodes write their top keys only after a node has asked for them, and only those of the zone in
// question.
func TestTops(t *testing.T) {
	redis := redistest.Shared(t).Client()
	a, b, c := member(t, "a", new([]Mismatch)), member(t, "b", new([]Mismatch)), member(t, "c", new([]Mismatch))
	asked := 0
	for _, m := range []*Member{a, b, c} {
		m.Define(1, limited(map[string]string{"user": "10/s", "other": "10/s"}), 0, func(zone string) []byte {
			asked++
			return []byte(zone + " of " + m.name + "\x00\xff")
		})
		m.announce(t.Context(), time.Now())
	}
	check := func(when string, want ...string) {
		t.Helper()
		tops, nodes, err := a.Tops(t.Context(), "user")
		if err != nil || nodes != 3 {
			t.Fatalf("%s: %d nodes, %v, want 3", when, nodes, err)
		}
		slices.SortFunc(tops, bytes.Compare)
		if !slices.EqualFunc(tops, want, func(got []byte, want string) bool { return string(got) == want }) {
			t.Errorf("%s: top keys = %q, want %q", when, tops, want)
		}
	}
	if asked > 0 {
		t.Errorf("nodes were asked %d times before anybody wants to know", asked)
	}
	check("before the nodes know of the question")
	b.announce(t.Context(), time.Now())
	check("when one knows", "user of b\x00\xff")
	c.announce(t.Context(), time.Now())
	c.writeTops(t.Context())
	check("when all know", "user of b\x00\xff", "user of c\x00\xff")
	if ttl := redis.PTTL(t.Context(), "rl:{a}:top:user").Val(); ttl <= 0 || ttl > 3*topUsedFor {
		t.Errorf("what nodes have written is kept for %v, want a few seconds", ttl)
	}

	// No node asks any more.
	redis.Del(t.Context(), "rl:{a}:top-wanted", "rl:{a}:top:user")
	c.writeTops(t.Context())
	if n := redis.Exists(t.Context(), "rl:{a}:top:user").Val(); n != 0 || len(c.wanted) != 0 {
		t.Errorf("c has written its top keys, and thinks that %v is wanted", c.wanted)
	}
	before := asked
	c.writeTops(t.Context())
	c.announce(t.Context(), time.Now())
	if asked != before {
		t.Errorf("c was asked again")
	}
}
