package replay

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/recent"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// placedLimit returns a limit of a zone.
func placedLimit(t *testing.T, endpoint, tier, limitText string, count uint32) zone.Slot {
	t.Helper()
	limit, err := config.ParseLimit(limitText)
	if err != nil {
		t.Fatal(err)
	}
	var rule *limiter.Rule
	if !limit.Block {
		if rule, err = limiter.NewRule(limiter.Rule{ID: count, Limit: limit.Compile()}); err != nil {
			t.Fatal(err)
		}
	}
	policy := response.NewPolicy("user", rule, limit)
	policy.CountID = count
	return zone.Slot{Endpoint: endpoint, Tier: tier, Limit: &policy}
}

func TestTry(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	used := &usage.ZoneCounters{Name: "user"}
	free, pro, export := used.Counters("", "").Number, used.Counters("", "pro").Number, used.Counters("/export", "").Number
	limits := []zone.Slot{
		placedLimit(t, "", "", "10/1m", 1), placedLimit(t, "", "pro", "20/1m", 1), placedLimit(t, "/export", "", "5/1m burst 2", 2), placedLimit(t, "/closed", "", "block", 3),
	}
	first, err := Try(used, limits, now, &api.TryRequest{})
	if err != nil || first.Requests != 0 || !first.Since.Equal(now) || first.Recommended != "" || !used.Recent.On() {
		t.Fatalf("first trial = %+v, %v, want no request, and that they are remembered from now on", first, err)
	}
	addCurve := func(key string, n int, count, place uint32) {
		for i := range n {
			used.Recent.Add([]byte(key), recent.Decision{
				At: now.UnixMicro() + int64(i), Cost: 1, Count: count, Place: place,
			})
		}
	}
	addCurve("a", 8, 1, free)
	addCurve("b", 30, 1, free)
	addCurve("c", 15, 1, pro)
	addCurve("a", 3, 2, export)
	for _, test := range []struct {
		q    api.TryRequest
		want string
	}{
		{api.TryRequest{}, "38 of 2: 1/1m 36 2, 2/1m 34 2, 5/1m 28 2, 10/1m in force 20 1, 20/1m 10 1, 50/1m 0 0; 8/1m"},
		{api.TryRequest{Limit: "7/1m"}, "38 of 2: 1/1m 36 2, 2/1m 34 2, 5/1m 28 2, 7/1m tried 24 2, 10/1m in force 20 1, 20/1m 10 1, 50/1m 0 0; 8/1m"},
		{api.TryRequest{Tier: "pro"}, "15 of 1: 1/1m 14 1, 2/1m 13 1, 5/1m 10 1, 10/1m 5 1, 20/1m in force 0 0; "},
		{api.TryRequest{Endpoint: "/export", Limit: "1000/1h burst 3"}, "3 of 1: 1/1m burst 1 2 1, 2/1m burst 1 2 1, 5/1m burst 2 in force 1 1, 10/1m burst 4 0 0, 1000/1h burst 3 tried 0 0; "},
	} {
		got, err := Try(used, limits, now.Add(time.Second), &test.q)
		if err != nil {
			t.Fatalf("%+v: %v", test.q, err)
		}
		var texts []string
		for _, l := range got.Limits {
			mark := ""
			if l.InForce {
				mark += " in force"
			}
			if l.Tried {
				mark += " tried"
			}
			texts = append(texts, fmt.Sprint(l.Limit, mark, " ", l.RequestsRejected, " ", l.KeysRejected))
		}
		limitText := fmt.Sprintf("%d of %d: %s; %s", got.Requests, got.Keys, strings.Join(texts, ", "), got.Recommended)
		if limitText != test.want || got.Tier != test.q.Tier || got.Endpoint != test.q.Endpoint || got.KeysPart != 1 {
			t.Errorf("%+v: %s, want %s", test.q, limitText, test.want)
		}
	}
	for want, q := range map[string]api.TryRequest{
		`there is no limit of its own at endpoint "" for tier "gold": use endpoint "" with tier "", or`: {Tier: "gold"},
		"the limit in force there is block: use an endpoint or a tier with a rate":                      {Endpoint: "/closed"},
		"limit: unlimited rejects nobody or all: use a rate such as 100/1m":                             {Limit: "unlimited"},
		`limit: "much" is not a rate: use`:                                                              {Limit: "much"},
	} {
		if _, err := Try(used, limits, now, &q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error = %v, want %s", q, err, want)
		}
	}
}
