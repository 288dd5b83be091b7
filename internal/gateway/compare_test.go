package gateway

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/operate/inspect"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/rules"
)

// compared counts requests of a zone by which rules admit them: both, only the one in force, only
// the compared one, or none.
type compared [4]uint64

func comparedOf(z *zone.Zone) compared {
	c := &z.Usage.Comparisons
	return compared{c.BothAdmit.Load(), c.InForceAdmits.Load(), c.ComparedAdmits.Load(), c.BothReject.Load()}
}

// Of 20 requests of a key, the rule in force admits some, and the compared rule decides as often as
// it should.
func TestComparisonsAreCounted(t *testing.T) {
	for i, tc := range []struct {
		zone, key, path string
		admitted        int
		want            compared
	}{
		{`"limit": "5/1000h", "compare": {"limit": "8/1000h"}`, "k", "/", 5, compared{5, 0, 3, 12}},
		{`"limit": "5/1000h", "compare": {"limit": "2/1000h"}`, "k", "/", 5, compared{2, 3, 0, 15}},
		{`"limit": "5/1000h burst 2", "compare": {"algorithm": "fixed_window"}`, "k", "/", 2, compared{2, 0, 3, 15}},
		{`"limit": "5/1000h", "algorithm": "fixed_window", "compare": {"algorithm": "token_bucket", "limit": "5/1000h burst 2"}`,
			"k", "/", 5, compared{2, 3, 0, 15}},
		{`"limit": "5/1000h", "compare": {"limit": "unlimited"}`, "k", "/", 5, compared{5, 0, 15, 0}},
		{`"limit": "5/1000h", "compare": {"limit": "block"}`, "k", "/", 5, compared{0, 5, 0, 15}},
		{`"limit": "unlimited", "compare": {"limit": "5/1000h"}`, "k", "/", 20, compared{5, 15, 0, 0}},
		{`"limit": "block", "compare": {"limit": "5/1000h"}`, "k", "/", 0, compared{0, 0, 5, 15}},
		{`"limit": "5/1000h", "cost": 2, "compare": {"limit": "9/1000h"}`, "k", "/", 2, compared{2, 0, 2, 16}},
		{`"limit": "8/1000h", "cost": {"placeholder": "{http.request.header.X-Api-Key}", "trusted": true}, "compare": {"limit": "4/1000h"}`,
			"9", "/", 1, compared{1, 0, 0, 19}}, // each limit bounds the cost

		// In a dry run, the compared rule is compared with what the zone would do.
		{`"limit": "5/1000h", "dry_run": 1, "compare": {"limit": "8/1000h"}`, "k", "/", 20, compared{5, 0, 3, 12}},
		{`"limit": "block", "dry_run": 1, "compare": {"limit": "8/1000h"}`, "k", "/", 20, compared{0, 0, 8, 12}},

		// Tiers and endpoints keep their own limits and algorithms.
		{comparedTiers + `"compare": {"limit": "8/1000h"}`, "k", "/", 5, compared{5, 0, 3, 12}},
		{comparedTiers + `"compare": {"limit": "8/1000h"}`, "pro-k", "/", 6, compared{}},
		{comparedTiers + `"compare": {"limit": "8/1000h"}`, "k", "/own", 7, compared{}},
		{comparedTiers + `"compare": {"limit": "8/1000h"}`, "k", "/algorithm", 5, compared{5, 0, 3, 12}},
		{comparedTiers + `"compare": {"algorithm": "fixed_window"}`, "pro-k", "/", 6, compared{6, 0, 4, 10}},
		{comparedTiers + `"compare": {"algorithm": "fixed_window"}`, "k", "/own", 7, compared{7, 0, 0, 13}},
		{comparedTiers + `"compare": {"algorithm": "fixed_window"}`, "k", "/algorithm", 5, compared{5, 0, 0, 15}},

		// Requests without a key have a limit of their own.
		{`"limit": "5/1000h", "on_missing_limit": "3/1000h burst 1", "compare": {"limit": "8/1000h"}`, "", "/", 1, compared{}},
		{`"limit": "5/1000h", "on_missing_limit": "3/1000h burst 1", "compare": {"algorithm": "fixed_window"}`, "", "/", 1,
			compared{1, 0, 2, 17}},

		{`"limit": "5/1000h", "allow_keys": ["k"], "compare": {"limit": "8/1000h"}`, "k", "/", 20, compared{}},
		{`"limit": "5/1000h", "deny_keys": ["k"], "compare": {"limit": "8/1000h"}`, "k", "/", 0, compared{}},
	} {
		name := fmt.Sprintf("compared-%d", i)
		h := provisioned(t, `{"log_rejections": "none", "rate_limits": {"`+name+`": {"key": "{http.request.header.X-Api-Key}", `+
			tc.zone+`}}}`)
		if got := h.admitted(t, tc.key, tc.path); got != tc.admitted {
			t.Errorf("%s: %d requests are admitted, want %d", tc.zone, got, tc.admitted)
		}
		if got := comparedOf(h.requests.Zones[0]); got != tc.want {
			t.Errorf("%s: comparisons = %v, want %v", tc.zone, got, tc.want)
		}
	}
}

