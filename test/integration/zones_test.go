package integration

import "testing"

const respondRemaining = `respond "{http.rate_limit.user.remaining} {http.rate_limit.tenant.remaining} {http.rate_limit.ip.remaining}"`

func TestZonesDecideTogether(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone user {
				key {header.X-User}
				limit 3/1h
			}
			zone tenant {
				key {header.X-Tenant}
				limit 5/1h
			}
			zone ip {
				key {client_ip}
				limit 100/1h
			}
		}
		`+respondRemaining)
	left := func(r *reply, want string) {
		t.Helper()
		if r.is(200); r.body != want {
			t.Errorf("remaining of user, tenant and ip = %q, want %q", r.body, want)
		}
	}
	left(g.get("/", "X-User: alice", "X-Tenant: acme"), "2 4 99")
	left(g.get("/", "X-User: alice", "X-Tenant: acme"), "1 3 98")
	left(g.get("/", "X-User: alice", "X-Tenant: acme"), "0 2 97")
	for range 10 { // a denial by user charges neither tenant nor ip
		r := g.get("/", "X-User: alice", "X-Tenant: acme").rejected()
		if got := r.limits(); got["user"].r != 0 || got["tenant"].r != 2 || got["ip"].r != 97 {
			t.Errorf("RateLimit = %+v, want user r=0, tenant r=2, ip r=97", got)
		}
	}
	left(g.get("/", "X-User: bob", "X-Tenant: acme"), "2 1 96")
	left(g.get("/", "X-User: carol", "X-Tenant: acme"), "2 0 95")
	for range 10 { // a denial by tenant does not charge user
		g.get("/", "X-User: bob", "X-Tenant: acme").rejected()
	}
	left(g.get("/", "X-User: bob", "X-Tenant: other"), "1 4 94")
}

func TestTwoLimitsOfOneKey(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone second {
				key {header.X-User}
				limit 10/10m
			}
			zone hour {
				key {header.X-User}
				limit 1000/1h
			}
		}
		respond "hello"
	`)
	for n := range 10 {
		g.get("/", "X-User: alice").admitted(9 - n)
	}
	r := g.get("/", "X-User: alice").rejected().has("X-RateLimit-Limit", "10")
	if got := r.limits()["hour"].r; got != 990 {
		t.Errorf("remaining of the hour = %d, want 990", got)
	}
}

func TestRejectionShowsLongestWait(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone a_day {
				key all
				limit 1/1d
			}
			zone b_hour {
				key all
				limit 1/1h
			}
		}
		respond "hello"
	`)
	g.get("/").is(200)
	r := g.get("/").rejected()
	if s := r.retryAfter(); s < 86000 || s > 86400 {
		t.Errorf("Retry-After = %d, want a day", s)
	}
	if got := r.limits(); got["a_day"].r != 0 || got["b_hour"].r != 0 || got["b_hour"].t > 3600 {
		t.Errorf("RateLimit = %+v, want r=0 for both, with different t", got)
	}
}

func TestMatchersSelectZones(t *testing.T) {
	g := serve(t, `
		@api path /api/*
		rate_limit @api {
			zone writes {
				match {
					method POST PUT
				}
				match {
					header X-Heavy yes
				}
				key all
				limit 2/1h
			}
		}
		respond "hello"
	`)
	g.get("/api/x").is(200).lacks("RateLimit")
	g.request("POST", "/other").is(200).lacks("RateLimit")
	g.request("POST", "/api/x").admitted(1)
	g.get("/api/x", "X-Heavy: yes").admitted(0)
	g.request("PUT", "/api/x").rejected()
}

func TestMissingKeys(t *testing.T) {
	for _, test := range []struct {
		setting      string
		first, other int // the statuses of a second request from the address, and of one from another address
		warnings     int // there are warnings only about the default
	}{
		{"", 429, 200, 1},
		{"on_missing_key {client_ip}", 429, 200, 0},
		{"on_missing_key shared", 429, 429, 0},
		{"on_missing_key {header.X-Device}", 429, 200, 0},
		{"on_missing_key skip", 200, 200, 0},
		{"on_missing_key deny", 403, 403, 0},
	} {
		t.Run(test.setting, func(t *testing.T) {
			g := serve(t, `
				rate_limit {
					zone user {
						key {header.X-User}
						`+test.setting+`
						limit 1/1h
					}
				}
				respond "hello"
			`)
			one := []string{"X-Forwarded-For: 192.0.2.1", "X-Device: 1"}
			g.get("/", one...)
			g.get("/", one...).is(test.first)
			g.get("/", "X-Forwarded-For: 192.0.2.2", "X-Device: 2").is(test.other)
			g.get("/", append(one, "X-User: alice")...).is(200) // a request with a key has its own count
			g.get("/", append(one, "X-User: alice")...).is(429)
			if n := len(g.logged("without a key")); n != test.warnings {
				t.Errorf("warnings about missing keys = %d, want %d", n, test.warnings)
			}
			if got := g.metric(`caddy_rate_limit_missing_keys_total{zone="user"}`); got != 3 {
				t.Errorf("missing keys = %v, want 3", got)
			}
		})
	}
}

func TestAddressesCountByPrefix(t *testing.T) {
	zone := func(settings string) string {
		return "rate_limit {\nzone ip {\nkey {client_ip}\nlimit 10/1h\n" + settings + "\n}\n}\nrespond hello"
	}
	for _, test := range []struct {
		name, settings, one, other string
		shared                     bool
	}{
		{"IPv6 by /64", "", "2001:db8:0:1::1", "2001:db8:0:1:ffff::2", true},
		{"beyond the /64", "", "2001:db8:0:1::1", "2001:db8:0:2::1", false},
		{"whole IPv6", "ipv6_prefix 128", "2001:db8::1", "2001:db8::2", false},
		{"IPv6 by /48", "ipv6_prefix 48", "2001:db8:0:1::1", "2001:db8:0:2::1", true},
		{"IPv4 whole", "", "192.0.2.1", "192.0.2.2", false},
		{"IPv4 by /24", "ipv4_prefix 24", "192.0.2.1", "192.0.2.200", true},
		{"IPv4 within IPv6", "", "192.0.2.1", "::ffff:192.0.2.1", true},
		{"two IPv4 within IPv6", "", "::ffff:192.0.2.1", "::ffff:192.0.2.2", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := serve(t, zone(test.settings))
			g.get("/", "X-Forwarded-For: "+test.one).admitted(9)
			want := 9
			if test.shared {
				want = 8
			}
			g.get("/", "X-Forwarded-For: "+test.other).admitted(want)
		})
	}
}

func TestConcurrentRequestsSumToTheLimit(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone z {
				key all
				limit 100/1d
			}
		}
		respond "hello"
	`)
	statuses := make(chan int)
	for range 8 {
		go func() {
			for range 25 {
				resp, err := g.client.Get("http://" + g.addr)
				if err != nil {
					statuses <- 0
					continue
				}
				_ = resp.Body.Close()
				statuses <- resp.StatusCode
			}
		}()
	}
	got := make(map[int]int)
	for range 200 {
		got[<-statuses]++
	}
	if got[200] != 100 || got[429] != 100 {
		t.Errorf("statuses of 200 requests = %v, want 100 admitted and 100 rejected", got)
	}
}
