package integration

import (
	"fmt"
	"testing"
	"time"
)

// A zone with a long window tells no client to wait longer than an hour: neither the client that has used up
// its limit, nor one that is rejected, whatever the jitter, nor one in emergency mode. The instant at which
// the key is back at its full limit is told as it is.
func TestMaxRetryAfter(t *testing.T) {
	for _, algorithm := range []string{"token_bucket", "sliding_window_log"} {
		t.Run(algorithm, func(t *testing.T) {
			g := serve(t, `
				rate_limit {
					zone user {
						key {header.X-User}
						on_missing_key shared
						limit 2/48h
						algorithm `+algorithm+`
					}
					jitter 100%
					max_retry_after 1h
				}
				respond {http.rate_limit.user.reset}`)
			tomorrow := time.Now().Add(23 * time.Hour).Unix()
			if got := g.get("/", alice).admitted(1).limits()["user"].t; got < 82800 {
				t.Errorf("t with a request left = %d, want a day or two, over which clients may spread it", got)
			}
			last := g.get("/", alice).admitted(0)
			if got := last.limits()["user"]; got.r != 0 || got.t != 3600 {
				t.Errorf("RateLimit with nothing left = %+v, want r=0;t=3600", got)
			}
			if reset := last.number("X-RateLimit-Reset"); reset < tomorrow || last.body != fmt.Sprint(reset) {
				t.Errorf("X-RateLimit-Reset = %d, placeholder = %s, want the same, %d or later", reset, last.body, tomorrow)
			}
			for range 5 {
				r := g.get("/", alice).rejected().has("Retry-After", "3600").says(`"retry_after_seconds":3600,`)
				if got := r.limits()["user"]; got.r != 0 || got.t != 3600 {
					t.Errorf("RateLimit of a rejection = %+v, want r=0;t=3600", got)
				}
				if reset := r.number("X-RateLimit-Reset"); reset < tomorrow {
					t.Errorf("X-RateLimit-Reset of a rejection = %d, want %d or later", reset, tomorrow)
				}
			}
			if x := g.explain("GET", "/", []string{alice}); x.Response.Headers["Retry-After"] != "3600" {
				t.Errorf("explained headers = %v, want Retry-After: 3600", x.Response.Headers)
			}
			g.emergency(`{"limit": "1/24h", "expires_in": "24h", "reason": "a test"}`)
			g.get("/", from("192.0.2.1")).is(200)
			g.get("/", from("192.0.2.1")).rejected().has("Retry-After", "3600").says(`"zone":"(emergency)"`, `"retry_after_seconds":3600,`)
		})
	}
}

// A wait below max_retry_after is told as it is.
func TestMaxRetryAfterDoesNotLengthen(t *testing.T) {
	r := exhausted(t, "max_retry_after 1h", `respond "hello"`, "GET").rejected()
	if s := r.retryAfter(); s < 29 || s > 30 || r.limits()["user"].t != s {
		t.Errorf("Retry-After = %d, RateLimit = %v, want 30 in both", s, r.limits())
	}
}
