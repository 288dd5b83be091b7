package integration

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyevents"
)

func init() { caddy.RegisterModule(&witness{}) }

// witness is an event handler that keeps the data of events.
type witness struct{}

var witnessed struct {
	sync.Mutex
	events []map[string]any
}

// takeWitnessed returns the events since the last call.
func takeWitnessed() []map[string]any {
	witnessed.Lock()
	defer witnessed.Unlock()
	events := witnessed.events
	witnessed.events = nil
	return events
}

func (*witness) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "events.handlers.witness", New: func() caddy.Module { return new(witness) }}
}

func (*witness) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	return nil
}

func (*witness) Handle(_ context.Context, e caddy.Event) error {
	witnessed.Lock()
	defer witnessed.Unlock()
	witnessed.events = append(witnessed.events, e.Data)
	return nil
}

var (
	_ caddyevents.Handler   = (*witness)(nil)
	_ caddyfile.Unmarshaler = (*witness)(nil)
)

// witnessing subscribes the witness.
const witnessing = "events {\non rate_limit_exceeded witness\n}"

func TestLegacyZoneReportsEveryRejection(t *testing.T) {
	takeWitnessed()
	g := serveWith(t, witnessing, legacySite("key {client_ip}", ""))
	for range 5 {
		g.get("/", "X-Forwarded-For: 192.0.2.1")
	}
	logged, emitted := g.logged("rate limit exceeded"), takeWitnessed()
	if len(logged) != 3 || len(emitted) != 3 {
		t.Fatalf("logged, emitted = %d, %d, want 3 rejections each", len(logged), len(emitted))
	}
	for i := range logged {
		entry, data := logged[i], emitted[i]
		if entry["level"] != "info" || entry["zone"] != "z" || entry["remote_ip"] != "127.0.0.1" {
			t.Errorf("logged = %v, want level info, the zone and the address of the peer", entry)
		}
		if wait, _ := entry["wait"].(float64); wait <= 3590 || wait > 3600 {
			t.Errorf("logged wait = %v s, want about 3600", entry["wait"])
		}
		if _, found := entry["key"]; found {
			t.Errorf("logged = %v, want no key without log_key", entry)
		}
		if data["zone"] != "z" || data["remote_ip"] != "127.0.0.1" {
			t.Errorf("event = %v, want the zone and the address of the peer", data)
		}
		for name, want := range map[string]any{
			"client_ip": "192.0.2.1", "method": "GET", "host": g.addr, "path": "/", "key_hash": "37fcff24bf62",
		} {
			if entry[name] != want || data[name] != want {
				t.Errorf("logged and emitted %s = %v and %v, want %v", name, entry[name], data[name], want)
			}
		}
		if wait, _ := data["wait"].(time.Duration); wait <= 3590*time.Second || wait > time.Hour {
			t.Errorf("wait of the event = %v, want a duration of about an hour", data["wait"])
		}
	}
}

func TestReportOncePerKeyAndWindow(t *testing.T) {
	for _, test := range []struct {
		setting         string
		logged, emitted int
	}{
		{"", 2, 2}, {"log_rejections first", 2, 2}, {"log_rejections all", 6, 2}, {"log_rejections none", 0, 2},
	} {
		t.Run(test.setting, func(t *testing.T) {
			takeWitnessed()
			g := serveWith(t, witnessing, `
				rate_limit {
					zone user {
						key {header.X-User}
						limit 1/1h
					}
					`+test.setting+`
					log_key
				}
				respond "hello"
			`)
			for _, user := range []string{"alice", "bob"} {
				for range 4 {
					g.get("/", "X-User: "+user)
				}
			}
			logged, emitted := g.logged("rate limit exceeded"), takeWitnessed()
			if len(logged) != test.logged || len(emitted) != test.emitted {
				t.Errorf("logged, emitted of 6 rejections of 2 keys = %d, %d, want %d, %d",
					len(logged), len(emitted), test.logged, test.emitted)
			}
			for i, entry := range logged {
				if want := []string{"alice", "bob"}[i*2/len(logged)]; entry["key"] != want || entry["zone"] != "user" {
					t.Errorf("entry %d = %v, want key %s of zone user", i, entry, want)
				}
			}
		})
	}
}

