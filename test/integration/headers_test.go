package integration

import (
	"testing"
	"time"
)

func TestHeadersCountDown(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone user {
				key {header.X-User}
				limit 60/1h
			}
		}
		respond "hello"
	`)
	for n, left := range []int{59, 58, 57} {
		before := time.Now().Unix()
		r := g.get("/", "X-User: alice").admitted(left).has("X-RateLimit-Limit", "60").lacks("Retry-After")
		spent := int64(60 * (n + 1)) // an event is refilled each minute
		if got := r.number("X-RateLimit-Reset"); got < before+spent-1 || got > r.at.Unix()+spent+1 {
			t.Errorf("request %d: X-RateLimit-Reset is %d s after the request, want about %d", n+1, got-before, spent)
		}
		if got, want := r.policies()["user"], (item{q: 60, w: 3600, r: -1, t: -1}); got != want {
			t.Errorf("request %d: policy = %+v, want %+v", n+1, got, want)
		}
		if got := r.limits()["user"]; got.r != int64(left) || got.t > spent || got.t < spent-5 {
			t.Errorf("request %d: limit = %+v, want r=%d t=%d", n+1, got, left, spent)
		}
	}
	g.get("/", "X-User: bob").admitted(59)
}

func TestHeaderSets(t *testing.T) {
	x := []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}
	draft := []string{"RateLimit", "RateLimit-Policy"}
	for _, test := range []struct {
		set        string
		want, lack []string
	}{
		{"x", x, draft},
		{"draft", draft, x},
		{"all", append(x, draft...), nil},
		{"none", nil, append(x, draft...)},
	} {
		t.Run(test.set, func(t *testing.T) {
			g := serve(t, `
				rate_limit {
					zone user {
						key all
						limit 1/1h
					}
					headers `+test.set+`
				}
				respond "hello"
			`)
			for _, status := range []int{200, 429} {
				r := g.get("/").is(status)
				for _, name := range test.want {
					if got := r.header.Values(name); len(got) != 1 || got[0] == "" {
						t.Errorf("status %d: %s = %q, want one value", status, name, got)
					}
				}
				for _, name := range test.lack {
					r.lacks(name)
				}
				if status == 429 {
					r.rejected() // with Retry-After, whichever headers are set
				}
			}
		})
	}
}

func TestXHeadersDescribeZoneWithLeastLeft(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone large {
				key all
				limit 10/1h
			}
			zone small {
				key {header.X-User}
				limit 4/1h
			}
		}
		respond "hello"
	`)
	// 9 of 10 and 3 of 4 are left, and so on: small has the smaller fraction left.
	g.get("/", "X-User: a").admitted(3).has("X-RateLimit-Limit", "4")
	g.get("/", "X-User: a").admitted(2).has("X-RateLimit-Limit", "4")
	for _, user := range []string{"b", "c", "d"} {
		g.get("/", "X-User: "+user)
	}
	// 4 of 10 and 3 of 4 are left: now large has the smaller fraction, although more of its events are left.
	r := g.get("/", "X-User: e").admitted(4).has("X-RateLimit-Limit", "10")
	if got := r.limits(); len(got) != 2 || got["large"].r != 4 || got["small"].r != 3 {
		t.Errorf("RateLimit = %+v, want large r=4 and small r=3", got)
	}
	if got := r.policies(); got["large"].q != 10 || got["small"].q != 4 {
		t.Errorf("RateLimit-Policy = %+v, want large q=10 and small q=4", got)
	}
}

func TestPolicyOfEachAlgorithm(t *testing.T) {
	for _, test := range []struct {
		name, zone string
		want       item // the item of RateLimit-Policy
	}{
		{"bucket", "limit 60/1m", item{q: 60, w: 60, r: -1, t: -1}},
		{"bucket with burst", "limit 60/1m burst 90", item{q: 90, w: 90, r: -1, t: -1}},
		{"bucket whose fill time is rounded up", "limit 2/1s burst 5", item{q: 5, w: 3, r: -1, t: -1}},
		{"bucket that fills within a second", "limit 10/100ms", item{q: 10, w: -1, r: -1, t: -1}},
		{"log", "limit 7/1h\nalgorithm sliding_window_log", item{q: 7, w: 3600, r: -1, t: -1}},
		{"counter", "limit 7/1m\nalgorithm sliding_window 6", item{q: 7, w: 60, r: -1, t: -1}},
		{"fixed", "limit 7/1d\nalgorithm fixed_window", item{q: 7, w: 86400, r: -1, t: -1}},
		{"window under a second", "limit 7/999ms\nalgorithm fixed_window", item{q: 7, w: -1, r: -1, t: -1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := serve(t, "rate_limit {\nzone z {\nkey all\n"+test.zone+"\n}\n}\nrespond hello")
			if got := g.get("/").is(200).policies()["z"]; got != test.want {
				t.Errorf("RateLimit-Policy of %q = %+v, want %+v", test.zone, got, test.want)
			}
		})
	}
}

