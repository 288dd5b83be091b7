package integration

import (
	"fmt"
	"testing"
)

// dryRun returns a site with a zone of these settings in a dry run.
func dryRun(settings string) string {
	return "rate_limit {\nzone dry {\nkey {header.X-User}\ndry_run\n" + settings + "\n}\n}\nrespond hello"
}

// A zone may be in a dry run for a fraction of its keys.
func TestDryRunOfSomeKeys(t *testing.T) {
	g := serve(t, "rate_limit {\nzone part {\nkey {header.X-User}\nlimit 1/1h\ndry_run 50%\n}\n}\nrespond hello")
	passed := 0
	for i := range 100 {
		user := fmt.Sprint("X-User: ", i)
		g.get("/", user).is(200)
		if g.get("/", user).status == 200 {
			passed++
		}
	}
	if passed < 30 || passed > 70 {
		t.Errorf("%d of 100 keys are in the dry run, want about half", passed)
	}
}

// A dry run logs the first of the rejections in a window, as the zone itself would.
func TestDryRunLogsAsTheZone(t *testing.T) {
	g := serve(t, dryRun("limit 1/1h"))
	for range 5 {
		g.get("/", alice).is(200)
	}
	if lines := g.logged("request would be rejected"); len(lines) != 1 || lines[0]["would_be"] != 429.0 {
		t.Errorf("the log has %v, want one line about 429", lines)
	}
}

func TestDryRunInOutage(t *testing.T) {
	g := serveWith(t, "rate_limit {\nredis {\naddress 127.0.0.1:1\n}\n}",
		"rate_limit {\nlog_rejections all\nzone dry {\nkey all\nlimit 9/1h\non_outage closed\ndry_run\n}\n}\nrespond hello")
	g.get("/").is(200)
	if lines := g.logged("request would be rejected"); len(lines) != 1 || lines[0]["would_be"] != 503.0 {
		t.Errorf("the log has %v, want one line about 503", lines)
	}
}

// A dry run decides a request at several endpoints as the zone would: as one request, which is charged to
// each count once.
func TestDryRunOfReadings(t *testing.T) {
	for name, tc := range map[string]struct {
		settings                         string
		paths                            []string
		admitted, wouldReject, wouldDeny float64
	}{
		"the endpoint rejects": {"limit 9/1h\nendpoint /a 1/1h", []string{"/a;x", "/a;x"}, 1, 1, 0},
		"the rest rejects":     {"limit 1/1h\nendpoint /a 9/1h", []string{"/a;x", "/a;x"}, 1, 1, 0},
		"one blocks":           {"limit 1/1h\nendpoint /b block", []string{"/b;x", "/"}, 1, 1, 0},
		"the higher cost":      {"limit 7/1h\nendpoint /a {\ncost 2\n}\nendpoint /a/b {\ncost 3\n}", []string{"/a%2fb;x", "/a%2fb;x"}, 2, 0, 0},
		"too many endpoints":   {fiveEndpoints, []string{"//x/a%2fb;c"}, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := serve(t, dryRun(tc.settings))
			for _, path := range tc.paths {
				g.get(path, alice).is(200)
			}
			for series, want := range map[string]float64{
				`outcome="admitted",source="store"`: tc.admitted, `outcome="would_reject",source="store"`: tc.wouldReject,
				`outcome="would_deny",source=""`: tc.wouldDeny,
			} {
				if got := g.metric("caddy_rate_limit_decisions_total{" + series + `,zone="dry"}`); got != want {
					t.Errorf("decisions with %s = %v, want %v", series, got, want)
				}
			}
		})
	}
}
