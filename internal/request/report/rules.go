package report

import (
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/fleet/rulewatch"
	"github.com/fleetlimit/fleetlimit/rules"
)

// RulesOptions implements rulewatch.Observer.
func (p *Process) RulesOptions(store string) rules.Options {
	about := zap.String("store", store)
	return rules.Options{
		OnFailure: func(err error) {
			p.logger().Warn("the rules cannot be read, so the last known ones stay in force", about, zap.Error(err))
		},
		OnUnread: func(err error) {
			p.logger().Error("no rules are in force: their store cannot be read, and there is no copy of them", about, zap.Error(err))
		},
		OnRecovery: func() { p.logger().Info("the rules can be read again", about) },
		OnRepair: func(restored *rules.Version, newest int64) {
			p.restored.WithLabelValues(store).Inc()
			p.logger().Warn("the store had lost the newest version of the rules, which was written back", about,
				zap.Int64("version", restored.Number), zap.Int64("newest", newest))
		},
		OnNewLineage: func(known, made *rules.Version) {
			p.logger().Warn("the store has rules that were made anew, in place of those that were in force here", about,
				zap.Int64("version", made.Number), zap.String("author", made.Author), zap.Int64("known", known.Number))
		},
		OnCopyInForce: func(v *rules.Version) {
			p.logger().Warn("the store has no rules or does not answer, so those of the copy in Caddy's storage are in force",
				about, zap.Int64("version", v.Number), zap.Time("time", v.Time))
		},
		OnRefill: func(versions int) {
			p.logger().Info("the history of the rules was written back from the copy in Caddy's storage", about,
				zap.Int("versions", versions))
		},
		OnCopyFailure: func(err error) {
			p.logger().Warn("the copy of the rules in Caddy's storage cannot be kept: use a storage that can be written", about,
				zap.Error(err))
		},
	}
}

// RulesAtRisk implements rulewatch.Observer.
func (p *Process) RulesAtRisk(store, why, eviction string) {
	p.logger().Warn(why, zap.String("store", store), zap.String("maxmemory_policy", eviction))
}

// RulesChanged reports that a version of the rules is in force.
func (p *Process) RulesChanged(store string, v *rules.Version) {
	p.logger().Info("the rules have changed", zap.Int64("version", v.Number), zap.String("author", v.Author),
		zap.String("note", v.Note), zap.String("summary", v.Summary), zap.String("store", store))
	p.emit("rate_limit_rules", map[string]any{
		"version": v.Number, "author": v.Author, "note": v.Note, "summary": v.Summary, "store": store,
	})
}

// Interface guard.
var _ rulewatch.Observer = (*Process)(nil)
