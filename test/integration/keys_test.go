package integration

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"testing"
)

// Zones that skip or deny requests without a key do not show that a placeholder has a wrong name. Only the
// log tells a wrong name from a request without a key.
func TestUnknownPlaceholderIsLogged(t *testing.T) {
	for _, test := range []struct {
		settings string
		status   int
	}{
		{"on_missing_key skip", 200}, {"on_missing_key deny", 403},
	} {
		t.Run(test.settings, func(t *testing.T) {
			g := serve(t, `
				map {header.X-Plan} {plan} {
					default ""
				}
				rate_limit {
					zone defined {
						key {plan}
						on_missing_key skip
						limit 1/1h
					}
					zone user {
						key {jwt.sub}
						`+test.settings+`
						limit 1/1h
					}
				}
				respond "hello"
			`)
			for range 3 {
				g.get("/").is(test.status)
			}
			entries := g.logged("nothing provides a placeholder of the zone")
			if len(entries) != 1 || entries[0]["level"] != "error" || entries[0]["zone"] != "user" ||
				entries[0]["placeholder"] != "{jwt.sub}" || entries[0]["did_you_mean"] != "{http.auth.user.id}" {
				t.Errorf("logged = %v, want one error that names {jwt.sub}", entries)
			}
			if n := g.metric(`caddy_rate_limit_unprovided_placeholders{zone="user"}`); n != 1 {
				t.Errorf("%v placeholders of the zone are unprovided, want 1", n)
			}
		})
	}
}

func TestLegacyKeyMistakesAreWarnedAbout(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone text {
				key client_ip
				events 2
				window 1h
			}
			zone unknown {
				key {remote_ip}
				events 5
				window 1h
			}
		}
		respond "hello"
	`)
	warned := g.logged("the zone is probably not what was meant")
	if len(warned) != 2 || warned[0]["level"] != "warn" || warned[0]["zone"] != "text" || warned[1]["zone"] != "unknown" {
		t.Errorf("logged = %v, want one warning for each zone", warned)
	}
	g.get("/", "X-Forwarded-For: 192.0.2.1").is(200)
	g.get("/", "X-Forwarded-For: 192.0.2.2").is(200)
	g.get("/", "X-Forwarded-For: 192.0.2.3").is(429) // one count for all, as in caddy-ratelimit
}

func TestHeadersWithAddressesCountByPrefix(t *testing.T) {
	for _, test := range []struct {
		name, key, settings, one, other string
		shared                          bool
	}{
		{"IPv6 by /64", "CF-Connecting-IP", "", "2001:db8:0:1::1", "2001:db8:0:1:ffff::2", true},
		{"beyond the /64", "CF-Connecting-IP", "", "2001:db8:0:1::1", "2001:db8:0:2::1", false},
		{"whole IPv6", "CF-Connecting-IP", "ipv6_prefix 128", "2001:db8::1", "2001:db8::2", false},
		{"ports", "X-Real-IP", "", "192.0.2.1:4711", "192.0.2.1:4712", true},
		{"another header", "X-Api-Key", "", "2001:db8::1", "2001:db8::2", false},
		{"caddy-ratelimit", "CF-Connecting-IP", "legacy", "2001:db8::1", "2001:db8::2", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			limit := "limit 1/1h\n" + test.settings
			if test.settings == "legacy" {
				limit = "events 1\nwindow 1h"
			}
			g := serve(t, "rate_limit {\nzone ip {\nkey {header."+test.key+"}\n"+limit+"\n}\n}\nrespond hello")
			g.get("/", test.key+": "+test.one).is(200)
			want := 200
			if test.shared {
				want = 429
			}
			g.get("/", test.key+": "+test.other).is(want)
		})
	}
}

func TestUnixSocket(t *testing.T) {
	for _, test := range []struct {
		name, options string
		other         int // the status of a request from another address
		warnings      int
	}{
		{"no address", "", 429, 1},
		{"trusted", "servers {\ntrusted_proxies_unix\n}", 200, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := newGateway(t)
			socket := filepath.Join(t.TempDir(), "caddy.sock")
			g.mustLoad(unixCaddyfile(g, test.options, socket))
			client := &http.Client{Transport: &http.Transport{
				DisableKeepAlives: true,
				DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
					return new(net.Dialer).DialContext(ctx, "unix", socket)
				},
			}}
			for _, request := range []struct {
				address string
				status  int
			}{{"192.0.2.1", 200}, {"192.0.2.1", 429}, {"192.0.2.2", test.other}} {
				r, err := http.NewRequest(http.MethodGet, "http://localhost/", nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("X-Forwarded-For", request.address)
				resp, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				if resp.StatusCode != request.status {
					t.Errorf("status for %s = %d, want %d", request.address, resp.StatusCode, request.status)
				}
			}
			if n := len(g.logged("requests have no client address")); n != test.warnings {
				t.Errorf("warnings = %d, want %d", n, test.warnings)
			}
			if n := len(g.logged("counted by the client's address")); n != 0 {
				t.Errorf("%d log lines speak of the client's address", n)
			}
		})
	}
}

// unixCaddyfile returns a configuration with a site on a Unix socket.
func unixCaddyfile(g *gateway, options, socket string) string {
	return "{\nadmin " + adminAddr + "\npersist_config off\nauto_https off\nlog {\noutput file " + g.logFile +
		" {\nroll_disabled\n}\nformat json\n}\n" + options + "\n}\nhttp://localhost {\nbind unix/" + socket +
		"\nrate_limit {\nzone ip {\nkey {client_ip}\nlimit 1/1h\n}\n}\nrespond hello\n}\n"
}
