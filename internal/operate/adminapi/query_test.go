package adminapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestCheckQuery(t *testing.T) {
	for _, tc := range []struct{ path, method, query, want string }{ // "" if the query is accepted
		{"/rate_limit/overrides", "GET", "zone=a&limit=5", ""},
		{"/rate_limit/overrides", "POST", "dry_run=true&note=x&author=me", ""},
		{"/rate_limit/overrides", "GET", "zones=a", "zone"},
		{"/rate_limit/overrides", "POST", "dryrun=true", "dry_run"},
		{"/rate_limit/status", "GET", "zone=a", "use none"},
		{"/rate_limit/zones/{zone}/reset", "POST", "dry_run=true", "author"},
		{"/rate_limit/zones/{zone}/inspect", "POST", "key=k", "use POST with a body"},
		{"/rate_limit/decisions", "GET", "key=k", "use POST with a body"},
		{"/rate_limit/decisions", "GET", "zone=a&zone=b&sample=5%25", ""},
		{"/rate_limit/status", "GET", "a=%zz", "use %25"},
	} {
		err := checkQuery(tc.path, tc.method, httptest.NewRequest(tc.method, "/?"+tc.query, nil))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || statusOf(t, err) != 400) {
			t.Errorf("%s %s?%s: error = %v, want 400 with %q", tc.method, tc.path, tc.query, err, tc.want)
		}
	}
}

// Every route has its parameters, so that none is refused by mistake.
func TestQueryParametersOfRoutes(t *testing.T) {
	for path, methods := range routes {
		for method := range methods {
			if _, found := queryParameters()[path][method]; !found {
				t.Errorf("openapi.json has no %s %s", method, path)
			}
		}
	}
	if got := queryParameters()["/rate_limit/overrides/{id}"][http.MethodPatch]; len(got) != 3 {
		t.Errorf("parameters of PATCH of an override = %q, want three", got)
	}
}
