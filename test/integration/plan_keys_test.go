package integration

import (
	"strings"
	"testing"
)

// TestPlanOfPrefix plans another prefix of IPv6 addresses, while an IPv4 client has counts.
func TestPlanOfPrefix(t *testing.T) {
	for _, tc := range []struct {
		key    string
		resets bool
	}{{"{client_ip}", true}, {"static", false}} {
		site := "rate_limit {\nzone user {\nkey " + tc.key + "\nlimit 9/1h\nipv6_prefix 56\n}\n}\nrespond hello"
		g := serve(t, site)
		g.get("/").is(200)
		plan := g.plan(g.caddyfile("", strings.Replace(site, "56", "48", 1)))
		if plan.Resets != tc.resets || len(plan.Zones) != 1 || plan.Zones[0].Counts != 0 {
			t.Errorf("key %s: the plan is %+v, want no count from zero", tc.key, plan)
		}
	}
}

// TestPlanOfDryRunKeys plans a new zone with a dry run, and the end of a dry run that has a key at its limit.
func TestPlanOfDryRunKeys(t *testing.T) {
	dry := strings.Replace(plannedSite, "limit 9/1h", "limit 9/1h\ndry_run", 1)
	g := serve(t, "respond hello")
	g.reload(strings.Replace(dry, "zone user", "zone other", 1))
	if plan := g.plan(g.caddyfile("", dry)); len(plan.Zones) != 2 || plan.Zones[1].DryRun != "100%" {
		t.Errorf("the plan is %+v, want the dry run of the new zone", plan)
	}
	g.reload(dry)
	for range 11 {
		g.get("/", "X-User: alice").is(200)
	}
	g.get("/", "X-User: bob").is(200)
	plan := g.plan(g.caddyfile("", plannedSite))
	if len(plan.Zones) != 1 || len(plan.Zones[0].Above) != 1 || !plan.Zones[0].Above[0].DryRunEnds || plan.Zones[0].Above[0].Consumed != 9 {
		t.Errorf("the plan is %+v, want alice at the limit", plan)
	}
}

// TestPlanOfMaskedLimit plans another limit of a zone whose limit the rules have replaced.
func TestPlanOfMaskedLimit(t *testing.T) {
	g := serve(t, plannedSite)
	g.admin("PATCH", "/rate_limit/rules", `{"zones": {"user": {"limit": "50/1h"}}}`).is(200)
	plan := g.plan(g.caddyfile("", strings.Replace(plannedSite, "limit 9/1h", "limit 7/1h", 1)))
	if len(plan.Zones) != 1 || len(plan.Zones[0].Limits) > 0 || len(plan.Zones[0].Masked) != 1 ||
		plan.Zones[0].Masked[0] != "the rest of the zone: 9/1h token_bucket is now 7/1h token_bucket" {
		t.Errorf("the plan is %+v, want a masked limit", plan)
	}
	plan = g.plan(g.caddyfile("", strings.Replace(plannedSite, "limit 9/1h", "limit 7/1h\non_outage closed", 1)))
	if len(plan.Zones) != 1 || len(plan.Zones[0].Limits) == 0 || len(plan.Zones[0].Masked) != 1 ||
		plan.Zones[0].Masked[0] != "the rest of the zone: 9/1h is now 7/1h" {
		t.Errorf("the plan is %+v, want a masked limit beside what changes about it", plan)
	}
}
