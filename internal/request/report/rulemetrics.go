package report

import "github.com/fleetlimit/fleetlimit/internal/fleet/rulewatch"

var (
	descRulesVersion = desc("rules_version", "The version of the rules that is in force on this node; 0 if there are none.",
		"store")
	descRulesFailed = desc("rules_failed_polls_total", "Reads of the rules that have failed. The last known ones stay in "+
		"force meanwhile.", "store")
)

// collectRules collects the watchers of rules. During a reload, two watchers may have stores of the same
// name: the newer version is collected, and the failures are summed.
func (s scrape) collectRules() {
	versions, failed := make(map[string]int64), make(map[string]uint64)
	for _, w := range rulewatch.All() {
		name := w.Store().Name()
		versions[name] = max(versions[name], w.Latest().Number)
		failed[name] += uint64(w.FailedPolls())
	}
	for name, version := range versions {
		s.gauge(descRulesVersion, float64(version), name)
		s.count(descRulesFailed, failed[name], name)
	}
}
