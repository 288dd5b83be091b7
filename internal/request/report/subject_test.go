package report

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// The path is the one in the access log, and a client cannot fill the log with it.
func TestDescribeRequestOfClient(t *testing.T) {
	long := "/" + strings.Repeat("a", 1<<20)
	for path, want := range map[string]string{"/v1": "/v1", long: long[:512] + "..."} {
		r := httptest.NewRequest(http.MethodGet, "/rewritten", nil)
		original := http.Request{Method: "PUT", URL: &url.URL{Path: path}}
		ctx := context.WithValue(r.Context(), caddyhttp.OriginalRequestCtxKey, original)
		ctx = context.WithValue(ctx, caddyhttp.VarsCtxKey, map[string]any{caddyhttp.ClientIPVarKey: "198.51.100.7"})
		got := Subject{Request: r.WithContext(ctx)}.describe(nil)
		if got.Method != "PUT" || got.Path != want || got.RemoteIP != "192.0.2.1" || got.ClientIP != "198.51.100.7" || got.KeyHash != "" {
			t.Errorf("a request to %.20s that was rewritten is %+v, want PUT and %.20s", path, got, want)
		}
	}
}
