package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/tail"
	"github.com/fleetlimit/fleetlimit/internal/operate/inspect"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/rules"
)

// follow returns a tail of what is decided while f runs.
func follow(filter tail.DecisionFilter, f func()) *tail.Tail[tail.DecisionFilter, *api.Decision] {
	opened := reports.Tails.Open(filter, 100, 1)
	defer reports.Tails.Close(opened)
	f()
	return opened
}

// told returns what a tail has, as JSON without the times.
func told(t *testing.T, from *tail.Tail[tail.DecisionFilter, *api.Decision]) (lines []string) {
	t.Helper()
	for {
		d, ok := from.Take()
		if !ok {
			return lines
		}
		if age := time.Since(d.Time); age < 0 || age > time.Minute {
			t.Errorf("time = %v, want now", d.Time)
		}
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), ",")
		lines = append(lines, "{"+rest)
	}
}

// The tail tells of each outcome what is known of it, and tells each decision that metrics count
// once.
func TestTailTellsEveryOutcome(t *testing.T) {
	const (
		about = `"remote_ip":"192.0.2.1","client_ip":"192.0.2.1","method":"GET","host":"","path":"/"`
		ofK   = `"key":"k",` + about + `,"key_hash":"8254c329a928"`
		key   = `"key": "{http.request.header.X-Api-Key}"`
	)
	denial := limiter.Decision{At: 0, Limit: 5, RetryAt: 1_500_000, ResetAt: 60_000_000, Source: limiter.FromRememberedDenial}
	admission := limiter.Decision{OK: true, Limit: 5, Remaining: 4, Source: limiter.FromLease}
	for i, tc := range []struct {
		handler, zone string // what the configuration has besides the key
		store         scriptedStore
		want          string
	}{
		{"", `"limit": "5/1m"`, scriptedStore{decision: admission},
			`"zone":"Z","outcome":"admitted","source":"lease",` + ofK + `,"limit":5,"remaining":4`},
		{"", `"limit": "5/1m"`, scriptedStore{decision: denial},
			`"zone":"Z","outcome":"rejected","source":"remembered_denial",` + ofK + `,"status":429,"wait":"1.5s","limit":5,"remaining":0`},
		{"", `"limit": "block"`, scriptedStore{},
			`"zone":"Z","outcome":"rejected","source":"store",` + ofK + `,"status":429,"wait":"24h0m0s","limit":0,"remaining":0`},
		{"", `"limit": "5/1m", "on_outage": "open"`, scriptedStore{err: errStore},
			`"zone":"Z","outcome":"degraded","source":"outage","reason":"store_error",` + ofK + `,"limit":5`},
		{"", `"limit": "5/1m", "deny_keys": ["k"]`, scriptedStore{},
			`"zone":"Z","outcome":"denied","reason":"denied_key",` + ofK + `,"status":403`},
		{"", `"limit": "5/1m", "allow_keys": ["k"]`, scriptedStore{},
			`"zone":"Z","outcome":"allowed","reason":"allowed_key",` + ofK},
		{"", `"limit": "5/1m", "key": "{http.request.header.X-Nobody}", "on_missing_key": "deny"`, scriptedStore{},
			`"zone":"Z","outcome":"denied","reason":"missing_key",` + about + `,"status":403`},
		{`"deny": ["192.0.2.0/24"],`, `"limit": "5/1m"`, scriptedStore{},
			`"outcome":"denied","reason":"denied_address",` + about + `,"status":403`},
		{`"allow": ["192.0.2.0/24"],`, `"limit": "5/1m"`, scriptedStore{},
			`"outcome":"allowed","reason":"allowed_address",` + about},
		{"", `"limit": "5/1m", "dry_run": 1`, scriptedStore{decision: denial},
			`"zone":"Z","outcome":"would_reject","source":"remembered_denial",` + ofK +
				`,"would_be":429,"wait":"1.5s","limit":5,"remaining":0`},
		{"", `"limit": "5/1m", "dry_run": 1, "deny_keys": ["k"]`, scriptedStore{},
			`"zone":"Z","outcome":"would_deny","reason":"denied_key",` + ofK + `,"would_be":403`},
		{"", `"limit": "5/1m", "key": "{http.request.header.X-Nobody}"`, scriptedStore{decision: admission},
			`"zone":"Z","outcome":"admitted","source":"lease","key":"192.0.2.1","missing":true,` + about +
				`,"key_hash":"37fcff24bf62","limit":5,"remaining":4`},
		{"", `"limit": "5/1m", "endpoints": [{"path": "/*", "methods": ["GET"], "limit": "7/1m"}],
			"tier": {"keys": [{"glob": "k*", "tier": "pro"}], "tiers": {"pro": "9/1m"}}`, scriptedStore{decision: admission},
			`"zone":"Z","endpoint":"GET /*","tier":"pro","outcome":"admitted","source":"lease",` + ofK + `,"limit":5,"remaining":4`},
	} {
		zone := fmt.Sprintf("told-%d", i)
		if !strings.Contains(tc.zone, `"key": "{`) {
			tc.zone += ", " + key
		}
		h, _ := scripted(t, fmt.Sprintf(`{%s "rate_limits": {%q: {%s}}}`, tc.handler, zone, tc.zone), &tc.store)
		opened := follow(tail.DecisionFilter{Sample: 1}, func() {
			_ = h.ServeHTTP(httptest.NewRecorder(), benchRequest("k"), handlerThatWritesNothing)
		})
		want := "[{" + strings.Replace(tc.want, `"Z"`, `"`+zone+`"`, 1) + "}]"
		if got := fmt.Sprint(told(t, opened)); got != want {
			t.Errorf("%s%s:\n%s, want\n%s", tc.handler, tc.zone, got, want)
		}
	}
}