// A flood of keys has one first rejection per key.
func TestFloodOfKeysDoesNotFloodLog(t *testing.T) {
	const keys = 100
	takeWitnessed()
	g := serveWith(t, witnessing, `
		rate_limit {
			zone user {
				key {header.X-User}
				limit 1/1h
			}
		}
		respond "hello"
	`)
	start := time.Now()
	for range 2 {
		for i := range keys {
			g.get("/", "X-User: "+strconv.Itoa(i))
		}
	}
	most := 10 * (2 + int(time.Since(start)/time.Second)) // in each second of the clock
	logged, emitted := g.logged("rate limit exceeded"), takeWitnessed()
	if n := len(logged); n < 10 || n > most {
		t.Errorf("logged of %d first rejections = %d, want 10 a second", keys, n)
	}
	if n := len(emitted); n < 10 || n > most {
		t.Errorf("emitted of %d first rejections = %d, want 10 a second", keys, n)
	}
	deadline := time.Now().Add(10 * time.Second)
	for user := 0; len(g.logged("rate limit exceeded")) == len(logged); user++ { // until the next second
		if time.Now().After(deadline) {
			t.Fatal("nothing is logged after the flood")
		}
		g.get("/", "X-User: next"+strconv.Itoa(user))
		g.get("/", "X-User: next"+strconv.Itoa(user))
	}
	// The first line of a second has the number of lines suppressed in the seconds before. A second may begin
	// within the flood.
	suppressed := 0
	for _, line := range g.logged("rate limit exceeded") {
		n, _ := line["suppressed"].(float64)
		suppressed += int(n)
	}
	if suppressed < keys-len(logged) {
		t.Errorf("suppressed in all lines = %d, want at least %d", suppressed, keys-len(logged))
	}
}

func TestPlaceholdersInAccessLog(t *testing.T) {
	g := serve(t, `
		log
		log_append left {http.rate_limit.user.remaining}
		log_append limit {http.rate_limit.user.limit}
		log_append from {http.rate_limit.user.source}
		log_append exceeded {http.rate_limit.exceeded.name}
		rate_limit {
			zone user {
				key all
				limit 1/1h
			}
		}
		respond "hello"
	`)
	g.get("/").admitted(0)
	g.get("/").rejected()
	entries := g.logged("handled request")
	if len(entries) != 2 {
		t.Fatalf("entries of the access log = %d, want 2", len(entries))
	}
	for i, exceeded := range []string{"", "user"} {
		e := entries[i]
		if e["left"] != "0" || e["limit"] != "1" || e["exceeded"] != exceeded || e["from"] == "" || e["from"] == nil {
			t.Errorf("entry %d: remaining %v, limit %v, exceeded %v, source %v; want 0, 1, %q and a source",
				i, e["left"], e["limit"], e["exceeded"], e["from"], exceeded)
		}
	}
}

// The directive header prints unknown placeholders literally. The placeholders of a zone are known even if
// the zone did not apply, and a misspelled zone shows.
func TestPlaceholdersOfZoneThatDoesNotApply(t *testing.T) {
	g := serve(t, `
		log
		log_append left {http.rate_limit.user.remaining}
		log_append exceeded {http.rate_limit.exceeded.name}
		header >X-Left "left:{http.rate_limit.user.remaining}"
		header >X-Zone "zone:{http.rate_limit.exceeded.name}"
		header >X-Wrong {http.rate_limit.usr.remaining}
		rate_limit {
			allow 192.0.2.1
			zone user {
				match {
					path /api/*
				}
				key {header.X-User}
				on_missing_key skip
				limit 5/1h
			}
		}
		respond "hello"
	`)
	for _, request := range [][]string{{"/"}, {"/api/"}, {"/api/", "X-User: alice", "X-Forwarded-For: 192.0.2.1"}} {
		g.get(request[0], request[1:]...).is(200).has("X-Left", "left:").has("X-Zone", "zone:").
			has("X-Wrong", "{http.rate_limit.usr.remaining}")
	}
	g.get("/api/", "X-User: alice").is(200).has("X-Left", "left:4")
	for i, e := range g.logged("handled request") {
		if left := []string{"", "", "", "4"}[i]; e["left"] != left || e["exceeded"] != "" {
			t.Errorf("entry %d: remaining %v, exceeded %v, want %q and nothing", i, e["left"], e["exceeded"], left)
		}
	}
}
