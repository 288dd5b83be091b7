package command

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// A shell gets the names of zones, tiers, endpoints and entries from the Caddy that runs.
func TestCompletion(t *testing.T) {
	answers := map[string]string{
		"/rate_limit/zones": `{"zones": [
			{"name": "user", "limits": [{"tiers": [{"tier": ""}, {"tier": "pro"}, {"tier": "free"}]},
				{"endpoint": "POST /v1/*", "tiers": [{"tier": "pro"}]}]},
			{"name": "ip", "limits": [{"tiers": [{"tier": "gold"}]}, {"endpoint": "/login", "tiers": []}]}]}`,
		"/rate_limit/overrides": `{"overrides": [{"id": "launch"}, {"id": "acme"}]}`,
		"/rate_limit/tiers":     `{"tiers": [{"id": "t1"}]}`,
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, answers[r.URL.Path])
	}))
	defer api.Close()
	running := strings.TrimPrefix(api.URL, "http://")
	for _, tc := range []struct{ address, command, want string }{
		{running, "inspect |", "ip user"},
		{running, "inspect user |", ""},
		{running, "inspect user --endpoint |", "POST /v1/*"},
		{running, "inspect user k --tier |", "free pro"},
		{running, "override add --endpoint |", "/login POST /v1/*"},
		{running, "override list --zone |", "ip user"},
		{running, "override show |", "acme launch"},
		{running, "override change |", "acme launch"},
		{running, "override remove |", "acme launch"},
		{running, "override remove acme |", ""},
		{running, "override remove --zone ip --endpoint |", "/login"},
		{running, "tier add |", "ip user"},
		{running, "tier add ip |", "gold"},
		{running, "tier add ip gold |", ""},
		{running, "tier change t1 --tier |", "free gold pro"},
		{running, "tier remove |", "t1"},
		{redistest.FreeAddr(), "inspect |", ""},
	} {
		args := strings.Split(strings.Replace(tc.command, "|", "", 1), " ")
		args = append([]string{"__complete", "--address", tc.address}, args...)
		var out bytes.Buffer
		cmd := rateLimitCommand()
		cmd.SetArgs(args)
		cmd.SetOut(&out)
		cmd.SetErr(io.Discard)
		if err := cmd.Execute(); err != nil {
			t.Errorf("%s: %v", tc.command, err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if got := strings.Join(lines[:len(lines)-1], " "); got != tc.want || lines[len(lines)-1] != ":4" {
			t.Errorf("%s: completions = %q, want %q and no files", tc.command, lines, tc.want)
		}
	}
}
