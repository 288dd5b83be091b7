package fleet

import (
	"slices"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
	"github.com/fleetlimit/fleetlimit/transport"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// member returns a member whose loop does not run, so that the test says when it announces.
func member(t *testing.T, name string, reports *[]Difference) *Member {
	t.Helper()
	client := transport.New(transport.Options{Addresses: []string{redistest.Shared(t).Addr}, Timeout: 10 * time.Second})
	t.Cleanup(client.Close)
	return &Member{
		client: client, key: "rl:{}:nodes", name: name, wake: make(chan struct{}, 1), stop: func() {},
		report: func(d Difference) { *reports = append(*reports, d) },
	}
}

// TestDifferences has two nodes take one configuration after the other: what differs for a moment is not reported, what
// stays different is, once, by both.
func TestDifferences(t *testing.T) {
	var heardByA, heardByB []Difference
	a := member(t, "a", &heardByA)
	b := member(t, "b", &heardByB)
	round := func() {
		a.announce(t.Context())
		b.announce(t.Context())
	}
	a.Define(1, map[string]string{"user": "10/s", "address": "100/s"})
	b.Define(1, map[string]string{"user": "10/s", "tenant": "5/s"})
	for range 3 {
		round()
	}
	a.Define(2, map[string]string{"user": "20/s", "address": "100/s"})
	a.Undefine(1)
	round()
	if len(heardByA)+len(heardByB) > 0 {
		t.Errorf("reports = %v and %v, want none for a difference heard of once", heardByA, heardByB)
	}
	for range 3 {
		round()
	}
	if want := []Difference{{"user", "b"}}; !slices.Equal(heardByA, want) {
		t.Errorf("reports of a = %v, want %v", heardByA, want)
	}
	if want := []Difference{{"user", "a"}}; !slices.Equal(heardByB, want) {
		t.Errorf("reports of b = %v, want %v", heardByB, want)
	}

	heardByA, heardByB = nil, nil
	b.Define(2, map[string]string{"user": "20/s"})
	for range 3 {
		round()
	}
	b.Undefine(2) // its configuration failed to start
	for range 3 {
		round()
	}
	if want := []Difference{{"user", "a"}}; !slices.Equal(heardByB, want) {
		t.Errorf("reports of b, back at what it was = %v, want %v", heardByB, want)
	}
	if want := []Difference{{"user", "b"}}; !slices.Equal(heardByA, want) {
		t.Errorf("reports of a = %v, want %v", heardByA, want)
	}

	heardByA = nil
	b.Leave()
	a.Define(3, map[string]string{"user": "30/s"})
	for range 3 {
		a.announce(t.Context())
	}
	if len(heardByA) > 0 {
		t.Errorf("reports of a = %v, want none after b has left", heardByA)
	}
}

// TestJoin runs the loop of a member: what it defines is in Redis soon, and gone when it leaves.
func TestJoin(t *testing.T) {
	redis := redistest.Shared(t)
	client := transport.New(transport.Options{Addresses: []string{redis.Addr}, Timeout: 10 * time.Second})
	defer client.Close()
	nodes := func() int64 { return redis.Client().HLen(t.Context(), "rl:{}:nodes").Val() }

	m := Join(client, "rl", func(Difference) {})
	m.Define(m, map[string]string{"user": "10/s"})
	redistest.Eventually(t, "an announcement", func() bool { return nodes() == 1 })
	if ttl := redis.Client().PTTL(t.Context(), "rl:{}:nodes").Val(); ttl <= 0 || ttl > 2*Silence {
		t.Errorf("time to live of the nodes = %v, want up to %v", ttl, 2*Silence)
	}
	m.Leave()
	redistest.Eventually(t, "its end", func() bool { return nodes() == 0 })
}