func TestTailTellsEmergency(t *testing.T) {
	h := provisioned(t, `{"log_rejections": "none", "rate_limits": {"z": {"key": "k", "limit": {"unlimited": true}}}}`)
	startEmergency(t, "1/1h", time.Hour)
	lines := told(t, follow(tail.DecisionFilter{Zones: []string{api.EmergencyZone}, Sample: 1}, func() { h.request("k", 2) }))
	if len(lines) != 2 || !strings.Contains(lines[0], `"zone":"(emergency)","outcome":"admitted","source":"store","key":"192.0.2.1"`) ||
		!strings.Contains(lines[1], `"outcome":"rejected"`) {
		t.Errorf("lines = %s", lines)
	}
}

func TestTailHasWhatItsFilterSays(t *testing.T) {
	h := provisioned(t, `{"log_rejections": "none", "rate_limits": {
		"filter-a": {"key": "{http.request.header.X-Api-Key}", "limit": "2/1h", "deny_keys": ["evil"]},
		"filter-b": {"key": "{http.vars.client_ip}", "limit": "1000/1h"}}}`)
	keys := func(of string) [][]byte {
		key, _, err := h.requests.Zones[0].Key.Append(nil, benchRequest(of), nil)
		if err != nil {
			t.Fatal(err)
		}
		return [][]byte{[]byte("other"), key}
	}
	for _, tc := range []struct {
		name   string
		filter tail.DecisionFilter
		want   string // the zones and outcomes
	}{
		{"all", tail.DecisionFilter{Sample: 1}, "a admitted b admitted a admitted b admitted a rejected a denied a admitted b admitted"},
		{"rejections", tail.DecisionFilter{Sample: 0}, "a rejected a denied"},
		{"zone", tail.DecisionFilter{Sample: 1, Zones: []string{"filter-b"}}, "b admitted b admitted b admitted"},
		{"outcomes", tail.DecisionFilter{Sample: 1, Outcomes: []string{"denied", "rejected"}}, "a rejected a denied"},
		{"key", tail.DecisionFilter{Sample: 1, Keys: map[string][][]byte{"filter-a": keys("alice")}}, "a admitted a admitted a rejected"},
		{"another key", tail.DecisionFilter{Sample: 1, Keys: map[string][][]byte{"filter-a": keys("bob")}}, "a admitted"},
		{"keys of no zone", tail.DecisionFilter{Sample: 1, Keys: map[string][][]byte{}}, ""},
	} {
		opened := follow(tc.filter, func() {
			for _, key := range []string{"alice", "alice", "alice", "evil", "bob"} {
				h.request(key, 1)
			}
		})
		var got []string
		for d, ok := opened.Take(); ok; d, ok = opened.Take() {
			got = append(got, strings.TrimPrefix(d.Zone, "filter-"), d.Outcome)
		}
		if text := strings.Join(got, " "); text != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, text, tc.want)
		}
		resetCounts(t, h)
	}
}