const comparedTiers = `"limit": "5/1000h",
	"tier": {"tiers": {"pro": "10/1000h burst 6"}, "keys": [{"glob": "pro-*", "tier": "pro"}]},
	"endpoints": [{"path": "/own", "limit": "7/1000h"}, {"path": "/algorithm", "algorithm": "sliding_window_log", "tiers": {"pro": "6/1000h"}}], `

// A fixed window and a token bucket of one limit differ in both directions: the bucket admits
// between windows, and the window all of its events at once.
func TestComparedAlgorithmsDiffer(t *testing.T) {
	h := provisioned(t, `{"log_rejections": "none", "rate_limits": {"compared-algorithms": {"key": "all", "limit": "20/200ms",
		"algorithm": "fixed_window", "compare": {"algorithm": "token_bucket"}}}}`)
	z, requests, admitted := h.requests.Zones[0], uint64(0), uint64(0)
	var got compared
	for deadline := time.Now().Add(10 * time.Second); got[1] == 0 || got[2] == 0; got = comparedOf(z) {
		if time.Now().After(deadline) {
			t.Fatalf("comparisons = %v, want some of each kind", got)
		}
		requests++
		if h.statusOf(t, "k", "/") == http.StatusOK {
			admitted++
		}
	}
	if got[0]+got[1] != admitted || got[2]+got[3] != requests-admitted {
		t.Errorf("comparisons = %v, of %d requests that are admitted and %d that are rejected", got, admitted, requests-admitted)
	}
	metrics := gathered(t)
	for labels, want := range map[string]uint64{
		"admitted admitted": got[0], "rejected admitted": got[1], "admitted rejected": got[2], "rejected rejected": got[3],
	} { // the labels, sorted by name: compared, in_force, zone
		if value := metrics["comparisons_total "+labels+" compared-algorithms"]; value != float64(want) {
			t.Errorf("comparisons_total %s = %v, want %d", labels, value, want)
		}
	}
}

// A comparison changes neither responses nor what the zone counts.
func TestComparisonChangesNothing(t *testing.T) {
	respond := func(name, compare string) (all []*httptest.ResponseRecorder) {
		h := provisioned(t, `{"log_rejections": "none", "rate_limits": {"`+name+`": {"key": "all", "limit": "2/1000h"`+
			compare+`}}}`)
		for range 4 {
			w := httptest.NewRecorder()
			if err := h.ServeHTTP(w, benchRequest("k"), handlerThatWritesNothing); err != nil {
				t.Fatal(err)
			}
			for name, values := range w.Header() {
				if strings.Contains(name, "Retry") || strings.HasPrefix(name, "Ratelimit") || strings.HasSuffix(name, "Reset") {
					values[0] = "" // the value depends on the time, or has the name of the zone
				}
			}
			all = append(all, w)
		}
		return all
	}
	without := respond("not-compared", "")
	for i, with := range respond("compared-silently", `, "compare": {"limit": "1/1000h"}`) {
		if with.Code != without[i].Code || !maps.EqualFunc(with.Header(), without[i].Header(),
			func(a, b []string) bool { return strings.Join(a, "|") == strings.Join(b, "|") }) {
			t.Errorf("response %d = %d %v, want %d %v", i+1, with.Code, with.Header(), without[i].Code, without[i].Header())
		}
	}
	for name := range gathered(t) {
		if strings.HasPrefix(name, "comparisons_total") && strings.HasSuffix(name, "not-compared") {
			t.Errorf("there is a metric %s of a zone that compares nothing", name)
		}
	}
}

