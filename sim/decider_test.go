package sim

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

func mustRule(t *testing.T, events int64, window time.Duration) *limiter.Rule {
	t.Helper()
	r, err := limiter.NewRule(limiter.Rule{Limit: limiter.Limit{Events: events, Window: window}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestZone compares each limit of a zone with a replay of it. It checks that the study gets the
// requests of its limit.
func TestZone(t *testing.T) {
	limits := []ZoneLimit{
		{Limit: "3/10s", Count: 1, Rule: mustRule(t, 3, 10*time.Second)},
		{Tier: "pro", Limit: "9/10s", Count: 1, Rule: mustRule(t, 9, 10*time.Second)},
		{Endpoint: "/closed", Limit: "block", Count: 2},
	}
	rng := rand.New(rand.NewPCG(7, 8))
	requests := requestsOfKeys(rng, 30)
	perLimit := make([]int64, len(limits))
	for i := range requests {
		requests[i].Rule = uint16(requests[i].Key) % 3
		perLimit[requests[i].Rule]++
	}
	var handed []Arrival
	z := NewZone(limits, 1, func(limit int) (func(Arrival), error) {
		if limit != 1 {
			t.Errorf("the study is of limit %d, want 1", limit)
		}
		return func(r Arrival) { handed = append(handed, r) }, nil
	})
	for _, r := range requests {
		z.Add(r)
	}
	if err := z.End(); err != nil {
		t.Fatal(err)
	}
	report := z.Report("user", 100, func(k Key) string { return strconv.Itoa(int(k)) })
	for i, got := range report.Limits[:2] {
		replay := NewReplay(limits[i].Rule)
		for _, r := range requests {
			if int(r.Rule) == i {
				replay.Take(r)
			}
		}
		if got.Requests != perLimit[i] || got.RequestsRejected != replay.Rejected || got.KeysRejected != replay.KeysRejected || got.Keys != 10 {
			t.Errorf("%s: %+v, want %d requests of 10 keys, %d of %d keys rejected", got.Limit, got, perLimit[i], replay.Rejected,
				replay.KeysRejected)
		}
	}
	if blocked := report.Limits[2]; blocked.RequestsRejected != perLimit[2] || blocked.KeysRejected != 10 {
		t.Errorf("block: %+v, want all %d requests rejected", blocked, perLimit[2])
	}
	if len(handed) != int(perLimit[1]) {
		t.Fatalf("%d requests of the study, want %d", len(handed), perLimit[1])
	}
	next := 0
	for _, r := range requests {
		if r.Rule != 1 {
			continue
		}
		if got := handed[next]; z.KeyOf(got.Key) != r.Key || got.At != r.At || got.Key >= 10 {
			t.Fatalf("request %d of the study = %+v of key %d, want that of key %d", next, got, z.KeyOf(got.Key), r.Key)
		}
		next++
	}
	for _, k := range report.Keys {
		n, _ := strconv.Atoi(k.Key)
		if want := limits[n%3]; k.Tier != want.Tier || k.Endpoint != want.Endpoint {
			t.Errorf("key %s is of tier %q and endpoint %q, want %q, %q", k.Key, k.Tier, k.Endpoint, want.Tier, want.Endpoint)
		}
	}
}

// A key that changes its tier keeps what it has used. The zone studies the limit with the most
// requests.
func TestZoneOfOneCount(t *testing.T) {
	limits := []ZoneLimit{
		{Limit: "2/1m", Count: 1, Rule: mustRule(t, 2, time.Minute)},
		{Tier: "pro", Limit: "4/1m", Count: 1, Rule: mustRule(t, 4, time.Minute)},
	}
	z := NewZone(limits, -1, func(int) (func(Arrival), error) { return func(Arrival) {}, nil })
	for i, rule := range []uint16{0, 0, 0, 1, 1, 1} { // two admitted without a tier, and then two more as pro
		z.Add(Arrival{At: limiter.Instant(1_700_000_000_000_000 + i), Rule: rule, Cost: 1, Said: Admitted})
	}
	z.Add(Arrival{At: 1_700_000_000_000_010, Rule: 1, Cost: 1, Said: Rejected})
	if err := z.End(); err != nil {
		t.Fatal(err)
	}
	r := z.Report("user", 1, func(Key) string { return "k" })
	if r.Limits[0].RequestsRejected != 1 || r.Limits[1].RequestsRejected != 2 || z.chosen != 1 {
		t.Errorf("%+v, studied %d: want 1 and 2 rejected, and the second studied", r.Limits, z.chosen)
	}
	if a := r.Agrees; a == nil || a.Decisions != 7 || a.Equal != 5 || a.OffByMinute != 2 {
		t.Errorf("agreement = %+v, want 5 of 7, off by 2", a)
	}
}

func TestAgreement(t *testing.T) {
	var a Agreement
	const second = 1_000_000
	for _, d := range []struct {
		at   limiter.Instant
		said Decision
		ok   bool
	}{
		{1, Admitted, true}, {2, Unsaid, false}, {3, Admitted, false}, {4, Rejected, true}, // the two differences even out
		{70 * second, Rejected, true}, {71 * second, Rejected, true}, {200 * second, Rejected, false},
	} {
		a.add(Arrival{At: d.at, Said: d.said}, d.ok)
	}
	if a.Decisions != 6 || a.Equal != 2 || a.OffByMinute != 2 {
		t.Errorf("agreement = %+v, want 2 of 6 equal, off by 2", a)
	}
}
