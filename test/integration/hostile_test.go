package integration

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// guarded counts clients by API key, and those without by their address.
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

// rawGet returns a GET request with header lines that are sent as they are.
func rawGet(target string, lines ...string) string {
	lines = append([]string{"GET " + target + " HTTP/1.1", "Host: gateway", "Connection: close"}, lines...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}

func TestHostileHeaderKeysHaveCountsOfTheirOwn(t *testing.T) {
	g := serve(t, guarded)
	long := strings.Repeat("k", 64<<10)
	keys := []string{
		"alice", "127.0.0.1", "::1", long, long + "x", long[:256], long[:257],
		"{client_ip}", "{http.vars.client_ip}", "{header.X-Api-Key}", "{env.HOME}", "{", "}", `\{client_ip\}`,
		"*", "sk_*", "[a-z]lice", "?lice", "a\xff\xfe", "a\xff", "a\xef\xbf\xbd", "k5:alice", "5:alice", "malice", "a\tb",
		`"},"level":"fatal`, "0", "Alice", "alice.", "user:alice",
	}
	g.raw(rawGet("/")).admitted(2) // the address's own count
	for range 2 {
		for _, key := range keys {
			g.raw(rawGet("/", "X-Api-Key: "+key)).is(200)
		}
	}
	for _, key := range keys {
		r := g.raw(rawGet("/", "X-Api-Key: "+key))
		if r.status != 200 || r.header.Get("X-RateLimit-Remaining") != "0" {
			t.Errorf("third request of key %.40q (%d bytes): status %d, remaining %s; want 200 and 0: it shares a count",
				key, len(key), r.status, r.header.Get("X-RateLimit-Remaining"))
		}
		g.raw(rawGet("/", "X-Api-Key: "+key)).rejected()
	}
	g.raw(rawGet("/")).admitted(1)

	rejections := g.logged("rate limit exceeded")
	if len(rejections) != len(keys) {
		t.Fatalf("%d rejections were logged, want %d", len(rejections), len(keys))
	}
	for i, entry := range rejections {
		if key, _ := entry["key"].(string); i < 3 && key != keys[i] {
			t.Errorf("logged key = %q, want %q", key, keys[i])
		}
	}
}

func TestHeaderSentTwiceIsMissing(t *testing.T) {
	g := serve(t, guarded)
	g.raw(rawGet("/", "X-Api-Key: alice")).admitted(2)
	g.raw(rawGet("/", "X-Api-Key: alice", "X-Api-Key: bob")).admitted(2) // counts by address
	g.raw(rawGet("/", "X-Api-Key: sk_internal_1", "X-Api-Key: bob")).admitted(1)
	g.raw(rawGet("/", "x-api-key: 1", "X-API-KEY: 2")).admitted(0)
	g.raw(rawGet("/", "X-Api-Key:")).rejected() // empty is missing too
	g.raw(rawGet("/", "X-Api-Key: alice,bob")).admitted(2)
	g.raw(rawGet("/", "X-Api-Key: alice")).admitted(1)
	g.raw(rawGet("/", "X-Api-Key: bob")).admitted(2)
}

func TestBrokenHeadersAreRefusedBeforeTheyCount(t *testing.T) {
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
	for _, pair := range pairs[:7] { // of the last two, a tab at the end is cut off by net/http
		want := 3
		if pair == pairs[2] {
			want = 2
		}
		g.raw(rawGet("/", "X-Tenant: "+pair[0], "X-User: "+pair[1])).admitted(want)
	}
	g.raw(rawGet("/", "X-Tenant: a:b")).admitted(4) // half a pair is no pair: it counts by address
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
		"alice", "ali\x00ce", "\x00", "alice\r\nX-Evil: 1", "alice\n", "\xff", "\xff\xfe", "127.0.0.1", "alice\x00", "{path}", "\u2028",
		"\x1b[31m", `{"msg":"rate limit exceeded"}`,
	}
	for _, key := range keys {
		target := "/?key=" + url.QueryEscape(key)
		g.raw(rawGet(target)).admitted(0)
		r := g.raw(rawGet(target)).rejected().lacks("X-Evil")
		if strings.Contains(r.body, "alice") {
			t.Errorf("body = %q repeats the key", r.body)
		}
	}
	g.raw(rawGet("/?key=bob&key=alice")).admitted(0) // twice is missing: counts by address
	g.raw(rawGet("/?key=")).rejected()
	g.raw(rawGet("/?key=bob")).admitted(0)

	entries := g.logged("rate limit exceeded")
	if want := len(keys) + 1; len(entries) != want {
		t.Fatalf("%d rejections were logged, want %d", len(entries), want)
	}
	for i, key := range keys {
		if got := entries[i]["key"]; strings.ToValidUTF8(key, "") == key && got != key {
			t.Errorf("logged key = %q, want %q", got, key)
		}
	}
	if got, want := len(g.logged("handled request")), 2*len(keys)+3; got != want {
		t.Errorf("the access log has %d entries, want %d", got, want)
	}
}

func TestClientsCannotNameTheKeysOfOthersWithoutKey(t *testing.T) {
	for onMissing, keys := range map[string][]string{
		"guest":             {"guest", "mguest", "m:guest", "5:guest", "m"},
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

func TestTooManyHeadersDoNotReachTheLimiter(t *testing.T) {
	g := serve(t, guarded)
	var lines []string
	for i := range 1500 {
		lines = append(lines, fmt.Sprintf("X-Api-Key: k%d", i))
	}
	g.raw(rawGet("/", lines...)).admitted(2) // all of it is one request without a key
	g.get("/").admitted(1)
}
