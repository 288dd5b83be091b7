package fleetlimit

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	_ "github.com/caddyserver/caddy/v2/modules/filestorage"
)

// statusOf returns the status that Caddy answers an error of the admin API with, 200 for nil.
func statusOf(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return http.StatusOK
	}
	var answer caddy.APIError
	if !errors.As(err, &answer) {
		t.Fatalf("the error is a %T, want a caddy.APIError", err)
	}
	return answer.HTTPStatus
}

func TestReadJSON(t *testing.T) {
	const json = "application/json"
	for _, tc := range []struct {
		contentType, body string
		want              int
	}{
		{json, `{"limit": "1/s"}`, 200},
		{json + "; charset=utf-8", " {} \n", 200},
		{"Application/JSON", "{}", 200},
		{json, "", 400},
		{json, `{"other": 1}`, 400},
		{json, `{} {}`, 400},
		{json, `"text"`, 400},
		{json, `{"reason": "` + strings.Repeat("x", maxAdminBody) + `"}`, 413},
		{json, `{}` + strings.Repeat(" ", maxAdminBody), 413},
		{"", "{}", 415},
		{"text/plain", "{}", 415},
		{"application/json-patch+json", "{}", 415},
		{"application/x-www-form-urlencoded", "{}", 415},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(tc.body))
		r.Header.Set("Content-Type", tc.contentType)
		err := readJSON(httptest.NewRecorder(), r, new(emergencyRequest), exampleEmergency)
		if got := statusOf(t, err); got != tc.want {
			t.Errorf("%q with %.40q = %d (%v), want %d", tc.contentType, tc.body, got, err, tc.want)
		}
	}
}

func TestIfMatch(t *testing.T) {
	for _, tc := range []struct {
		lines  []string
		want   int64 // -1: any
		found  bool
		status int
	}{
		{nil, -1, false, 200},
		{[]string{"*"}, -1, true, 200},
		{[]string{`"12"`}, 12, true, 200},
		{[]string{` "0" `}, 0, true, 200},
		{[]string{`W/"12"`}, -1, true, 412},
		{[]string{`12`}, -1, true, 412},
		{[]string{`"012"`}, -1, true, 412},
		{[]string{`""`}, -1, true, 412},
		{[]string{`"1", "2"`}, -1, true, 400},
		{[]string{`"1"`, `"2"`}, -1, true, 400},
	} {
		r := httptest.NewRequest(http.MethodPut, "/", nil)
		r.Header["If-Match"] = tc.lines
		version, found, err := ifMatch(r)
		got := int64(-1)
		if version != nil {
			got = *version
		}
		if got != tc.want || found != tc.found || statusOf(t, err) != tc.status {
			t.Errorf("%q = %d, %t, %v, want %d, %t and status %d", tc.lines, got, found, err, tc.want, tc.found, tc.status)
		}
	}
}

func TestClientOf(t *testing.T) {
	r := httptest.NewRequest(http.MethodPut, "/", nil)
	r.RemoteAddr = "192.0.2.1:5"
	check := func(want string) {
		t.Helper()
		if got := clientOf(r); got != want {
			t.Errorf("client = %q, want %q", got, want)
		}
	}
	check("192.0.2.1:5")
	certificate := &x509.Certificate{SerialNumber: big.NewInt(7)}
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{certificate}}
	check("certificate 7")
	certificate.Subject = pkix.Name{CommonName: "alice", Organization: []string{"ops"}}
	check("CN=alice,O=ops")
}

// Whatever is sent to the admin API, it answers with a status that says whose mistake it is.
func FuzzAdminAPI(f *testing.F) {
	mux := adminMux()
	startWithStorage(f, f.TempDir(), `{"rate_limits": {"user": {"key": "{http.request.header.X-Api-Key}", "limit": "5/1h",
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
		if r.URL.Path == "/rate_limit/decisions" { // whose answer lasts as long as its client
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

// startWithStorage starts a handler whose rules are in a directory, until the test ends.
func startWithStorage(tb testing.TB, dir, config string) {
	tb.Helper()
	ctx, err := caddy.ProvisionContext(&caddy.Config{
		Admin:      &caddy.AdminConfig{Disabled: true},
		StorageRaw: json.RawMessage(fmt.Sprintf(`{"module": "file_system", "root": %q}`, dir)),
	})
	if err != nil {
		tb.Fatal(err)
	}
	h := new(Handler)
	if err := json.Unmarshal([]byte(config), h); err != nil {
		tb.Fatal(err)
	}
	if err := h.Provision(ctx); err != nil {
		tb.Fatal(err)
	}
	if err := h.app.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = h.app.Stop()
		_ = h.Cleanup()
		_ = h.app.Cleanup()
	})
}