// resetCounts gives all keys of the tests their limits again.
func resetCounts(t *testing.T, h *Handler) {
	t.Helper()
	for _, z := range h.requests.Zones {
		for _, key := range []string{"alice", "bob", "evil"} {
			counts, err := inspect.CountsOf(h.app.rulesInForce(), &inspect.KeyRef{Key: rules.Key{Zone: z.Name, Text: key}}, "")
			for _, c := range counts {
				err = cmp.Or(err, h.app.store.Reset(t.Context(), time.Now(), c.Rule, c.Key))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestTailSamplesWhatPasses(t *testing.T) {
	const n = 20_000
	h := provisioned(t, `{"log_rejections": "none", "rate_limits": {
		"sampled": {"key": "all", "limit": "1000000/1h"}}}`)
	opened := reports.Tails.Open(tail.DecisionFilter{Sample: 0.1}, n, 1)
	defer reports.Tails.Close(opened)
	h.request("k", n)
	got := 0
	for _, ok := opened.Take(); ok; _, ok = opened.Take() {
		got++
	}
	if math.Abs(float64(got)-n/10) > 300 { // 300 is seven standard deviations
		t.Errorf("a sample of 10 %% has %d of %d decisions", got, n)
	}
}

// A client cannot fill the memory by what it sends. What is told outlives the request.
func TestTailBoundsTexts(t *testing.T) {
	h := provisioned(t, `{"log_rejections": "none", "rate_limits": {
		"texts": {"key": "{http.request.header.X-Api-Key}", "limit": "1000/1h"}}}`)
	for key, want := range map[string]string{
		strings.Repeat("k", 2048):   `"key":"kkk`,
		strings.Repeat("k", 2048+1): `"admitted","source":"store","remote_ip"`,
		"\xff":                      `"key_base64":"/w=="`,
	} {
		r := benchRequest(key)
		r.Method, r.Host = strings.Repeat("m", 10_000), strings.Repeat("h", 10_000)
		original := *r
		original.URL = r.URL.JoinPath(strings.Repeat("p", 10_000))
		r = r.WithContext(context.WithValue(r.Context(), caddyhttp.OriginalRequestCtxKey, original))
		lines := told(t, follow(tail.DecisionFilter{Sample: 1}, func() {
			_ = h.ServeHTTP(newBenchWriter(), r, handlerThatWritesNothing)
		}))
		if len(lines) != 1 || !strings.Contains(lines[0], want) || len(lines[0]) > 2048+3*600 ||
			!strings.Contains(lines[0], `"key_hash":"`) {
			t.Errorf("key %.10q: %s, want one line with %s", key, lines, want)
		}
	}
}

// Requests do not wait for a tail that nobody reads: time stands still while they are served.
func TestRequestsDoNotWaitForTails(t *testing.T) {
	const n, room = 3000, 1000
	h := provisioned(t, `{"log_rejections": "none", "rate_limits": {
		"flooded": {"key": "{http.request.header.X-Api-Key}", "limit": "2/1h"}}}`)
	synctest.Test(t, func(t *testing.T) {
		opened := reports.Tails.Open(tail.DecisionFilter{Sample: 1}, room, 1)
		defer reports.Tails.Close(opened)
		start := time.Now()
		h.request("k", n)
		if waited := time.Since(start); waited != 0 || opened.Dropped() != n-room {
			t.Errorf("requests have waited %v for a reader", waited)
		}
	})
}

// request sends requests with a key through h.
func (h *Handler) request(key string, n int) {
	for range n {
		_ = h.ServeHTTP(newBenchWriter(), benchRequest(key), handlerThatWritesNothing)
	}
}

// Tails open and close while requests pass handlers. The race detector finds what these do not
// share safely.
func TestTailsWhileRequestsAreServed(t *testing.T) {
	h := provisioned(t, `{"log_rejections": "none", "rate_limits": {
		"served": {"key": "{http.request.header.X-Api-Key}", "limit": "10/1h"}}}`)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 2000 {
			h.request(http.MethodGet+fmt.Sprint(i%7), 1)
		}
	}()
	for {
		select {
		case <-done:
			return
		default:
		}
		opened := reports.Tails.Open(tail.DecisionFilter{Sample: 1}, 1, 1)
		_, _ = opened.Take()
		reports.Tails.Close(opened)
	}
}
