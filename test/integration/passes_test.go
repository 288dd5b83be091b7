package integration

import "testing"

// A request may pass a zone in several handlers, and is charged to each count once.
func TestRequestIsChargedOnce(t *testing.T) {
	const options = `
		rate_limit {
			zone all {
				key all
				limit 10/1h
				endpoint /v1/users 6/1h
				endpoint /users 5/1h
				endpoint /export {
					cost 4
				}
			}
		}
	`
	g := serveWith(t, options, `
		rate_limit {
			zone all
		}
		handle_path /v1/* {
			rate_limit {
				zone all
			}
			handle /twice {
				rate_limit {
					zone all
				}
				respond "hello"
			}
			respond "hello"
		}
		handle /error {
			rate_limit {
				zone all
			}
			error 502
		}
		handle_errors {
			rate_limit {
				zone all
			}
			respond "error" 502
		}
	`)
	g.get("/v1/other").admitted(9)
	g.get("/v1/twice").admitted(8)
	if r := g.get("/error"); r.status != 502 {
		t.Errorf("status %d, want 502", r.status)
	}
	g.get("/v1/other").admitted(6)
	// In the second pass, the path is at another endpoint, with a count of its own.
	g.get("/v1/users").admitted(4)
	for range 4 {
		g.get("/v1/users")
	}
	g.get("/v1/users").rejected() // only the endpoint /users is at its limit
	g.get("/v1/other").admitted(5)
	// In the second pass, another endpoint with the same count is charged the difference.
	g.get("/v1/export").admitted(1)
	g.get("/v1/other").admitted(0)
	g.get("/v1/other").rejected()
	g.get("/error").rejected()
}

// A dry run counts a request once, too.
func TestDryRunIsChargedOnce(t *testing.T) {
	g := serveWith(t, `
		rate_limit {
			zone all {
				key all
				limit 2/1h
				dry_run
			}
		}
	`, `
		rate_limit {
			zone all
		}
		handle {
			rate_limit {
				zone all
			}
			respond "hello"
		}
	`)
	for range 3 {
		g.get("/").is(200)
	}
	if got := g.metric(`caddy_rate_limit_decisions_total{outcome="would_reject",source="store",zone="all"}`); got != 1 {
		t.Errorf("requests that would be rejected = %v, want 1", got)
	}
}

// Zones in the syntax of caddy-ratelimit charge each pass, as caddy-ratelimit does.
func TestLegacyZoneChargesEachPass(t *testing.T) {
	const directive = `
		rate_limit {
			zone twice {
				key    static
				events 4
				window 1h
			}
		}
	`
	g := serve(t, directive+"handle {\n"+directive+"respond hello\n}\n")
	g.get("/").is(200)
	g.get("/").is(200)
	g.get("/").is(429)
}
