package placeholder

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestNamesAreCaddys checks that Caddy still has all names, and that lists are in order.
func TestNamesAreCaddys(t *testing.T) {
	for _, name := range names {
		if !Provided(strings.TrimSuffix(example(name), "<name>") + strings.Repeat("x", strings.Count(name, "<"))) {
			t.Errorf("Caddy has no placeholder {%s}", example(name))
		}
	}
	for _, word := range shorthands {
		full := word
		if strings.HasSuffix(word, ".") {
			full += "x"
		}
		if Long(full) == full {
			t.Errorf("{%s} is not a shorthand of the Caddyfile", full)
		}
	}
	for _, list := range [][]string{
		shorthands, names, closed, sometimes, perConnection, perRequest, chosenPerRequest, requestHeaders, addressWords, headerWords,
	} {
		if !slices.IsSorted(list) {
			t.Errorf("%q is not sorted", list)
		}
	}
}

func TestLong(t *testing.T) {
	for name, want := range map[string]string{
		"client_ip":        "http.vars.client_ip",
		"remote_host":      "http.request.remote.host",
		"header.X-Api-Key": "http.request.header.X-Api-Key",
		"re.name.1":        "http.regexp.name.1",
		"http.request.uri": "http.request.uri",
		"my_tier":          "my_tier",
	} {
		if got := Long(name); got != want {
			t.Errorf("Long(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestCheckAcceptsWhatMayExist(t *testing.T) {
	for _, name := range []string{
		"http.request.header.X-Api-Key", "http.request.header.X.Dotted", "http.request.cookie.sid", "http.request.uri.query.q",
		"http.request.uri.path.0", "http.request.uri.path.file.ext", "http.request.orig_uri.path.2", "http.request.host.labels.1",
		"http.request.tls.client.san.emails.0", "http.request.tls.client.subject", "http.request.tls.server_name",
		"http.request.remote.host/24,64", "http.vars.client_ip", "http.vars.anything", "http.regexp.name.1", "http.regexp.1",
		"http.matchers.file.relative", "http.error.status_code", "http.reverse_proxy.header.X-User", "http.auth.user.id",
		"http.auth.user.plan", "http.intercept.status_code", "http.url_pattern.pathname.id", "http.shutting_down",
		"env.HOME", "file./etc/hostname", "system.os", "time.now.year", "http.rate_limit.exceeded.name",
		"http.request.uri.query.q.", "http.vars.v.", "http.request.cookie.c.", "http.request.header.X.", "env.A.", "file./etc/a.",
		"my_tier", "tier", "plan", "real_ip", "client_id", "user", "header", "geoip.country_code", "geoip2.country_code",
		"json.user.id", "jwt.sub", "extra.rand.float", "http.request_id", "http.floaty.id",
		// Known plugins have these placeholders in a namespace of Caddy.
		"http.request.host.cname", "http.request.body.name", "http.request.body.id", "http.request.bodyhash",
		"http.request.contentlength", "http.request.cost", "http.request.post", "http.request.ja3",
	} {
		if err := Check(name); err != nil {
			t.Errorf("Check(%q) = %v", name, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	for name, want := range map[string]string{
		"http.regexp.":                       "use a name after the dot",
		"http.regexp":                        "use a name after the dot",
		"http.reverse_proxy.header.":         "use a name after the dot",
		"http.":                              "use a name after the dot",
		"my_tier.":                           "use a name after the dot",
		".":                                  "use a name after the dot",
		"remote_ip":                          "use {client_ip}",
		"remote_addr":                        "use {client_ip}",
		"remote.ip":                          "use {client_ip}",
		"client.ip":                          "use {client_ip}",
		"clientip":                           "use {client_ip}",
		"Client-IP":                          "use {client_ip}",
		"remote.host":                        "use {remote_host}",
		"http.client_ip":                     "use {client_ip}",
		"http.remote_ip":                     "use {client_ip}",
		"http.ip":                            "use {client_ip}",
		"http.remote_host":                   "use {remote_host}",
		"http.host":                          "use {host}",
		"http.header.X-Api-Key":              "use {header.X-Api-Key}",
		"http.headers.X-Api-Key":             "use {http.request.header.X-Api-Key}",
		"request.header.X-Api-Key":           "use {header.X-Api-Key}",
		"req.headers.X-Api-Key":              "use {http.request.header.X-Api-Key}",
		"headers.X-Api-Key":                  "use {http.request.header.X-Api-Key}",
		"header.X.Dotted":                    "use {http.request.header.X.Dotted}",
		"cookies.sid":                        "use {http.request.cookie.sid}",
		"http.request.client_ip":             "use {client_ip}",
		"http.request.ip":                    "use {client_ip}",
		"http.request.remote_ip":             "use {client_ip}",
		"http.request.remote.ip":             "use {client_ip}",
		"http.request.remote.addr":           "use {client_ip}",
		"http.request.remote_host":           "use {remote_host}",
		"http.request.remote.foo":            "use {http.request.remote.host} or {http.request.remote.port}",
		"http.request.header":                "use {http.request.header.<name>}",
		"http.request.headers.X":             "use {http.request.header.X}",
		"http.request.hedaer.X-Api-Key":      "use {http.request.header.X-Api-Key}",
		"http.request.Header.X":              "use {http.request.header.X}",
		"HTTP.Request.Host":                  "use {host}",
		"http.request.header.X Y":            "is not a header",
		"http.request.header.X-Api-Key:none": "is not a header",
		"http.request.cookies.sid":           "use {http.request.cookie.sid}",
		"http.request.query.q":               "use {query.q}",
		"http.request.uri.qurey.q":           "use {http.request.uri.query.q}",
		"http.request.url":                   "use {http.request.uri}",
		"http.request.metod":                 "use {http.request.method}",
		"http.request.uri.path.x":            "use {http.request.uri.path}",
		"http.request.tls.client.subjects":   "use {http.request.tls.client.subject}",
		"http.request.host.labels.x":         "use {http.request.host.labels.0}",
		"http.auth.user":                     "use {http.auth.user.id}",
		"http.response.header.X-Plan":        "empty until the response is written",
		"http.response.status":               "empty until the response is written",
		">X-Api-Key":                         "use {header.X-Api-Key}",
		"~sid":                               "use {cookie.sid}",
		"X-Api-Key":                          "use {header.X-Api-Key}",
		"Authorization":                      "use {header.Authorization}",
		"http.request.X-Api-Key":             "use {header.X-Api-Key}",
		"header:X-Api-Key":                   "use {http.request.header.X-Api-Key}",
		"header[X-Api-Key]":                  "use {http.request.header.X-Api-Key}",
		"header.X-Api-Key:-anonymous":        "use {http.request.header.<name>}",
		"client_ip|remote_host":              "neither defaults nor alternatives",
		"user_id:none":                       "neither defaults nor alternatives",
		"%client_ip":                         "use {client_ip}",
		"client_ip/24":                       "use {client_ip}, and `ipv4_prefix`",
		"args[0]":                            "argument of a snippet",
		"uri.path":                           "use {http.request.uri.path}",
		"host.labels.2":                      "use {http.request.host.labels.2}",
		"tls.server_name":                    "use {http.request.tls.server_name}",
		"system.host":                        "use {system.arch}, {system.hostname}",
		"time.hour":                          "{time.now.year}",
	} {
		if err := Check(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check(%q) = %v, want an error that says %q", name, err, want)
		}
	}
}

func TestFrequencyOf(t *testing.T) {
	for name, want := range map[string]Frequency{
		"http.request.uuid":           PerRequest,
		"time.now.unix":               PerRequest,
		"http.request_id.long":        PerRequest,
		"extra.rand.int.0-9":          PerRequest,
		"http.request.remote":         PerConnection,
		"http.request.remote.port":    PerConnection,
		"http.request.remote.host":    Stable,
		"http.request.remote.host/24": Stable,
		"time.now.year":               Stable,
		"http.request.tls.resumed":    Stable,
	} {
		if got := FrequencyOf(name); got != want {
			t.Errorf("FrequencyOf(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestSometimes(t *testing.T) {
	for name, want := range map[string]bool{
		"http.regexp.name.1": true, "http.auth.user.id": true, "http.error.status_code": false, "my_tier": false,
		"http.vars.plan": false,
	} {
		if got := Sometimes(name); got != want {
			t.Errorf("Sometimes(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestNamesRequest(t *testing.T) {
	for name, want := range map[string]bool{
		"http.request.header.X-Request-ID": true, "http.request.header.cf-ray": true, "http.request.header.X-Api-Key": false,
		"http.vars.X-Request-Id": false,
	} {
		if got := NamesRequest(name); got != want {
			t.Errorf("NamesRequest(%q) = %v, want %v", name, got, want)
		}
	}
	for _, field := range requestHeaders {
		if http.CanonicalHeaderKey(field) != field {
			t.Errorf("%s is not how net/http writes it", field)
		}
	}
}
