package gateway

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

// An error quotes what is wrong, but only the beginning of it if it is long.
func TestLongErrors(t *testing.T) {
	provisioned(t, `{"rate_limits": {"user": {"key": "{http.request.header.X-Api-Key}", "limit": "2/1h"}}}`)
	mux := adminMux()
	long := strings.Repeat("a", 60_000)
	for path, body := range map[string]string{
		"/rate_limit/overrides":          `{"zone": "` + long + `", "key": "a", "limit": "5/1h"}`,
		"/rate_limit/zones/user/inspect": `{"` + long + `": 1}`,
		"/rate_limit/zones/user/reset":   `{"key": "a", "endpoint": "` + long + `"}`,
		"/rate_limit/access":             `{"action": "` + long + `", "address": "192.0.2.1"}`,
		"/rate_limit/" + long:            "",
		"/rate_limit/plan":               `{"apps": {"rate_limit": {"tiers": {"` + long + `": null}}}}`,
	} {
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if n := w.Body.Len(); w.Code < 400 || w.Code > 499 || n > 4100 || !strings.Contains(w.Body.String(), "use ") {
			t.Errorf("POST %.40s = %d with %d bytes %.200q, want an error of at most 4100 bytes", path, w.Code, n, w.Body)
		}
	}

	for _, text := range []string{
		`{"zones": {"` + long + `": {"key": "static", "limit": "1/m"}}}`,
		`{"zones": {"z": {"key": "static", "limit": "` + long + `"}}}`,
		`{"` + long + `": 1}`,
	} {
		err := caddy.Validate(&caddy.Config{
			Admin: &caddy.AdminConfig{Disabled: true}, AppsRaw: caddy.ModuleMap{"rate_limit": []byte(text)},
		})
		if err == nil || len(err.Error()) > 4400 || !strings.Contains(err.Error(), "use ") {
			t.Errorf("loading %.60s: %.200v, want an error of at most 4400 bytes", text, err)
		}
	}
}
