package gateway

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

// adminMux returns the routes of the admin API as Caddy serves them.
func adminMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, route := range (AdminAPI{}).Routes() {
		mux.HandleFunc(route.Pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := route.Handler.ServeHTTP(w, r); err != nil {
				answer := caddy.APIError{HTTPStatus: http.StatusInternalServerError}
				_ = errors.As(err, &answer)
				http.Error(w, err.Error(), answer.HTTPStatus)
			}
		})
	}
	return mux
}

// Whatever a client sends to the admin API, the status of the answer says whose mistake it is.
func FuzzAdminAPI(f *testing.F) {
	mux := adminMux()
	provisionedIn(f, f.TempDir(), `{"rate_limits": {"user": {"key": "{http.request.header.X-Api-Key}", "limit": "5/1h",
		"tier": {"placeholder": "{http.auth.user.tier}", "tiers": {"pro": "9/1h"}}, "endpoints": [{"path": "/v1", "limit": "2/1h"}]}}}`)
	for _, seed := range [][3]string{
		{"POST", "/rate_limit/overrides", `{"zone": "user", "key": "a", "limit": "5/1h", "expires_in": "1h"}`},
		{"PATCH", "/rate_limit/rules", `{"overrides": [{"id": "1", "zone": "user", "key": "a", "multiplier": 2}]}`},
		{"PUT", "/rate_limit/rules", `{"zones": {"user": {"limit": "1/s", "tiers": {"pro": "2/s"}, "endpoints": {"/v1": {"limit": "1/s"}}}}}`},
		{"POST", "/rate_limit/tiers", `{"zone": "user", "key": "a", "tier": "pro"}`},
		{"POST", "/rate_limit/access", `{"action": "deny", "address": "192.0.2.0/24"}`},
		{"POST", "/rate_limit/zones/user/inspect", `{"key": "a", "tier": "pro"}`},
		{"POST", "/rate_limit/zones/user/reset", `{"keys": ["a", "b"]}`},
		{"POST", "/rate_limit/zones/user/quota", `{"key": "a", "events": 5}`},
		{"POST", "/rate_limit/rules/versions/0/rollback", `{"note": "x"}`},
		{"GET", "/rate_limit/rules/diff?from=1&to=0", ""},
		{"POST", "/rate_limit/emergency", `{"limit": "1/s", "all_nodes": true}`},
		{"GET", "/rate_limit/decisions?outcome=rejected&sample=5%25&for=1s&limit=3", ""},
		{"POST", "/rate_limit/decisions?zone=user", `{"key": "a"}`},
	} {
		f.Add(seed[0], seed[1], []byte(seed[2]), false)
	}
	f.Fuzz(func(t *testing.T, method, target string, body []byte, yaml bool) {
		address, err := url.Parse(target)
		if err != nil || !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, method) {
			return
		}
		r := httptest.NewRequest(method, "/rate_limit/", bytes.NewReader(body))
		r.URL.Path, r.URL.RawQuery = path.Clean("/"+address.Path), address.RawQuery
		r.Header.Set("If-Match", "*")
		r.Header.Set("Content-Type", "application/json")
		if yaml {
			r.Header.Set("Content-Type", "application/yaml")
		}
		if r.URL.Path == "/rate_limit/decisions" { // its answer lasts until the client leaves
			gone, leave := context.WithCancel(r.Context())
			leave()
			r = r.WithContext(gone)
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("%s %s with %q = %d %s", method, target, body, w.Code, w.Body)
		}
	})
}

func TestTailRequests(t *testing.T) {
	provisioned(t, `{"rate_limits": {"asked": {"key": "{http.request.header.X-Api-Key}", "limit": "2/1h"}}}`)
	mux := adminMux()
	for _, tc := range []struct {
		method, query, body string
		status              int
		says                string
	}{
		{"GET", "for=1ms", "", 200, `{"end":"duration"}`},
		{"GET", "zone=asked&zone=(emergency)&outcome=rejected&outcome=denied&sample=5%25&limit=9&for=1ms", "", 200, "duration"},
		{"HEAD", "", "", 200, ""},
		{"GET", "zone=askd", "", 400, `there is no zone "askd": use one of ["asked"]`},
		{"GET", "outcome=reject", "", 400, "did you mean rejected?"},
		{"GET", "outcomes=rejected", "", 400, "did you mean outcome?"},
		{"GET", "key=alice", "", 400, "use POST with a body"},
		{"GET", "key_hash=12", "", 400, "use POST with a body"},
		{"GET", "sample=5%", "", 400, "use %25 for a percent sign"},
		{"GET", "sample=NaN", "", 400, "use a fraction from 0 to 1"},
		{"GET", "sample=1.1", "", 400, "use a fraction from 0 to 1"},
		{"GET", "for=30", "", 400, "use one such as 30s"},
		{"GET", "for=601s", "", 400, "use more than 0s, and at most 10m"},
		{"GET", "for=-1s", "", 400, "use more than 0s, and at most 10m"},
		{"GET", "limit=0", "", 400, "use a number from 1"},
		{"POST", "for=1ms", `{"key": "alice"}`, 200, "duration"},
		{"POST", "for=1ms&zone=asked", `{"key_base64": "/w=="}`, 200, "duration"},
		{"POST", "for=1ms", `{"key": "192.0.2.1", "missing": true}`, 200, "duration"},
		{"POST", "", `{}`, 400, `key: zone "asked": the key is empty: use`},
		{"POST", "", `{"keys": ["a"]}`, 400, "An example is"},
		{"POST", "zone=(emergency)", `{"key": "alice"}`, 400, "use the name of a zone"},
		{"DELETE", "", "", 405, "use one of GET, HEAD, POST"},
	} {
		r := httptest.NewRequest(tc.method, "/rate_limit/decisions", strings.NewReader(tc.body))
		r.URL.RawQuery = tc.query
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.says) {
			t.Errorf("%s ?%s %s = %d %s, want %d %s", tc.method, tc.query, tc.body, w.Code, w.Body, tc.status, tc.says)
		}
	}
}

func TestTailNeedsZones(t *testing.T) {
	w := httptest.NewRecorder()
	adminMux().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/rate_limit/decisions", nil))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("answer before a configuration = %d %s, want 503", w.Code, w.Body)
	}
}

// Overrides are found by their key, however the rules write it.
func TestOverridesOfKey(t *testing.T) {
	mux := adminMux()
	h, _ := provisionedIn(t, t.TempDir(), `{"rate_limits": {"looked-up": {"key": "{http.request.header.X-Api-Key}", "limit": "5/1h"}}}`)
	if err := h.update(t, `{"overrides": [
		{"id": "text", "zone": "looked-up", "key": "a", "limit": "6/1h"},
		{"id": "base64", "zone": "looked-up", "key_base64": "Yg==", "limit": "7/1h"}]}`); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"a": `"id":"text"`, "b": `"id":"base64"`, "c": `"overrides":[]`} {
		r := httptest.NewRequest(http.MethodPost, "/rate_limit/zones/looked-up/overrides", strings.NewReader(`{"key": "`+key+`"}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) || strings.Count(w.Body.String(), `"id"`) > 1 {
			t.Errorf("overrides of %q: %d %s, want only %s", key, w.Code, w.Body, want)
		}
	}
}