func TestHeadersOfDenial(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone hourly {
				key all
				limit 2/1h
			}
			zone daily {
				key all
				limit 10/1d
			}
		}
		respond "hello"
	`)
	g.get("/")
	g.get("/")
	r := g.get("/").rejected().has("X-RateLimit-Limit", "2").has("X-RateLimit-Remaining", "0")
	if got := r.limits()["hourly"]; got.r != 0 || got.t != r.retryAfter() || got.t > 1800 || got.t < 1790 {
		t.Errorf("RateLimit of the denying zone = %+v, want r=0 and t = Retry-After = %d, at most 1800", got, r.retryAfter())
	}
	if got := r.limits()["daily"].r; got != 8 {
		t.Errorf("r of the zone that allowed the request = %d, want 8 as after two requests", got)
	}
}

func TestHandlersOfRequestShareState(t *testing.T) {
	g := serve(t, `
		route {
			rate_limit {
				zone first {
					key all
					limit 2/1h
				}
			}
			rate_limit {
				zone second {
					key all
					limit 10/1h
				}
			}
			respond "{http.rate_limit.first.remaining} {http.rate_limit.second.remaining} {http.rate_limit.second.limit}"
		}
	`)
	r := g.get("/").admitted(1).has("X-RateLimit-Limit", "2")
	if got := r.limits(); len(got) != 2 || got["first"].r != 1 || got["second"].r != 9 {
		t.Errorf("RateLimit = %+v, want first r=1 and second r=9", got)
	}
	if want := "1 9 10"; r.body != want {
		t.Errorf("placeholders = %q, want %q", r.body, want)
	}
	g.get("/").admitted(0)
	if r := g.get("/").rejected().has("X-RateLimit-Limit", "2"); len(r.limits()) != 1 {
		t.Errorf("RateLimit of a request that the first handler rejected = %v, want its zone only", r.limits())
	}
}

func TestRejectionByLaterHandler(t *testing.T) {
	g := serve(t, `
		route {
			rate_limit {
				zone wide {
					key all
					limit 10/1h
				}
			}
			rate_limit {
				zone tight {
					key all
					limit 1/1h
				}
			}
			respond "hello"
		}
	`)
	g.get("/").admitted(0)
	r := g.get("/").rejected().has("X-RateLimit-Limit", "1").has("X-RateLimit-Remaining", "0")
	if got := r.limits(); got["wide"].r != 9 || got["tight"].r != 0 {
		t.Errorf("RateLimit = %+v, want wide r=9, as a rejected request is not charged, and tight r=0", got)
	}
}

func TestHeadersOnEveryResponse(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone user {
				key {path}
				limit 5/1h
			}
		}
		respond /empty 204
		respond /missing 404
		error /broken "broken" 500
		respond /moved 302
		header /own X-RateLimit-Limit 999
		respond "hello"
	`)
	for _, test := range []struct {
		path   string
		status int
	}{
		{"/", 200}, {"/empty", 204}, {"/missing", 404}, {"/broken", 500}, {"/moved", 302}, {"/own", 200},
	} {
		r := g.get(test.path).is(test.status).has("X-RateLimit-Limit", "5").has("X-RateLimit-Remaining", "4")
		if got := r.limits()["user"].r; got != 4 {
			t.Errorf("%s: r = %d, want 4", test.path, got)
		}
	}
	if got := g.get("/own").has("X-RateLimit-Remaining", "3").body; got != "hello" {
		t.Errorf("body = %q, want hello", got)
	}
}
