package integration

import (
	"context"
	"net"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyevents"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

func init() { caddy.RegisterModule(subscriber{}) }

// breakerEvents are the data of the events that subscribers got.
var breakerEvents = make(chan map[string]any, 100)

// A subscriber is an event handler that passes on what it gets.
type subscriber struct{}

func (subscriber) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "events.handlers.fleetlimit_test", New: func() caddy.Module { return new(subscriber) }}
}

func (*subscriber) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	return nil
}

func (*subscriber) Handle(_ context.Context, e caddy.Event) error {
	breakerEvents <- e.Data
	return nil
}

var _ caddyevents.Handler = (*subscriber)(nil)

// A Redis is killed and started again. In between, a reload fails. Each state of the breaker is one event and
// one line of the log.
func TestBreakerEvents(t *testing.T) {
	redis := redistest.NewServer(t)
	const site = "rate_limit {\n\tzone a {\n\t\tkey {client_ip}\n\t\tlimit 5/1m\n\t}\n}\nrespond ok"
	options := "events {\n\ton rate_limit_breaker fleetlimit_test\n}\nrate_limit {\n\tredis {\n\t\taddress " + redis.Addr +
		"\n\t}\n\tbreaker {\n\t\tprobe_every 200ms\n\t}\n}"
	g := serveWith(t, options, site)
	redistest.Eventually(t, "a decision by Redis", func() bool { return g.get("/").header.Get("X-RateLimit-Policy") != "degraded" })
	expect := func(want string) {
		t.Helper()
		e := <-breakerEvents
		if e["state"] != want || e["primary"] != redis.Addr || e["store"] != "redis standalone "+redis.Addr {
			t.Errorf("event = %v, want the state %s of %s", e, want, redis.Addr)
		}
	}
	redis.Kill()
	expect("open")
	taken, err := net.Listen("tcp", g.second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	if err := g.load(g.caddyfile(options, site, "respond ok")); err == nil {
		t.Error("a configuration loads whose address is taken")
	}
	redis.Restart()
	expect("half-open")
	expect("closed")
	for message, level := range map[string]string{
		"a primary of Redis fails": "error", "a primary of Redis answers a probe": "info", "a primary of Redis answers again": "info",
	} {
		lines := g.logged(message)
		if len(lines) != 1 || lines[0]["level"] != level || lines[0]["primary"] != redis.Addr {
			t.Errorf("lines with %q = %v, want one of level %s", message, lines, level)
		}
	}
}
