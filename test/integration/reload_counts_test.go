package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestReloadSaysWhichCountsItDrops reloads a site with one change, and checks the lines of the log about
// counts: one for each zone whose keys start anew, and no others.
func TestReloadSaysWhichCountsItDrops(t *testing.T) {
	const old = "rate_limit {\nzone user {\nkey {header.X-User}\nlimit 9/1h\nendpoint /search 5/1h\nipv6_prefix 56\n" +
		"on_missing_key {client_ip} 3/1h\n}\n}\nrespond hello"
	for _, tc := range []struct {
		name, from, to string
		want           string
	}{
		{"nothing", "", "", ""},
		{"limits", "9/1h", "7/1h burst 9", ""},
		{"a new endpoint", "endpoint /search", "endpoint /new 2/1h\nendpoint /search", ""},
		{"key", "key {header.X-User}", "key {header.X-Customer}",
			"[user [key: {http.request.header.X-User} is now {http.request.header.X-Customer}]]"},
		{"algorithm", "limit 9/1h", "limit 9/1h\nalgorithm sliding_window 6",
			"[user [algorithm of endpoint /search: token_bucket is now sliding_window 6 " +
				"algorithm of the rest of the zone: token_bucket is now sliding_window 6]]"},
		{"algorithm of an endpoint", "/search 5/1h", "/search 5/1h fixed_window",
			"[user [algorithm of endpoint /search: token_bucket is now fixed_window]]"},
		{"endpoint", "endpoint /search 5/1h\n", "", "[user [endpoint /search: it is not in the zone]]"},
		{"prefix", "ipv6_prefix 56", "ipv6_prefix 64", "[user [ipv6_prefix: 56 is now 64, for IPv6 clients only]]"},
		{"substitute", "{client_ip} 3/1h", "{header.X-Device} 3/1h",
			"[user [on_missing_key: {http.vars.client_ip} is now {http.request.header.X-Device}]]"},
		{"limit of the substitute", "{client_ip} 3/1h", "{client_ip}", "[user [on_missing_key: it has no limit of its own]]"},
		{"name", "zone user", "zone customer", "[customer [name: user is now customer]]"},
		{"name and limit", "zone user {\nkey {header.X-User}\nlimit 9/1h", "zone customer {\nkey {header.X-User}\nlimit 8/1h",
			"[user [the zone: it is not in the configuration]]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := serve(t, old)
			g.reload(strings.Replace(old, tc.from, tc.to, 1))
			checkDroppedCounts(t, g, tc.want)
		})
	}
}

func TestReloadSaysThatTheStoreIsAnother(t *testing.T) {
	redis := redistest.NewServer(t)
	g := serve(t, zoneSite("limit 5/1h"))
	load := func(settings string) {
		t.Helper()
		g.addr = redistest.FreeAddr()
		g.mustLoad(g.caddyfile("rate_limit {\nredis {\naddress "+redis.Addr+"\n"+settings+"\n}\n}", zoneSite("limit 5/1h")))
	}
	inRedis := "redis " + redis.Addr + " db 0 key_prefix "
	want := []string{"[user [store: memory is now " + inRedis + "one]]"}
	load("key_prefix one")
	checkDroppedCounts(t, g, want...)
	load("key_prefix one\ntimeout 3s\npool_size 3") // other connections to the same counts
	checkDroppedCounts(t, g, want...)
	load("key_prefix two")
	checkDroppedCounts(t, g, append(want, "[user [store: "+inRedis+"one is now "+inRedis+"two]]")...)
}

// TestFailedReloadDropsNoCounts checks that a configuration that does not start logs no dropped counts.
func TestFailedReloadDropsNoCounts(t *testing.T) {
	g := serve(t, zoneSite("limit 5/1h"))
	if err := g.load(g.caddyfile("", zoneSite("limit 5/1h\nalgorithm fixed_window")+"\n}\nhttp://192.0.2.1:1 {\nbind 192.0.2.1")); err == nil {
		t.Fatal("a server at an address of another machine has started")
	}
	checkDroppedCounts(t, g)
}

// checkDroppedCounts checks the zones and changes of the lines about dropped counts.
func checkDroppedCounts(t *testing.T, g *gateway, want ...string) {
	t.Helper()
	var got []string
	for _, line := range g.logged("the reload has dropped counts, so keys of the zone start at their full limit") {
		got = append(got, fmt.Sprint([]any{line["zone"], line["changed"]}))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the log has\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
