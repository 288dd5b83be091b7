package membership

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// member returns a member whose loop does not run, so that the test decides when it announces.
func member(t *testing.T, name string, reports *[]Mismatch) *Member {
	t.Helper()
	client := newClient(t, redisconn.Options{Addresses: []string{redistest.Shared(t).Addr}})
	return newMember(client.Do, "rl", name, func(d Mismatch) { *reports = append(*reports, d) })
}

// newClient returns a client whose timeout suits a machine under load.
func newClient(t *testing.T, o redisconn.Options) *redisconn.Client {
	t.Helper()
	o.Timeout = 10 * time.Second
	client := redisconn.New(o)
	t.Cleanup(client.Close)
	return client
}

// TestMismatchIsReportedOnce has two nodes load a new configuration, one after the other. Both nodes
// report a lasting mismatch once, and its end once. They do not report a mismatch that only one
// announcement finds.
func TestMismatchIsReportedOnce(t *testing.T) {
	var byA, byB []Mismatch
	a := member(t, "a", &byA)
	b := member(t, "b", &byB)
	round := func() {
		a.announce(t.Context(), time.Now())
		b.announce(t.Context(), time.Now())
	}
	a.Define(1, limited(map[string]string{"user": "10/s", "address": "100/s"}), 0, nil)
	b.Define(1, limited(map[string]string{"user": "10/s", "tenant": "5/s"}), 0, nil)
	for range 3 {
		round()
	}
	a.Define(2, limited(map[string]string{"user": "20/s", "address": "100/s"}), 0, nil)
	a.Undefine(1)
	round()
	if len(byA)+len(byB) > 0 {
		t.Errorf("reports = %v and %v, want none for a mismatch found once", byA, byB)
	}
	for range 3 {
		round()
	}
	if want := []Mismatch{{"user", "b", []string{"limit"}, 1}}; !reflect.DeepEqual(byA, want) {
		t.Errorf("reports of a = %v, want %v", byA, want)
	}
	if want := []Mismatch{{"user", "a", []string{"limit"}, 1}}; !reflect.DeepEqual(byB, want) {
		t.Errorf("reports of b = %v, want %v", byB, want)
	}

	byA, byB = nil, nil
	b.Define(2, limited(map[string]string{"user": "20/s"}), 0, nil)
	for range 3 {
		round()
	}
	b.Undefine(2) // its configuration failed to start
	for range 3 {
		round()
	}
	if want := []Mismatch{{Zone: "user"}, {"user", "a", []string{"limit"}, 1}}; !reflect.DeepEqual(byB, want) {
		t.Errorf("reports of b, with its first zones again = %v, want %v", byB, want)
	}
	if want := []Mismatch{{Zone: "user"}, {"user", "b", []string{"limit"}, 1}}; !reflect.DeepEqual(byA, want) {
		t.Errorf("reports of a = %v, want %v", byA, want)
	}

	byA = nil
	b.Leave()
	a.Define(3, limited(map[string]string{"user": "30/s"}), 0, nil)
	for range 3 {
		a.announce(t.Context(), time.Now())
	}
	if want := []Mismatch{{Zone: "user"}}; !reflect.DeepEqual(byA, want) || len(a.Mismatches()) > 0 {
		t.Errorf("reports of a after b has left = %v, with mismatches %v; want %v, none", byA, a.Mismatches(), want)
	}
}

// TestJoin checks that each key in Redis has the definitions of a member soon, and no longer once the
// member has left.
func TestJoin(t *testing.T) {
	redis := redistest.Shared(t)
	nodes := func() (n []int64) {
		for _, pair := range keys("rl") {
			n = append(n, redis.Client().ZCard(t.Context(), pair[0]).Val(), redis.Client().HLen(t.Context(), pair[1]).Val())
		}
		return n
	}

	m := Join(newClient(t, redisconn.Options{Addresses: []string{redis.Addr}}), "rl", func(Mismatch) {})
	m.Define(m, limited(map[string]string{"user": "10/s"}), 0, nil)
	redistest.Eventually(t, "an announcement", func() bool { return slices.Equal(nodes(), []int64{1, 1, 1, 1, 1, 1}) })
	for _, all := range keys("rl") {
		for _, key := range all[:3] { // nobody wants to know top keys
			if ttl := redis.Client().PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > 2*expireAfter {
				t.Errorf("time to live of %s = %v, want up to %v", key, ttl, 2*expireAfter)
			}
		}
	}
	m.Leave()
	redistest.Eventually(t, "its end", func() bool { return slices.Equal(nodes(), make([]int64, 6)) })
}

// limited returns definitions of zones that have a limit and no other setting.
func limited(limits map[string]string) map[string]Definition {
	zones := make(map[string]Definition)
	for name, limit := range limits {
		zones[name] = Definition{"limit": limit}
	}
	return zones
}
