package integration

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// guarded counts clients by API key, or by address if they have none.
const guarded = `
	rate_limit {
		zone key {
			key {header.X-Api-Key}
			limit 3/1h
			allow_key sk_internal_*
		}
		log_rejections all
		log_key
	}
	log
	respond "hello"
`

// rawGet returns a GET request with these header lines, unchanged.
func rawGet(target string, lines ...string) string {
	lines = append([]string{"GET " + target + " HTTP/1.1", "Host: gateway", "Connection: close"}, lines...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}

func TestHostileHeaderKeysDoNotShareCounts(t *testing.T) {
	g := serve(t, guarded)
	long := strings.Repeat("k", 64<<10)
	keys := []string{
		"alice", "127.0.0.1", "::1", long, long + "x", long[:256], long[:257],
		"{client_ip}", "{http.vars.client_ip}", "{header.X-Api-Key}", "{env.HOME}", "{", "}", `\{client_ip\}`,
		"*", "sk_*", "[a-z]lice", "?lice", "a\xff\xfe", "a\xff", "a\xef\xbf\xbd", "k5:alice", "5:alice", "malice", "a\tb",
		`"},"level":"fatal`, "0", "Alice", "alice.", "user:alice",
	}
	g.raw(rawGet("/")).admitted(2) // counts by address
	for range 2 {
		for _, key := range keys {
			g.raw(rawGet("/", "X-Api-Key: "+key)).is(200)
		}
	}
	for _, key := range keys {
		r := g.raw(rawGet("/", "X-Api-Key: "+key))
		if r.status != 200 || r.header.Get("X-RateLimit-Remaining") != "0" {
			t.Errorf("third request of key %.40q (%d bytes): status %d, remaining %s; want 200, 0: the key shares a count",
				key, len(key), r.status, r.header.Get("X-RateLimit-Remaining"))
		}
		g.raw(rawGet("/", "X-Api-Key: "+key)).rejected()
	}
	g.raw(rawGet("/")).admitted(1)

	rejections := g.logged("rate limit exceeded")
	if len(rejections) != len(keys) {
		t.Fatalf("logged rejections = %d, want %d", len(rejections), len(keys))
	}
	for i, entry := range rejections {
		if key, _ := entry["key"].(string); i < 3 && key != keys[i] {
			t.Errorf("logged key = %q, want %q", key, keys[i])
		}
	}
}

func TestRepeatedKeyHeaderIsAmbiguous(t *testing.T) {
	g := serve(t, guarded)
	g.raw(rawGet("/", "X-Api-Key: alice")).admitted(2)
	g.raw(rawGet("/", "X-Api-Key: alice", "X-Api-Key: bob")).is(400).lacks("X-RateLimit-Limit")
	g.raw(rawGet("/", "X-Api-Key: sk_internal_1", "X-Api-Key: bob")).is(400)
	g.raw(rawGet("/", "x-api-key: 1", "X-API-KEY: 2")).is(400)
	g.raw(rawGet("/", "X-Api-Key:")).admitted(2) // an empty key is missing: counts by address
	g.raw(rawGet("/", "X-Api-Key: alice,bob")).admitted(2)
	g.raw(rawGet("/", "X-Api-Key: alice")).admitted(1)
	g.raw(rawGet("/", "X-Api-Key: bob")).admitted(2)
	if got := g.metric(`caddy_rate_limit_ambiguous_total{zone="key"}`); got != 3 {
		t.Errorf("ambiguous keys = %v, want 3", got)
	}
}

func TestOnAmbiguousKeyMissing(t *testing.T) {
	g := serve(t, strings.Replace(guarded, "limit 3/1h", "limit 3/1h\non_ambiguous_key missing", 1))
	g.raw(rawGet("/", "X-Api-Key: alice", "X-Api-Key: bob")).admitted(2) // counts by address
	g.raw(rawGet("/", "X-Api-Key: sk_internal_1", "X-Api-Key: bob")).admitted(1)
	g.raw(rawGet("/")).admitted(0)
	g.raw(rawGet("/", "X-Api-Key: alice", "X-Api-Key: alice")).rejected()
	g.raw(rawGet("/", "X-Api-Key: alice")).admitted(2)
}

func TestAmbiguousCookieCountsByAddress(t *testing.T) {
	for _, onMissing := range []string{"skip", "deny", "shared", "{client_ip}"} {
		t.Run(onMissing, func(t *testing.T) {
			g := serve(t, `
				rate_limit {
					zone session {
						key {http.request.cookie.sid}
						on_missing_key `+onMissing+`
						limit 2/1h
					}
				}
				respond "hello"
			`)
			g.raw(rawGet("/", "Cookie: sid=a")).admitted(1)
			g.raw(rawGet("/", "Cookie: sid=a; sid=b")).admitted(1)
			g.raw(rawGet("/", "Cookie: sid=c; sid=d")).admitted(0)
			g.raw(rawGet("/", "Cookie: sid=e; sid=f")).rejected()
			g.raw(rawGet("/", "Cookie: sid=a; sid=b", "X-Forwarded-For: 192.0.2.1")).admitted(1)
		})
	}
}

func TestAmbiguousTierAndCost(t *testing.T) {
	const zone = `
		rate_limit {
			zone key {
				key {header.X-Api-Key}
				%s
				limit 10/1h
				cost {query.cost} trusted
				tier {header.X-Plan} trusted {
					pro 100/1h
					banned block
				}
			}
		}
		respond "hello"
	`
	const key = "X-Api-Key: a"
	g := serve(t, fmt.Sprintf(zone, ""))
	g.raw(rawGet("/", key, "X-Plan: banned")).rejected()
	g.raw(rawGet("/", key, "X-Plan: banned", "X-Plan: pro")).is(400)
	g.raw(rawGet("/?cost=5&cost=1", key)).is(400)
	if got := g.metric(`caddy_rate_limit_invalid_costs_total{zone="key"}`); got != 0 {
		t.Errorf("invalid costs = %v, want none: an ambiguous one is refused", got)
	}
	g.raw(rawGet("/?cost=5", key)).admitted(5)

	g.reload(fmt.Sprintf(zone, "on_ambiguous_key missing"))
	g.raw(rawGet("/", key, "X-Plan: pro", "X-Plan: pro")).admitted(4).has("X-RateLimit-Limit", "10")
	g.raw(rawGet("/?cost=5&cost=1", key)).admitted(3)
}

func TestNeitherKeyNorSubstitute(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone key {
				key {header.X-Api-Key}
				on_missing_key {header.X-Device}
				limit 2/1h
			}
		}
		respond "hello"
	`)
	g.get("/", "X-Device: phone").admitted(1)
	g.get("/").is(400)
	g.get("/", "X-Api-Key: a").admitted(1)
}

func TestInvalidHeadersAreNotCounted(t *testing.T) {
	g := serve(t, guarded)
	for _, line := range []string{"X-Api-Key: ali\x00ce", "X-Api-Key: ali\rce", "X-Api-Key : alice", "X-Api-Key: alice\r\n \x01x"} {
		g.raw(rawGet("/", line)).is(400).lacks("X-RateLimit-Limit")
	}
	g.raw(rawGet("/", "X-Api-Key: alice")).admitted(2)
}

func TestJoinedValuesCannotBeForged(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone pair {
				key {header.X-Tenant}:{header.X-User}
				limit 5/1h
			}
		}
		respond "hello"
	`)
	pairs := [][2]string{
		{"a", "b:c"}, {"a:b", "c"}, {"a", "b"}, {"ab", "c"}, {"a", "bc"}, {"1:a", "b"}, {"a:1:b", "c"}, {"a\t", "b"}, {"b", "a"},
	}
	for _, pair := range pairs {
		g.raw(rawGet("/", "X-Tenant: "+pair[0], "X-User: "+pair[1]))
	}
	for _, pair := range pairs[:7] { // net/http removes the tab at the end of the last two
		want := 3
		if pair == pairs[2] {
			want = 2
		}
		g.raw(rawGet("/", "X-Tenant: "+pair[0], "X-User: "+pair[1])).admitted(want)
	}
	g.raw(rawGet("/", "X-Tenant: a:b")).admitted(4) // a part of the key is missing: counts by address
}

