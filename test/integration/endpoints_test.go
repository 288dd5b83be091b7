package integration

import "testing"

const gatewayOfEndpoints = `
	rate_limit {
		zone user {
			key {header.X-User}
			limit 100/1h
			endpoint GET /search* 3/1h
			endpoint POST,PUT /search* 2/1h
			endpoint /search/deep 50/1h
			endpoint *.json 4/1h
		}
	}
	respond "hello"
`

func TestFirstMatchingEndpointCounts(t *testing.T) {
	g := serve(t, gatewayOfEndpoints)
	const alice = "X-User: alice"
	g.get("/search", alice).admitted(2).has("X-RateLimit-Limit", "3")
	g.request("HEAD", "/search/deep", alice).admitted(1).has("X-RateLimit-Limit", "3") // GET includes HEAD, and /search comes first
	g.get("/SEARCH", alice).admitted(0)                                                // paths ignore case
	g.get("/search", alice).rejected()
	g.get("//search", alice).rejected() // paths are cleaned before they are matched

	g.request("POST", "/search", alice).admitted(1).has("X-RateLimit-Limit", "2")
	g.request("PUT", "/search", alice).admitted(0)
	g.request("DELETE", "/search/deep", alice).admitted(49)
	g.get("/a.json", alice).admitted(3)
	g.get("/other", alice).admitted(99) // the zone itself counted none of these
	g.get("/search", "X-User: bob").admitted(2)
}

func TestEndpointsMatchTheCurrentPath(t *testing.T) {
	g := serve(t, `
		handle_path /v1/* {
			rate_limit {
				zone v1 {
					key all
					limit 100/1h
					endpoint /users 3/1h
				}
			}
			respond "{path}"
		}
		handle {
			rewrite /old* /new
			rate_limit {
				zone rest {
					key all
					limit 100/1h
					endpoint /new 4/1h
				}
			}
			respond "{path}"
		}
	`)
	if r := g.get("/v1/users").admitted(2); r.body != "/users" {
		t.Errorf("path inside handle_path = %q, want /users", r.body)
	}
	g.get("/v1/v1/users").admitted(99)
	if r := g.get("/old/page").admitted(3); r.body != "/new" {
		t.Errorf("path after rewrite = %q, want /new", r.body)
	}
	g.get("/users").admitted(99)
}

func TestEndpointsInheritLimitAndAlgorithm(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone user {
				key all
				limit 3/1d
				endpoint /own 3/1d
				endpoint /free unlimited
				endpoint /closed block
				endpoint /log 2/1h sliding_window_log
				endpoint /block {
					limit 5/1h
					algorithm fixed_window
					cost 5
				}
			}
		}
		respond "hello"
	`)
	g.get("/own").admitted(2)
	g.get("/other").admitted(2)
	g.get("/free").is(200).lacks("X-RateLimit-Limit")
	g.get("/closed").rejected()
	if r := g.get("/log").admitted(1); r.policies()["user"].w != 3600 {
		t.Errorf("policy of /log = %+v, want w=3600", r.policies())
	}
	g.get("/block").admitted(0).has("X-RateLimit-Limit", "5")
	g.get("/other").admitted(1)
}

// An endpoint without a limit of its own has no count of its own. It only changes what its requests cost the
// count of the zone, in every tier that has no limit there.
func TestEndpointWithoutLimitSharesCount(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone user {
				key {header.X-Api-Key}
				limit 10/1h
				tier {header.X-Plan} trusted {
					pro 30/1h
				}
				endpoint /export {
					cost 4
					tier {
						pro 20/1h
					}
				}
				endpoint /report {
					cost 3
				}
			}
		}
		respond "hello"
	`)
	const key, pro = "X-Api-Key: a", "X-Plan: pro"
	g.get("/", key).admitted(9)
	g.get("/export", key).admitted(5)
	g.get("/report", key).admitted(2)
	g.get("/export", key).rejected()
	g.get("/", key).admitted(1)
	g.get("/", key).admitted(0)
	g.get("/", key).rejected()
	g.get("/export", "X-Api-Key: b", pro).admitted(16) // the tier has a limit there, and so a count of its own
	g.get("/report", "X-Api-Key: b", pro).admitted(27)
	g.get("/", "X-Api-Key: b", pro).admitted(26)
}

