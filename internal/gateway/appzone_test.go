package gateway

import (
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

// provisionWithApp provisions a handler and the app of a whole configuration.
func provisionWithApp(t *testing.T, app, handler string) error {
	t.Helper()
	config := new(caddy.Config)
	err := caddy.StrictUnmarshalJSON([]byte(`{"admin":{"disabled":true},"apps":{"rate_limit":`+app+`,"http":{"servers":{"s":{
		"listen":["127.0.0.1:0"],"routes":[{"handle":[`+handler+`]}]}}}}}`), config)
	if err != nil {
		t.Fatal(err)
	}
	return caddy.Validate(config)
}

func TestUseOfAppZone(t *testing.T) {
	const app = `{"zones":{"user":{"key":"{http.vars.client_ip}","limit":"10/1m","place":"Caddyfile:3"}}}`
	for _, tc := range []struct{ app, zone, want string }{
		{app, `"user":{}`, ""},
		{app, `"user":null`, ""},
		{app, `"user":{"place":"Caddyfile:9"}`, ""},
		{app, `"user":{"match":[{"method":["GET"]}]}`, ""},
		{app, `"user":{"limit":"10/1m","key":"{http.vars.client_ip}","place":"Caddyfile:9"}`, ""}, // the definition of the app
		{app, `"user":{"limit":"11/1m","key":"{http.vars.client_ip}","place":"Caddyfile:9"}`,
			"use only `match` here to have the definition of the app, or another name; the other, at Caddyfile:3, is"},
		{app, `"user":{"limit":"11/1m","key":"{http.vars.client_ip}","place":"Caddyfile:9"}`, ", at Caddyfile:9"},
		{app, `"users":{"place":"Caddyfile:9"}`, `zone "users": is not defined: did you mean user?`},
		{app, `"other":{}`, "is not defined: use a block with `key` and `limit`"},
		{`{"zones":{"user":null}}`, `"user":{}`, `zone "user": is empty: use at least`},
		{`{"zones":{"user":{}}}`, `"own":{"key":"static","limit":"1/s"}`, `zone "user": is empty: use at least`},
		{`{"zones":{"user":{"key":"static","place":"Caddyfile:3"}}}`, `"user":{}`, "no limit: use one, such as `limit 100/1m`, at Caddyfile:3"},
	} {
		err := provisionWithApp(t, tc.app, `{"handler":"rate_limit","rate_limits":{`+tc.zone+`}}`)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s with the app %s: %v, want %q", tc.zone, tc.app, err, tc.want)
		}
	}
	if got := zonesInUse(); len(got) != 0 {
		t.Errorf("zones in use after all were validated = %d, want 0", len(got))
	}
}