// A request that another zone rejects counts in no zone, so it is not compared either.
func TestComparisonBesideOtherZones(t *testing.T) {
	h := provisioned(t, `{"log_rejections": "none", "rate_limits": {
		"compared-beside": {"key": "all", "limit": "4/1000h", "compare": {"limit": "10/1000h"}},
		"other-beside": {"key": "all", "limit": "3/1000h"}}}`)
	if got := h.admitted(t, "k", "/"); got != 3 {
		t.Errorf("%d requests are admitted, want 3", got)
	}
	if got, want := comparedOf(h.requests.Zones[0]), (compared{3, 0, 0, 0}); got != want {
		t.Errorf("comparisons = %v, want %v", got, want)
	}
	putRules(t, h, `{"zones": {"other-beside": {"limit": "block"}}}`)
	h.admitted(t, "k", "/")
	putRules(t, h, `{"zones": {"other-beside": {"limit": "unlimited"}}}`)
	if got := h.admitted(t, "k", "/"); got != 1 {
		t.Errorf("%d requests are admitted without the other zone, want 1", got)
	}
	if got, want := comparedOf(h.requests.Zones[0]), (compared{4, 0, 6, 13}); got != want {
		t.Errorf("comparisons = %v, want %v", got, want)
	}
}

func TestOutageIsNotCompared(t *testing.T) {
	s := &scriptedStore{err: errStore}
	h, _ := scripted(t, `{"rate_limits": {"compared-outage": {"key": "all", "limit": "5/1m", "compare": {"limit": "3/1m"}},
		"other-outage": {"key": "all", "limit": "unlimited", "compare": {"limit": "3/1m"}}}}`, s)
	h.admitted(t, "k", "/")
	for _, z := range h.requests.Zones {
		if got := comparedOf(z); got != (compared{}) {
			t.Errorf("%s: comparisons in an outage = %v, want none", z.Name, got)
		}
	}
	if got := len(s.takes); got != 40 {
		t.Errorf("%d takes, want 40: one of the zone, and one of the comparison that no limit is in force beside", got)
	}
	s.err, s.decision = nil, limiter.Decision{OK: true}
	h.admitted(t, "k", "/")
	if got, want := comparedOf(h.requests.Zones[0]), (compared{20, 0, 0, 0}); got != want {
		t.Errorf("comparisons after the outage = %v, want %v", got, want)
	}
}

// The keys that a percentage of keys selects are the same in every configuration and on every node.
// They do not depend on the keys that a dry run selects.
func TestComparedKeysAreStable(t *testing.T) {
	const keys = 2000
	comparedKeys := func(percent string) (which map[int]bool, dry int) {
		h := provisioned(t, `{"rate_limits": {"compared-keys": {"key": "{http.request.header.X-Api-Key}", "limit": "5/1h",
			"dry_run": "10%", "compare": {"keys": "`+percent+`", "limit": "3/1h"}}}}`)
		which = make(map[int]bool)
		share := zone.NewKeyShare(0.1, "compared-keys")
		var before compared
		for i := range keys {
			h.statusOf(t, fmt.Sprintf("key-%d", i), "/")
			if now := comparedOf(h.requests.Zones[0]); now != before {
				which[i], before = true, now
				encoded, err := h.app.set.Keys(&rules.Key{Zone: "compared-keys", Text: fmt.Sprintf("key-%d", i)})
				if err != nil {
					t.Fatal(err)
				}
				if share.Includes(encoded[0]) {
					dry++
				}
			}
		}
		return which, dry
	}
	first, dry := comparedKeys("10%")
	if dry < 5 || dry > 60 {
		t.Errorf("%d of %d compared keys are in the dry run of 10 %%: the two depend on each other", dry, len(first))
	}
	second, _ := comparedKeys("10%")
	if !maps.Equal(first, second) {
		t.Error("two handlers compare different keys")
	}
	if n := len(first); n < keys/10-60 || n > keys/10+60 {
		t.Errorf("10 %% of %d keys are %d", keys, n)
	}
	wider, _ := comparedKeys("50%")
	for key := range first {
		if !wider[key] {
			t.Errorf("key %d is compared with 10 %% and not with 50 %%", key)
		}
	}
}

func TestReloadKeepsComparedCounts(t *testing.T) {
	config := func(limit string) string {
		return `{"log_rejections": "none", "rate_limits": {"compared-reload": {"key": "all", "limit": "100/1000h",
			"compare": {"limit": "` + limit + `", "algorithm": "fixed_window"}}}}`
	}
	h := provisioned(t, config("25/1000h"))
	h.admitted(t, "k", "/")
	h = provisioned(t, config("25/1000h"))
	h.admitted(t, "k", "/")
	if got, want := comparedOf(h.requests.Zones[0]), (compared{25, 15, 0, 0}); got != want {
		t.Errorf("comparisons after a reload = %v, want %v", got, want)
	}
	h = provisioned(t, config("30/1000h"))
	h.admitted(t, "k", "/")
	if got, want := comparedOf(h.requests.Zones[0]), (compared{30, 30, 0, 0}); got != want {
		t.Errorf("comparisons after a reload with a raised limit = %v, want %v", got, want)
	}
}

