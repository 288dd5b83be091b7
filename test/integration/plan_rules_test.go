package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestPlanOfStoreOfRules plans a reload that changes where rules are kept, and then reloads. The plan and the
// log say that the reload copies no rules.
func TestPlanOfStoreOfRules(t *testing.T) {
	redis := redistest.NewServer(t)
	inRedis := "rate_limit {\nredis {\naddress " + redis.Addr + "\ntimeout 10s\n}\n}"
	g := serve(t, plannedSite)
	if plan := g.plan(g.caddyfile(inRedis, plannedSite)); len(plan.Rules) > 0 {
		t.Errorf("without rules, the plan says that some are not in force any more: %s", plan.Rules)
	}
	g.admin("POST", "/rate_limit/overrides", `{"id": "one", "zone": "user", "key": "alice", "limit": "8/1h"}`).is(201)
	want := fmt.Sprintf("[version 1 of the rules in storage, unless they are in redis %s db 0 key_prefix rl too: use `caddy "+
		"rate-limit rules get` before the reload and `caddy rate-limit rules put` after it]", redis.Addr)
	if got := fmt.Sprint(g.plan(g.caddyfile(inRedis, plannedSite)).Rules); got != want {
		t.Errorf("the plan says of the rules\n%s\nwant\n%s", got, want)
	}
	if plan := g.plan(g.caddyfile("", plannedSite)); len(plan.Rules) > 0 {
		t.Errorf("for the same store, the plan says that rules are not in force any more: %s", plan.Rules)
	}

	const message = "the reload has changed where rules are kept, and copies none"
	g.addr = redistest.FreeAddr()
	g.mustLoad(g.caddyfile(inRedis, plannedSite))
	if got := g.logged(message); len(got) != 1 || "["+got[0]["not_in_force"].(string)+"]" != want {
		t.Errorf("the log has %v, want one line with %s", got, want)
	}
	g.admin("GET", "/rate_limit/overrides/one", "").is(404)
	g.admin("POST", "/rate_limit/overrides", `{"id": "two", "zone": "user", "key": "bob", "limit": "8/1h"}`).is(201)
	again := strings.Replace(inRedis, "timeout 10s", "timeout 9s", 1)
	if plan := g.plan(g.caddyfile(again, plannedSite)); len(plan.Rules) > 0 {
		t.Errorf("for the same Redis, the plan says that rules are not in force any more: %s", plan.Rules)
	}
	g.addr = redistest.FreeAddr()
	g.mustLoad(g.caddyfile(again, plannedSite))
	if got := g.logged(message); len(got) != 1 {
		t.Errorf("after a reload with the same Redis, the log has %v", got)
	}
}

// TestPlanOfDryRun plans the end of a dry run, which changes no limit and no count.
func TestPlanOfDryRun(t *testing.T) {
	g := serve(t, strings.Replace(plannedSite, "limit 9/1h", "limit 9/1h\ndry_run", 1))
	plan := g.plan(g.caddyfile("", plannedSite))
	if got, want := fmt.Sprintf("%+v", plan.Zones), "[{Zone:user Change:changed Settings:[dry_run] Limits:[] DryRun:100% is now off "+
		"Masked:[] Reset:[] Counts:0 Above:[]}]"; got != want {
		t.Errorf("the plan is\n%s\nwant\n%s", got, want)
	}
	g.admin("PATCH", "/rate_limit/rules", `{"zones": {"user": {"dry_run": "10%"}}}`).is(200)
	if plan := g.plan(g.caddyfile("", plannedSite)); len(plan.Zones) != 1 ||
		fmt.Sprint(plan.Zones[0].Masked, plan.Zones[0].Settings) != "[dry_run: 100% is now off] []" {
		t.Errorf("the rules decide about the dry run, and the plan is %+v", plan.Zones)
	}
	g.admin("PATCH", "/rate_limit/rules", `{"zones": null}`).is(200)
	g.reload(plannedSite)
	if got := g.logged("the reload has changed a zone"); len(got) != 1 || fmt.Sprint(got[0]["settings"]) != "[dry_run]" {
		t.Errorf("the log has %v, want a line about dry_run", got)
	}
}

// Two sites share a zone, and only one of them enforces it.
func TestPlanOfDryRunInOneSite(t *testing.T) {
	g := newGateway(t)
	dry := strings.Replace(plannedSite, "limit 9/1h", "limit 9/1h\ndry_run", 1)
	g.mustLoad(g.caddyfile("", dry, plannedSite))
	if plan := g.plan(g.caddyfile("", plannedSite, dry)); len(plan.Zones) > 0 {
		t.Errorf("the sites are in another order, and the plan is %+v", plan.Zones)
	}
	if plan := g.plan(g.caddyfile("", dry, dry)); len(plan.Zones) != 1 || plan.Zones[0].DryRun != "100% and off is now 100%" {
		t.Errorf("the plan is %+v, want the end of enforcement", plan.Zones)
	}
}
