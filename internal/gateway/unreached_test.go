package gateway

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

// `caddy validate` refuses a handler that no request reaches, as the start does: in plain routes,
// in nested ones, and in those for errors.
func TestValidateRefusesUnreached(t *testing.T) {
	const (
		respond = `{"handler":"static_response"}`
		limited = `{"handler":"rate_limit","rate_limits":{"z":{"key":"static","limit":"10/1m"}}}`
	)
	validate := func(server string) error {
		var cfg caddy.Config
		text := `{"admin":{"disabled":true},"apps":{"http":{"servers":{"s":{"listen":["127.0.0.1:0"],"automatic_https":{"disable":true},` + server + `}}}}}`
		if err := json.Unmarshal([]byte(text), &cfg); err != nil {
			t.Fatal(err)
		}
		return caddy.Validate(&cfg)
	}
	route := func(handlers string) string { return `"routes":[{"handle":[` + handlers + `]}]` }
	for _, server := range []string{
		route(respond + "," + limited),
		route(`{"handler":"subroute",` + route(respond+","+limited) + `}`),
		`"routes":[{"handle":[` + respond + `]},{"handle":[` + limited + `]}]`,
		`"errors":{` + route(respond+","+limited) + `}`,
	} {
		if err := validate(server); err == nil || !strings.Contains(err.Error(), "limits nothing") {
			t.Errorf("%s: %v", server, err)
		}
	}
	if err := validate(route(limited + "," + respond)); err != nil {
		t.Error(err)
	}
}
