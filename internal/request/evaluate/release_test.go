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

// What the pool holds must not keep keys in memory, nor anything else of a request.
func TestReleaseKeepsNothingOfTheRequest(t *testing.T) {
	set := new(zone.Set)
	s, _ := set.Compile(&rules.Version{Document: new(rules.Document)}, nil, time.Now())
	h := Handler{App: &App{Zones: set, Rules: func() *zone.Snapshot { return s }}}
	repl := caddy.NewReplacer()
	e := h.Begin(caddyhttp.PrepareRequest(httptest.NewRequest("GET", "/", nil), repl, nil, new(caddyhttp.Server)))
	e.attachState()
	key := append(e.KeyBuffer(), "secret"...)
	e.takes = append(e.takes, limiter.Take{Rule: new(limiter.Rule), Key: key, Cost: 1},
		limiter.Take{Rule: new(limiter.Rule), Key: []byte("b"), Cost: 1})
	all := e.takes
	e.Release()
	for i, take := range all {
		if take.Rule != nil || take.Key != nil {
			t.Errorf("take %d after release = %+v, want nothing", i, take)
		}
	}
	if string(key) != "\x00\x00\x00\x00\x00\x00" {
		t.Errorf("key after release = %q, want zeros", key)
	}
	if e.HTTP != nil || e.state != nil || len(e.takes) != 0 {
		t.Errorf("after release: request %v, state %v, %d takes, want none", e.HTTP, e.state, len(e.takes))
	}
}
