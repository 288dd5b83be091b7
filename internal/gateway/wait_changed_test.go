package gateway

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// A waiting request is decided by the rules in force when its wait ends. At 0 s, ten requests pass,
// and twenty wait until 1 s.
func TestLimitChangesDuringWait(t *testing.T) {
	for _, tc := range []struct {
		name, document string
		want           map[int]int // number of responses by status, with those of the first ten requests
	}{
		{"nothing changes", `{}`, map[int]int{200: 20, 429: 10}},
		{"another key", `{"overrides": [{"id": "o", "zone": "q", "key": "other", "limit": "1/1s"}]}`, map[int]int{200: 20, 429: 10}},
		{"the limit falls", `{"zones": {"q": {"limit": "3/1s"}}}`, map[int]int{200: 13, 429: 17}},
		{"the limit rises", `{"zones": {"q": {"limit": "15/1s"}}}`, map[int]int{200: 25, 429: 5}},
		{"the limit of the key falls", `{"overrides": [{"id": "o", "zone": "q", "key": "k", "limit": "1/1s"}]}`, map[int]int{200: 11, 429: 19}},
		{"the key is blocked", `{"overrides": [{"id": "o", "zone": "q", "key": "k", "limit": "block"}]}`, map[int]int{200: 10, 429: 20}},
		{"the key is denied", `{"access": [{"id": "a", "action": "deny", "zone": "q", "key": "k"}]}`, map[int]int{200: 10, 403: 20}},
		{"the key gets a lower tier", `{"tiers": [{"id": "t", "zone": "q", "key": "k", "tier": "low"}]}`, map[int]int{200: 12, 429: 18}},
		{"a dry run", `{"zones": {"q": {"dry_run": "100%", "limit": "1/1s"}}}`, map[int]int{200: 20, 429: 10}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, algorithm := range []string{"fixed_window", "sliding_window_log"} {
				synctest.Test(t, func(t *testing.T) {
					h, _ := provisionedIn(t, t.TempDir(), `{"rate_limits": {"q": {
						"key": "{http.request.header.X-Api-Key}", "limit": "10/1s", "algorithm": "`+algorithm+`", "wait": "1s",
						"tier": {"tiers": {"low": "2/1s"}, "keys": [{"glob": "never", "tier": "low"}]}}}}`)
					h.app.rulesInForce()
					c := newCrowd(h)
					for range 30 {
						c.send(t.Context(), "k")
					}
					time.Sleep(100 * time.Millisecond)
					putRules(t, h, tc.document)
					c.wg.Wait()
					if got := c.statuses(); !maps.Equal(got, tc.want) {
						t.Errorf("%s: responses by status = %v, want %v", algorithm, got, tc.want)
					}
				})
			}
		})
	}
}

// A reload changes the limit of waiting requests, too, as long as their count stays the same.
func TestReloadDuringWait(t *testing.T) {
	for zone, want := range map[string]map[int]int{
		`"reloaded": {"key": "{http.request.header.X-Api-Key}", "limit": "3/1s", "algorithm": "fixed_window"}`:  {200: 13, 429: 17},
		`"reloaded": {"key": "{http.request.header.X-Api-Key}", "limit": "block", "algorithm": "fixed_window"}`: {200: 10, 429: 20},
		`"reloaded": {"key": "{http.request.header.X-Api-Key}", "limit": "3/1s"}`:                               {200: 20, 429: 10},
		`"renamed": {"key": "{http.request.header.X-Api-Key}", "limit": "3/1s", "algorithm": "fixed_window"}`:   {200: 20, 429: 10},
	} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			h, stop := provisionedIn(t, dir, `{"rate_limits": {"reloaded": {"key": "{http.request.header.X-Api-Key}",
				"limit": "10/1s", "algorithm": "fixed_window", "wait": "1s"}}}`)
			h.app.rulesInForce()
			c := newCrowd(h)
			for range 30 {
				c.send(t.Context(), "k")
			}
			time.Sleep(100 * time.Millisecond)
			reloaded, _ := provisionedIn(t, dir, `{"rate_limits": {`+zone+`}}`)
			reloaded.app.rulesInForce()
			c.wg.Wait()
			stop()
			if got := c.statuses(); !maps.Equal(got, want) {
				t.Errorf("%s: responses by status = %v, want %v", zone, got, want)
			}
		})
	}
}

// statuses returns how many responses had each status.
func (c *crowd) statuses() map[int]int {
	counts := make(map[int]int)
	for _, r := range c.all {
		counts[r.status]++
	}
	return counts
}

// Requests that wait for the status of other requests are decided by the rules in force, too. The
// first five of ten do not count.
func TestLimitChangesDuringWaitForStatus(t *testing.T) {
	for document, want := range map[string]int{
		`{}`: 10,
		`{"overrides": [{"id": "o", "zone": "status", "key": "k", "limit": "1/1h"}]}`:           6,
		`{"overrides": [{"id": "o", "zone": "status", "key": "k", "limit": "block"}]}`:          5,
		`{"access": [{"id": "a", "action": "deny", "zone": "status", "key": "k"}]}`:             5,
		`{"access": [{"id": "a", "action": "deny", "zone": "status", "key": "somebody else"}]}`: 10,
	} {
		synctest.Test(t, func(t *testing.T) {
			h, _ := provisionedIn(t, t.TempDir(), `{"rate_limits": {"status": {
				"key": "{http.request.header.X-Api-Key}", "limit": "5/1h", "count_status": "401"}}}`)
			h.app.rulesInForce()
			var all sync.WaitGroup
			release, passed := make(chan int, 10), make(chan bool, 10)
			for range 10 {
				all.Go(func() {
					_ = h.ServeHTTP(httptest.NewRecorder(), benchRequest("k"), caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
						passed <- true
						w.WriteHeader(<-release)
						return nil
					}))
				})
			}
			synctest.Wait()
			putRules(t, h, document)
			for range 5 {
				release <- http.StatusOK
			}
			synctest.Wait()
			for range 5 {
				release <- http.StatusUnauthorized
			}
			all.Wait()
			if got := len(passed); got != want {
				t.Errorf("%s: requests that pass = %d, want %d", document, got, want)
			}
			if n := undecided(h); n != 0 {
				t.Errorf("%s: reservations at the end = %d, want 0", document, n)
			}
		})
	}
}

// A request that waits for a permit is decided by the rules in force, too. It holds no permit in
// the end.
func TestKeyDeniedDuringWaitForPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := provisionedIn(t, t.TempDir(), `{"rate_limits": {"permit": {
			"key": "{http.request.header.X-Api-Key}", "concurrent": 1, "wait": "1s"}}}`)
		h.app.rulesInForce()
		release := make(chan bool)
		go func() {
			_ = h.ServeHTTP(httptest.NewRecorder(), benchRequest("k"), caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error {
				<-release
				return nil
			}))
		}()
		synctest.Wait()
		c := newCrowd(h)
		waits := c.send(t.Context(), "k")
		time.Sleep(100 * time.Millisecond)
		putRules(t, h, `{"access": [{"id": "a", "action": "deny", "zone": "permit", "key": "k"}]}`)
		release <- true
		c.wg.Wait()
		if waits.status != http.StatusForbidden || waits.began >= 0 {
			t.Errorf("status of a denied key that has waited = %d, want 403", waits.status)
		}
		putRules(t, h, `{}`)
		if got := h.statusOf(t, "k", "/"); got != http.StatusOK {
			t.Errorf("status of the next request = %d, want 200", got)
		}
	})
}
