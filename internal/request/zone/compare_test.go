package zone

import "testing"

// What does not change stays the same in memory, also compared rules.
func TestUnchangedComparedRulesStay(t *testing.T) {
	const zone = "compared-unchanged"
	s := compiledZones(t, `{"`+zone+`": {"key": "all", "limit": "5/1h", "compare": {"limit": "8/1h"}}}`)
	z := s.All()[0]
	versions := []*zoneRules{z.configured}
	for _, dryRun := range []string{"1%", "2%"} {
		versions = append(versions, s.put(t, `{"zones": {"`+zone+`": {"dry_run": "`+dryRun+`"}}}`).rulesFor(z))
	}
	for _, v := range versions[1:] {
		if !v.sameRules(z.configured) {
			t.Error("a version that changes no limit has other rules")
		}
	}
	other := s.put(t, `{"zones": {"`+zone+`": {"compare": {"limit": "9/1h"}}}}`).rulesFor(z)
	if other.sameRules(z.configured) {
		t.Error("a version with another comparison has the same rules")
	}
}

// What makes no difference is probably a mistake.
func TestUselessComparisonIsWarnedAbout(t *testing.T) {
	for compare, warnings := range map[string]int{
		`{"limit": "9/1m"}`:                                  1,
		`{"limit": "9/1m burst 9"}`:                          1,
		`{"algorithm": "token_bucket"}`:                      1,
		`{"algorithm": "fixed_window"}`:                      0,
		`{"limit": "9/1m", "algorithm": "token_bucket"}`:     1,
		`{"limit": "10/1m", "algorithm": "token_bucket"}`:    0,
		`{"limit": "9/1m", "algorithm": "sliding_window 2"}`: 0,
	} {
		z := compiledZone(t, `{"key": "all", "limit": "9/1m", "compare": `+compare+`}`)
		if got := z.Warnings; len(got) != warnings {
			t.Errorf("%s: warnings = %v, want %d", compare, got, warnings)
		}
	}
}
