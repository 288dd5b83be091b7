package integration

import (
	"fmt"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestAmbiguousRequestsAreExplained sends requests with two keys, two tiers or two costs, and one with
// neither a key nor its substitute. The response, and everything that operators see, says what is wrong, in
// each style of reject.
func TestAmbiguousRequestsAreExplained(t *testing.T) {
	const zone = `
		log
		rate_limit {
			reject %s
			log_rejections all
			zone plain {
				key {header.X-Api-Key}
				on_missing_key {header.X-Device}
				limit 9/1h
				tier {header.X-Plan} trusted {
					pro 20/1h
				}
				cost {query.cost} trusted
			}
		}
		respond "hello"
		handle_errors {
			respond "{err.status_code}: {err.message}"
		}`
	const twice = " is ambiguous: use its header or query parameter once, in its own spelling"
	const key = "X-Api-Key: a"
	cases := []struct {
		request         string
		reason, message string
	}{
		{rawGet("/0", key, "X-Api-Key: b"), "ambiguous_key", "The key" + twice},
		{rawGet("/1", key, "X-Plan: pro", "X-Plan: free"), "ambiguous_tier", "The tier" + twice},
		{rawGet("/2?cost=5&cost=1", key), "ambiguous_cost", "The cost" + twice},
		{rawGet("/3", "X-Device: a", "X-Device: b"), "ambiguous_key", "The key" + twice},
		{rawGet("/4"), "missing_key", "The request has neither the key nor what stands in for it"},
	}
	for style, body := range map[string]string{
		"json":    `{"error":{"code":"BAD_REQUEST","message":"%s","details":{"zone":"plain","reason":"%s"}}}` + "\n",
		"problem": `{"type":"about:blank","title":"Bad Request","status":400,"detail":"%s","zone":"plain","reason":"%s"}` + "\n",
		"error":   "400: %.0[2]s%[1]s",
	} {
		t.Run(style, func(t *testing.T) {
			g := serve(t, fmt.Sprintf(zone, style))
			before := g.metric(`caddy_rate_limit_decisions_total{outcome="denied",source="",zone="plain"}`)
			f := g.follow("outcome=denied", "")
			for i, tc := range cases {
				r := g.raw(tc.request).is(400).lacks("X-RateLimit-Limit").has("Cache-Control", "no-store")
				if want := fmt.Sprintf(body, tc.message, tc.reason); r.body != want {
					t.Errorf("%s: body %q, want %q", tc.reason, r.body, want)
				}
				if l := f.next(); l.Status != 400 || l.Reason != tc.reason || l.Zone != "plain" {
					t.Errorf("%s: the decision is %+v", tc.reason, l)
				}
				lines := g.logged("request denied")
				if len(lines) != i+1 || lines[i]["status"] != 400.0 || lines[i]["reason"] != tc.reason || lines[i]["zone"] != "plain" {
					t.Errorf("%s: the log has %v", tc.reason, lines)
				}
			}
			redistest.Eventually(t, "the access log", func() bool { return len(g.logged("handled request")) == len(cases) })
			for i, line := range g.logged("handled request") {
				delete(line["rate_limit"].(map[string]any), "key_hash") // only requests with an ambiguous tier or cost have a key
				want := fmt.Sprintf("map[decision:denied source:%s zone:plain]", cases[i].reason)
				if got := fmt.Sprint(line["rate_limit"]); got != want {
					t.Errorf("line %d of the access log has %s, want %s", i, got, want)
				}
			}
			if got := g.metric(`caddy_rate_limit_decisions_total{outcome="denied",source="",zone="plain"}`) - before; got != 5 {
				t.Errorf("decisions_total{denied} = %v, want 5", got)
			}
			g.raw(rawGet("/", key)).admitted(8) // nothing was charged
		})
	}
}

// TestAmbiguousInDryRun checks that a dry run says why the request would have got 400.
func TestAmbiguousInDryRun(t *testing.T) {
	g := serve(t, "rate_limit {\nlog_rejections all\nzone dry {\nkey {header.X-Api-Key}\nlimit 9/1h\ndry_run\n}\n}\nrespond ok")
	f := g.follow("outcome=would_deny", "")
	g.raw(rawGet("/", "X-Api-Key: a", "X-Api-Key: b")).is(200)
	if l := f.next(); l.Reason != "ambiguous_key" {
		t.Errorf("the decision is %+v, want the reason ambiguous_key", l)
	}
	lines := g.logged("request would be rejected")
	if len(lines) != 1 || lines[0]["would_be"] != 400.0 || lines[0]["reason"] != "ambiguous_key" {
		t.Errorf("the log has %v, want one line about 400", lines)
	}
}
