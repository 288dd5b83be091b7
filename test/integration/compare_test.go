package integration

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

const comparedZone = `
	rate_limit {
		zone user {
			key {header.X-User}
			limit 5/1000h
			algorithm fixed_window
			compare {
				limit 8/1000h burst 3
				algorithm token_bucket
			}
		}
	}
	respond hello`

// A compared limit has counts of its own in either store. They leave the counts of the limit in force as they
// are, and survive reloads and changes by rules.
func TestComparison(t *testing.T) {
	redis := redistest.NewServer(t)
	for store, options := range map[string]string{
		"memory": "", "Redis": "rate_limit {\nredis {\naddress " + redis.Addr + "\ntimeout 10s\n}\n}",
	} {
		t.Run(store, func(t *testing.T) {
			g := serveWith(t, options, comparedZone)
			counts := func(bothAdmit, inForceAdmits, comparedAdmits, bothReject float64) {
				t.Helper()
				for labels, want := range map[string]float64{
					`compared="admitted",in_force="admitted"`: bothAdmit, `compared="rejected",in_force="admitted"`: inForceAdmits,
					`compared="admitted",in_force="rejected"`: comparedAdmits, `compared="rejected",in_force="rejected"`: bothReject,
				} {
					if got := g.metric(`caddy_rate_limit_comparisons_total{` + labels + `,zone="user"}`); got != want {
						t.Errorf("comparisons with %s = %v, want %v", labels, got, want)
					}
				}
			}
			counts(0, 0, 0, 0)
			g.admits(5, alice)
			counts(3, 2, 0, 1)
			g.addr = redistest.FreeAddr() // otherwise it is the same configuration, which Caddy does not load again
			g.mustLoad(g.caddyfile(options, comparedZone))
			g.get("/", alice).rejected()
			counts(3, 2, 0, 2)
			g.admin("PATCH", "/rate_limit/rules", `{"zones": {"user": {"compare": {"limit": "8/1000h", "algorithm": "token_bucket"}}}}`).
				is(200).says(`"path":"zones.user"`)
			g.admin("GET", "/rate_limit/zones/user", "").is(200).
				says(`"compare":"100%"`, `"compared":{"limit":"8/1000h","algorithm":"token_bucket"}`)
			for range 6 {
				g.get("/", alice).rejected()
			}
			counts(3, 2, 5, 3) // the larger bucket has what is left of 8
			g.admin("POST", "/rate_limit/zones/user/reset", `{"key": "alice"}`).is(200)
			g.admits(5, alice)
			counts(8, 2, 6, 3)
		})
	}
}

// A compared limit may differ by its window alone. A request at several endpoints is not compared.
func TestComparisonOfWindows(t *testing.T) {
	g := serve(t, "rate_limit {\nzone user {\nkey all\nlimit 2/1h\nalgorithm fixed_window\nendpoint /a 5/1h\ncompare {\nlimit 2/2h\n}\n}\n}\nrespond hello")
	compared := func() float64 {
		return g.metric(`caddy_rate_limit_comparisons_total{compared="admitted",in_force="admitted",zone="user"}`)
	}
	g.get("/").admitted(1)
	if got := compared(); got != 1 {
		t.Errorf("comparisons = %v, want 1", got)
	}
	g.get("/a;x").admitted(0)
	if got := compared(); got != 1 {
		t.Errorf("comparisons = %v, want 1: the path is at two endpoints", got)
	}
}