func TestHostileQueryKeys(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone key {
				key {query.key}
				limit 1/1h
			}
			log_rejections all
			log_key
		}
		log
		respond "hello"
	`)
	keys := []string{
		"alice", "alice\r\nX-Evil: 1", "al\nice", "\xff", "\xff\xfe", "127.0.0.1", "{path}", "a\u2028b", "[31m", `{"msg":"rate limit exceeded"}`,
	}
	for _, key := range keys {
		target := "/?key=" + url.QueryEscape(key)
		g.raw(rawGet(target)).admitted(0)
		r := g.raw(rawGet(target)).rejected().lacks("X-Evil")
		if strings.Contains(r.body, "alice") {
			t.Errorf("body = %q repeats the key", r.body)
		}
	}
	for _, key := range []string{"ali\x00ce", "\x00", "alice\n", "alice\x00", "\u2028", "\x1b[31m"} { // servers read these keys differently
		g.raw(rawGet("/?key=" + url.QueryEscape(key))).is(400).says("The key is ambiguous")
	}
	g.raw(rawGet("/?key=bob&key=alice")).is(400)
	g.raw(rawGet("/?key=")).admitted(0) // an empty key is missing: counts by address
	g.raw(rawGet("/")).rejected()
	g.raw(rawGet("/?key=bob")).admitted(0)

	entries := g.logged("rate limit exceeded")
	if want := len(keys) + 1; len(entries) != want {
		t.Fatalf("logged rejections = %d, want %d", len(entries), want)
	}
	for i, key := range keys {
		if got := entries[i]["key"]; strings.ToValidUTF8(key, "") == key && got != key {
			t.Errorf("logged key = %q, want %q", got, key)
		}
	}
	if got, want := len(g.logged("handled request")), 2*len(keys)+10; got != want {
		t.Errorf("entries of the access log = %d, want %d", got, want)
	}
}

func TestClientsCannotNameSubstituteKeys(t *testing.T) {
	for onMissing, keys := range map[string][]string{
		"shared":            {"shared", "mshared", "m:shared", "6:shared", "m"},
		"{client_ip}":       {"127.0.0.1", "m127.0.0.1", "127.0.0.1/32", "::ffff:127.0.0.1"},
		"{header.X-Device}": {"device", "mdevice", "mtdevice"},
	} {
		t.Run(onMissing, func(t *testing.T) {
			g := serve(t, `
				rate_limit {
					zone user {
						key {header.X-User}
						on_missing_key `+onMissing+`
						limit 2/1h
					}
				}
				respond "hello"
			`)
			g.get("/", "X-Device: device").admitted(1)
			for _, key := range keys {
				g.get("/", "X-User: "+key).admitted(1)
			}
			g.get("/", "X-Device: device").admitted(0)
		})
	}
}

func TestTooManyKeyHeadersAreAmbiguous(t *testing.T) {
	g := serve(t, guarded)
	var lines []string
	for i := range 1500 {
		lines = append(lines, fmt.Sprintf("X-Api-Key: k%d", i))
	}
	g.raw(rawGet("/", lines...)).is(400)
	g.get("/").admitted(2)
}