// Rules and overrides that change the rule in force change the compared rule, too. The compared
// rule's own limit stays.
func TestRulesAndComparisons(t *testing.T) {
	const zone = "compared-rules"
	h := provisioned(t, `{"log_rejections": "none", "rate_limits": {"`+zone+`": {"key": "{http.request.header.X-Api-Key}",
		"limit": "5/1000h", "endpoints": [{"path": "/own", "limit": "6/1000h burst 3"}],
		"compare": {"limit": "8/1000h", "algorithm": "fixed_window"}}}}`)
	z := h.requests.Zones[0]
	h.app.rulesInForce()
	var before compared
	for i, tc := range []struct {
		rules, path string
		admitted    int
		want        compared
	}{
		{`{}`, "/", 5, compared{5, 0, 3, 12}},
		{`{"zones": {"` + zone + `": {"limit": "10/1000h"}}}`, "/", 10, compared{8, 2, 0, 10}},
		{`{"zones": {"` + zone + `": {"endpoints": {"/own": {"limit": "7/1000h burst 4"}}}}}`, "/own", 4, compared{4, 0, 3, 13}},
		{`{"overrides": [{"id": "o", "zone": "` + zone + `", "key": %q, "limit": "9/1000h burst 2"}]}`, "/", 2, compared{2, 0, 7, 11}},
		{`{"overrides": [{"id": "o", "zone": "` + zone + `", "key": %q, "multiplier": 2}]}`, "/", 10, compared{10, 0, 6, 4}},
		{`{"zones": {"` + zone + `": {"limit": "10/1000h burst 6"}}}`, "/", 6, compared{6, 0, 2, 12}},
	} {
		key := fmt.Sprintf("key-%d", i)
		document := tc.rules
		if strings.Contains(document, "%q") {
			document = fmt.Sprintf(document, key)
		}
		putRules(t, h, document)
		if got := h.admitted(t, key, tc.path); got != tc.admitted {
			t.Errorf("%s: %d requests are admitted, want %d", document, got, tc.admitted)
		}
		now := comparedOf(z)
		got := now
		for i := range got {
			got[i] -= before[i]
		}
		if before = now; got != tc.want {
			t.Errorf("%s: comparisons = %v, want %v", document, got, tc.want)
		}
	}
}

// Rules start, change and end comparisons, even of a zone in the syntax of caddy-ratelimit.
func TestRulesCompare(t *testing.T) {
	const zone = "compared-by-rules"
	for _, own := range []string{
		`"limit": "5/1000h"`, `"limit": "5/1000h", "compare": {"limit": "9/1000h"}`, `"window": "1000h", "max_events": 5`,
	} {
		h := provisioned(t, `{"log_rejections": "none", "reject": "json", "rate_limits": {"`+zone+`": {
			"key": "{http.request.header.X-Api-Key}", `+own+`}}}`)
		h.app.rulesInForce()
		before := comparedOf(h.requests.Zones[0])
		for i, tc := range []struct {
			rules string
			want  compared
		}{
			{`{"limit": "8/1000h"}`, compared{5, 0, 3, 12}},
			{`{"keys": "100%", "algorithm": "fixed_window", "limit": "2/1000h"}`, compared{2, 3, 0, 15}},
			{`{"keys": "0%"}`, compared{}},
			{`{"limit": "5/1000h"}`, compared{}}, // the limit in force
		} {
			s := putRules(t, h, `{"zones": {"`+zone+`": {"compare": `+tc.rules+`}}}`)
			if err := (&h.app.set).Compare(zone, s.Version.Document.Zones[zone].Compare); err != nil {
				t.Errorf("%s: %v", tc.rules, err)
			}
			h.admitted(t, fmt.Sprintf("%s-%d", own, i), "/")
			now := comparedOf(h.requests.Zones[0])
			got := now
			for i := range got {
				got[i] -= before[i]
			}
			if before = now; got != tc.want {
				t.Errorf("%s with %s: comparisons = %v, want %v", own, tc.rules, got, tc.want)
			}
		}
	}
}

// An override that makes both limits equal leaves nothing to compare.
func TestOverriddenLimitIsNotCompared(t *testing.T) {
	h := provisioned(t, `{"log_rejections": "none", "rate_limits": {"compared-override": {"key": "{http.request.header.X-Api-Key}",
		"limit": "5/1000h", "compare": {"limit": "8/1000h"}}}}`)
	h.app.rulesInForce()
	putRules(t, h, `{"overrides": [{"id": "o", "zone": "compared-override", "key": "k", "limit": "9/1000h"}]}`)
	if got := h.admitted(t, "k", "/"); got != 9 {
		t.Errorf("%d requests are admitted, want 9", got)
	}
	if got := comparedOf(h.requests.Zones[0]); got != (compared{}) {
		t.Errorf("comparisons = %v, want none", got)
	}
}

