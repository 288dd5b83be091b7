package placeholder

import (
	"strings"
	"testing"
)

func TestCheckTextAccepts(t *testing.T) {
	for _, text := range []string{
		"", "static", "all", "a", "everyone", "global", "api", "login", "user", "tenant", "token", "key", "site-wide", "all requests",
		"api:v1", "v1/search", "zone_1", "ship", "www", "über", "*", "x", "per-user",
	} {
		if err := CheckText(text); err != nil {
			t.Errorf("CheckText(%q) = %v", text, err)
		}
	}
}

func TestCheckTextRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"client_ip":                     "use {client_ip}",
		"remote_host":                   "use {remote_host}",
		"host":                          "use {host}",
		"path":                          "use {path}",
		"remote":                        "use {client_ip}",
		"uuid":                          "use {client_ip}",
		"header.X-Api-Key":              "use {header.X-Api-Key}",
		"query.key":                     "use {query.key}",
		"vars.plan":                     "use {vars.plan}",
		"http.request.remote.host":      "use {http.request.remote.host}",
		"http.request.header.X-Api-Key": "use {http.request.header.X-Api-Key}",
		"http.vars.client_ip":           "use {http.vars.client_ip}",
		"http.request.headers.X":        "use {http.request.header.X}",
		"http.auth.user.id":             "use {http.auth.user.id}",
		"client.ip":                     "use {client_ip}",
		"env.HOME":                      "use a placeholder such as",
		"X-Api-Key":                     "use {header.X-Api-Key}",
		"X-Api-Key.foo":                 "use {header.X-Api-Key.foo}",
		"X-Forwarded-For":               "use {client_ip}",
		"CF-Connecting-IP":              "use {header.CF-Connecting-IP}",
		"Authorization":                 "use {header.Authorization}",
		"header":                        "use {header.<name>}",
		"api_key":                       "use {header.X-Api-Key}",
		"ip":                            "use {client_ip}",
		"IP":                            "use {client_ip}",
		"per_ip":                        "use {client_ip}",
		"remote_ip":                     "use {client_ip}",
		"$client_ip":                    "use {client_ip}",
		"$remote_addr":                  "use {client_ip}",
		"$binary_remote_addr":           "use {client_ip}",
		"$http_x_api_key":               "use {header.x-api-key}",
		"<client_ip>":                   "use {client_ip}",
		"[client_ip]":                   "use {client_ip}",
		"(client_ip)":                   "use {client_ip}",
		"%client_ip%":                   "use {client_ip}",
		"client_ip}":                    "use {client_ip}",
		`{client_ip}`:                   "use {client_ip}",
		"api.example.com":               "has no placeholder",
		"ip(client)":                    "has no placeholder",
		"@partners":                     "has no placeholder",
		"$tenant":                       "has no placeholder",
		"user_id":                       "has no placeholder",
		"a}b":                           "has no placeholder",
	} {
		if err := CheckText(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("CheckText(%q) = %v, want an error that says %q", text, err, want)
		}
	}
}
