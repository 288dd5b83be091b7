package zone

import (
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/rules"
)

// A limit of the rules replaces nothing but the limit: mode and on_outage stay.
func TestRulesKeepEnforcement(t *testing.T) {
	s := compiledZones(t, `{"stays": {
		"key": "{http.request.header.X-Api-Key}", "limit": "2/1h",
		"tier": {"tiers": {"pro": {"events": 4, "window": "1h", "mode": "strict", "on_outage": "closed"}, "free": "3/1h"},
			"keys": [{"glob": "pro-*", "tier": "pro"}, {"glob": "free-*", "tier": "free"}]},
		"endpoints": [{"path": "/search", "limit": "5/1h", "on_outage": "open",
			"tiers": {"pro": {"events": 6, "window": "1h", "mode": "lease"}, "free": {"events": 7, "window": "1h", "mode": "strict"}}}]}}`)
	z := s.All()[0]
	changed := s.put(t, `{"zones": {"stays": {"limit": "20/1h", "tiers": {"pro": "40/1h", "free": "30/1h"},
		"endpoints": {"/search": {"limit": "50/1h", "tiers": {"pro": "60/1h"}}}}}}`).rulesFor(z)
	for place, e := range changed.endpoints {
		for tier, r := range e.rules {
			before := z.configured.endpoints[place].rules[tier]
			if r.base() != before.base() {
				t.Errorf("the rule of tier %q at %q has %+v, want it as configured, %+v", z.tiers.names[tier], e.name(), r.base(), before.base())
			}
			raised := before.limit.Events * 10
			if e.name() != "" && z.tiers.names[tier] == "free" {
				raised = before.limit.Events // which the rules do not name
			}
			if r.limit.Events != raised {
				t.Errorf("the limit of tier %q at %q is %s, want %d events", z.tiers.names[tier], e.name(), r.limit.String(), raised)
			}
		}
	}
}

// What does not change stays the same in memory, also the rules that stores have seen.
func TestUnchangedRulesStay(t *testing.T) {
	s := compiledZones(t, fmt.Sprintf(zoneForRules, "unchanged"))
	z := s.All()[0]
	if got := s.put(t, `{}`).rulesFor(z); got != z.configured {
		t.Error("without rules, the zone has others than those of its configuration")
	}
	first := s.put(t, `{"zones": {"unchanged": {"limit": "7/1h"}}}`).rulesFor(z)
	for i, e := range first.endpoints[:2] {
		for tier, r := range e.rules {
			if r != z.configured.endpoints[i].rules[tier] {
				t.Errorf("endpoint %d, tier %d: another rule, though its limit is as configured", i, tier)
			}
		}
	}
	second := s.put(t, `{"zones": {"unchanged": {"limit": "7/1h"}}, "overrides": [
		{"id": "o", "zone": "unchanged", "key": "a", "multiplier": 2}]}`).rulesFor(z)
	third := s.put(t, `{"zones": {"unchanged": {"limit": "7/1h"}}, "overrides": [
		{"id": "o", "zone": "unchanged", "key": "b", "multiplier": 2}]}`).rulesFor(z)
	if !first.sameRules(second) || !second.sameRules(third) {
		t.Error("an override has changed the rules of the zone")
	}
	text := overrideText{multiplier: 2}
	if second.overrides[text] == nil || second.overrides[text] != third.overrides[text] {
		t.Error("equal overrides of two versions are two")
	}
	fourth := s.put(t, `{"zones": {"unchanged": {"limit": "8/1h"}}, "overrides": [
		{"id": "o", "zone": "unchanged", "key": "b", "multiplier": 2}]}`).rulesFor(z)
	if fourth.overrides[text] == third.overrides[text] {
		t.Error("an override keeps rules that the zone does not have any more")
	}
	if s.put(t, `{}`).rulesFor(z) != z.configured {
		t.Error("after all rules are gone, the zone has others than those of its configuration")
	}
}

func TestManyOverridesCompile(t *testing.T) {
	const n = 20_000
	s := compiledZones(t, fmt.Sprintf(zoneForRules, "many-overrides"))
	d := new(rules.Document)
	for i := range n {
		d.Overrides = append(d.Overrides, &rules.Override{
			Entry: rules.Entry{ID: fmt.Sprint(i)}, Key: rules.Key{Zone: "many-overrides", Text: fmt.Sprintf("overridden-%d", i)},
			Limit: fmt.Sprintf("%d/1m", 1_000_000+i),
		})
	}
	compiled, left := s.Compile(&rules.Version{Document: d}, nil, time.Now())
	z := s.All()[0]
	for _, o := range d.Overrides {
		keys, err := z.KeysOf(&o.Key)
		if err != nil || compiled.rulesFor(z).keys.find(keys[0]) == nil {
			t.Fatalf("key %s has no entry, error %v, left out %v", o.Key.Text, err, left)
		}
	}
}

// Entries that have expired cost a zone nothing.
func TestChangesOfLeavesOutExpiredEntries(t *testing.T) {
	now := time.Now()
	over := rules.Entry{ID: "over", ExpiresAt: &now}
	key := rules.Key{Zone: "z", Text: "k"}
	d := &rules.Document{
		Overrides: []*rules.Override{{Entry: over, Key: key, Limit: "1/1s"}},
		Tiers:     []*rules.TierAssignment{{Entry: over, Key: key, Tier: "pro"}},
		Access:    []*rules.AccessEntry{{Entry: over, Key: &key, Action: rules.Deny}},
	}
	if got := changesOf(d, now); len(got) != 0 {
		t.Errorf("changes of zones = %v, want none", got["z"])
	}
	if c := changesOf(d, now.Add(-1))["z"]; c == nil || len(c.overrides) != 1 || len(c.tiers) != 1 || len(c.access) != 1 {
		t.Errorf("changes before the end = %+v, want one of each kind", c)
	}
}

const zoneForRules = `{%q: {
	"key": "{http.request.header.X-Api-Key}", "limit": "2/1h",
	"tier": {"tiers": {"pro": "4/1h", "free": "3/1h"}, "keys": [{"glob": "pro-*", "tier": "pro"}, {"glob": "free-*", "tier": "free"}]},
	"endpoints": [
		{"methods": ["GET"], "path": "/search*", "limit": "5/1h", "tiers": {"pro": "6/1h"}},
		{"path": "/fixed", "limit": "5/1h", "algorithm": "fixed_window"},
		{"path": "/other", "limit": "unlimited"}]}}`