func TestTiers(t *testing.T) {
	g := serveWith(t, `
		rate_limit {
			tier enterprise 1000/1h burst 2000
		}
	`, `
		rate_limit {
			zone user {
				key {header.X-Api-Key}
				limit 5/1h
				tier {header.X-Plan} trusted {
					free 10/1h
					pro 100/1h
					enterprise
					internal unlimited
					banned block
					keys sk_ent_* sk_corp_* enterprise
					keys sk_int_* internal
					default free
				}
				endpoint /export 7/1h {
					tier {
						pro 70/1h
					}
				}
			}
		}
		respond "hello"
	`)
	for _, test := range []struct{ path, key, plan, limit, remaining string }{
		{"/", "a", "free", "10", "9"},
		{"/", "b", "pro", "100", "99"},
		{"/", "c", "enterprise", "2000", "1999"},
		{"/", "d", "", "10", "9"},
		{"/", "e", "unheard-of", "10", "9"},
		{"/", "sk_ent_1", "free", "2000", "1999"},
		{"/", "sk_corp_1", "", "2000", "1999"},
		{"/export", "a", "free", "7", "6"},
		{"/export", "b", "pro", "70", "69"},
		{"/export", "c", "enterprise", "7", "6"},
	} {
		headers := []string{"X-Api-Key: " + test.key}
		if test.plan != "" {
			headers = append(headers, "X-Plan: "+test.plan)
		}
		g.get(test.path, headers...).is(200).has("X-RateLimit-Limit", test.limit).has("X-RateLimit-Remaining", test.remaining)
	}
	g.get("/", "X-Api-Key: sk_int_1").is(200).lacks("X-RateLimit-Limit")
	g.get("/", "X-Api-Key: f", "X-Plan: banned").rejected()
	// A key that changes its tier keeps its count.
	g.get("/", "X-Api-Key: a", "X-Plan: pro").admitted(98)
}

func TestCosts(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone user {
				key {path}
				limit 10/1h
				cost {header.X-Cost} trusted
				endpoint /fixed 10/1h {
					cost 4
				}
			}
		}
		respond "hello"
	`)
	g.get("/fixed").admitted(6)
	g.get("/fixed").admitted(2)
	g.get("/fixed").rejected().has("X-RateLimit-Remaining", "2")

	for i, test := range []struct {
		cost string
		left int
	}{
		{"3", 7}, {"10", 0}, {"11", 0}, {"99999999999999999999", 0}, // a cost above the limit counts as the limit
		{"0", 9}, {"-5", 9}, {"", 9}, {"many", 9}, {"1.5", 9}, {"-99999999999999999999", 9}, // an invalid cost counts as 1
	} {
		g.get("/"+string(rune('a'+i)), "X-Cost: "+test.cost).admitted(test.left)
	}
	if got := g.metric(`caddy_rate_limit_invalid_costs_total{zone="user"}`); got != 6 {
		t.Errorf("invalid costs = %v, want 6", got)
	}
}

func TestAddressLists(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone user {
				key all
				limit 1/1h
			}
			allow 192.0.2.0/24 2001:db8::/32
			deny 192.0.2.66 203.0.113.0/24
		}
		respond "hello"
	`)
	for range 3 {
		g.get("/", "X-Forwarded-For: 192.0.2.1").is(200).lacks("X-RateLimit-Limit")
		g.get("/", "X-Forwarded-For: 2001:db8::1").is(200).lacks("X-RateLimit-Limit")
		g.get("/", "X-Forwarded-For: ::ffff:192.0.2.1").is(200).lacks("X-RateLimit-Limit")
	}
	g.get("/", "X-Forwarded-For: 203.0.113.9").is(403)
	g.get("/", "X-Forwarded-For: 192.0.2.66").is(403) // deny comes before allow
	g.get("/", "X-Forwarded-For: 198.51.100.1").admitted(0)
	g.get("/", "X-Forwarded-For: 198.51.100.1").rejected()
}

func TestKeyListsConcernOneZone(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone key {
				key {header.X-Api-Key}
				limit 1/1h
				allow_key sk_internal_*
				deny_key sk_stolen_*
			}
			zone ip {
				key {client_ip}
				limit 3/1h
			}
		}
		respond "hello"
	`)
	const internal = "X-Api-Key: sk_internal_1"
	g.get("/", internal).admitted(2)
	g.get("/", internal).admitted(1)
	g.get("/", "X-Api-Key: sk_stolen_1").is(403)
	g.get("/", internal).admitted(0) // the zone of the address did not count the 403
	g.get("/", internal).rejected()
}
