package evaluate

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/rules"
)

// An Evaluation in the pool must keep neither keys nor anything else of a request in memory.
func TestReleaseKeepsNothingOfTheRequest(t *testing.T) {
	set := new(zone.Set)
	s, _ := set.Compile(&rules.Version{Document: new(rules.Document)}, nil, time.Now())
	h := Handler{App: &App{Zones: set, Rules: func() *zone.Snapshot { return s }}}
	repl := caddy.NewReplacer()
	e := h.Begin(caddyhttp.PrepareRequest(httptest.NewRequest("GET", "/", nil), repl, nil, new(caddyhttp.Server)))
	e.attachState()
	key := append(e.KeyBuffer(), "secret"...)
	for _, key := range [][]byte{key, []byte("b")} {
		take := limiter.Take{Rule: new(limiter.Rule), Key: key, Cost: 1}
		e.checks, e.asked = append(e.checks, check{take: take}), append(e.asked, take)
	}
	checks, asked := e.checks, e.asked
	e.Release()
	for i := range checks {
		if checks[i].take.Rule != nil || checks[i].take.Key != nil || asked[i].Rule != nil || asked[i].Key != nil {
			t.Errorf("after release: check %d = %+v, take %+v, want nothing", i, checks[i], asked[i])
		}
	}
	if string(key) != "\x00\x00\x00\x00\x00\x00" {
		t.Errorf("key after release = %q, want zeros", key)
	}
	if e.HTTP != nil || e.state != nil || len(e.checks) != 0 {
		t.Errorf("after release: request %v, state %v, %d checks, want none", e.HTTP, e.state, len(e.checks))
	}
}