// A reset resets both counts. Otherwise the compared rule would go on rejecting.
func TestOperationsIncludeComparedCounts(t *testing.T) {
	h := provisioned(t, `{"log_rejections": "none", "rate_limits": {"compared-counts": {"key": "{http.request.header.X-Api-Key}",
		"limit": "5/1000h", "endpoints": [{"path": "/own", "limit": "6/1000h"}], "compare": {"limit": "3/1000h"}}}}`)
	h.admitted(t, "k", "/")
	counts, err := inspect.CountsOf(h.app.rulesInForce(), &inspect.KeyRef{Key: rules.Key{Zone: "compared-counts", Text: "k"}}, "")
	if err != nil || len(counts) != 3 {
		t.Fatalf("counts = %+v, %v, want two of the zone and one of the endpoint", counts, err)
	}
	for _, c := range counts {
		if err := h.app.store.Reset(t.Context(), time.Now(), c.Rule, c.Key); err != nil {
			t.Fatal(err)
		}
	}
	h.admitted(t, "k", "/")
	if got, want := comparedOf(h.requests.Zones[0]), (compared{6, 4, 0, 30}); got != want {
		t.Errorf("comparisons = %v, want %v", got, want)
	}
}

func TestComparisonIsRefused(t *testing.T) {
	for compare, want := range map[string]string{
		`{}`:                                     "compare: there is nothing to compare with: use `limit`, `algorithm` or both",
		`{"keys": 0, "limit": "1/1m"}`:           "compare: keys is 0: use a fraction above 0 and up to 1, such as 0.1 for 10%",
		`{"keys": 1.5, "limit": "1/1m"}`:         "compare: keys is 1.5: use a fraction",
		`{"keys": "5", "limit": "1/1m"}`:         `"5" is not a percentage: use "0%" to "100%"`,
		`{"limit": {"events": 0}}`:               "compare: limit: events is 0: use block",
		`{"limit": "4/1m"}`:                      "compare: cost is 5, but at most 4 can pass at once: use a lower cost",
		`{"algorithm": {"name": "leaky"}}`:       "compare: algorithm",
		`{"percent": 5}`:                         `unknown field "percent"`,
		`{"limit": "9/1m burst 8"}`:              "compare: limit: fixed_window has no burst: use token_bucket, or a limit without burst",
		`{"limit": "9/1m", "algorithm": "x y"}`:  "algorithm",
		`{"limit": "9/1m", "algorithm": "toke"}`: "token_bucket",
	} {
		err := provisionWithApp(t, `{}`, `{"handler": "rate_limit", "rate_limits": {"z": {"key": "all", "limit": "9/1m", "cost": 5,
			"algorithm": "fixed_window", "compare": `+compare+`}}}`)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", compare, err, want)
		}
	}
	err := provisionWithApp(t, `{}`, `{"handler": "rate_limit", "rate_limits": {"z": {"key": "all", "window": "1m", "max_events": 5,
		"compare": {"limit": "1/1m"}}}}`)
	if want := "use `limit` instead of `window`"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a zone in the syntax of caddy-ratelimit: %v, want an error with %q", err, want)
	}
}

func TestComparedRulesAreDescribed(t *testing.T) {
	provisioned(t, `{"rate_limits": {"compared-described": {"key": "all", "limit": "5/1000h", "algorithm": "sliding_window 6",
		"tier": {"tiers": {"pro": "6/1000h"}, "keys": [{"glob": "pro_*", "tier": "pro"}]},
		"endpoints": [{"path": "/own", "limit": "7/1000h"}, {"path": "/cost", "cost": 2}],
		"compare": {"keys": "12.5%", "limit": "8/1000h"}}}}`)
	answer := inspect.Zone(running().Snapshot, "compared-described")
	var got []string
	for _, e := range answer.Limits {
		for _, tier := range e.Tiers {
			if tier.Compared != nil {
				got = append(got, fmt.Sprintf("%s %s: %s, %+v", e.Endpoint, tier.Tier, tier.Algorithm, *tier.Compared))
			}
		}
	}
	want := " : sliding_window 6, {Limit:8/1000h Algorithm:sliding_window 6}"
	if answer.Compare != "12.5%" || strings.Join(got, "\n") != want {
		t.Errorf("compare = %s,\n%s\nwant 12.5%%,\n%s", answer.Compare, strings.Join(got, "\n"), want)
	}
}
