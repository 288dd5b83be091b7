package gateway

import (
	"time"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/operate/inspect"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/rules"
)

// rulesInForce returns the rules that requests read. It is one atomic load. Servers may start
// before the app: until the app starts, requests have the rules that the process knows already, so
// that a reload leaves no gap. If the process knows no rules yet, requests wait for the app.
func (a *App) rulesInForce() *zone.Snapshot {
	if s := a.inForce.Load(); s != nil {
		return s
	}
	a.applying.Lock()
	defer a.applying.Unlock()
	if s := a.inForce.Load(); s != nil {
		return s
	}
	return a.applyLocked(a.rulesBeforeStart())
}

// rulesBeforeStart returns the rules that requests have before the app follows its watcher.
func (a *App) rulesBeforeStart() *rules.Version {
	if w := a.ruleStore.Acquired(); w != nil {
		waitForRules(w.Loaded())
		return w.Latest()
	}
	if a.served && waitForRules(a.started) {
		return a.watcher.Latest()
	}
	return &rules.Version{Document: new(rules.Document)}
}

// applyLocked puts a version in force, and compiles the zones that it changes. a.applying must be
// held.
func (a *App) applyLocked(v *rules.Version) *zone.Snapshot {
	earlier := a.inForce.Load()
	if earlier != nil && earlier.Version == v {
		return earlier
	}
	now := time.Now()
	s, left := a.set.Compile(v, earlier, now)
	for _, l := range left {
		var about []zap.Field
		if l.Zone != nil {
			about = append(about, zap.String("zone", l.Zone.Name), report.PlaceField(l.Zone.Place))
		}
		a.logLeftOut(l.Errs, about...)
	}
	a.inForce.Store(s)
	s.TellStore(earlier, now)
	return s
}

// logLeftOut logs the rules that are left out of a version because they do not fit the
// configuration: the configuration has changed, or nobody has validated what was written to the
// store. It logs ten at most.
func (a *App) logLeftOut(left []error, about ...zap.Field) {
	for _, err := range left[:min(len(left), 10)] {
		a.logger.Warn("a rule is not in force, because it does not fit the configuration: use rules that fit, or delete the rule",
			append(about, zap.Error(err), zap.Int("of", len(left)))...)
	}
}

// maxRulesWait is how long a start waits for the rules, so that the first requests have them.
const maxRulesWait = 500 * time.Millisecond

// waitForRules waits until known is closed, for maxRulesWait at most, and reports whether it is
// closed.
func waitForRules(known <-chan struct{}) bool {
	timer := time.NewTimer(maxRulesWait)
	defer timer.Stop()
	select {
	case <-known:
		return true
	case <-timer.C:
		return false
	}
}

// acquireRules acquires the watcher of the rules, and waits for the rules a moment. The app must
// follow the watcher afterwards.
func (a *App) acquireRules() {
	a.watcher, a.releaseWatcher = a.ruleStore.Acquire(reports)
	waitForRules(a.watcher.Loaded())
}

// releaseRules ends what Start has begun.
func (a *App) releaseRules() {
	if a.unwatch == nil {
		return
	}
	a.unwatch()
	a.unwatch = nil
	a.releaseWatcher()
	var of *rules.Emergency
	if newest := newestApp(); newest != nil {
		of = newest.rulesInForce().Version.Document.Emergency
	}
	if err := emergencyMode.Follow(of); err != nil {
		a.logger.Error("the emergency of the rules cannot be switched on", zap.Error(err))
	}
}

// tellAgain tells the store and the metrics, which outlive configurations, which rules are in force
// in a. Another configuration, which has failed to start or has ended after a has started, may have
// told them its own rules.
func (a *App) tellAgain() {
	a.applying.Lock()
	defer a.applying.Unlock()
	if s := a.inForce.Load(); s != nil {
		s.TellStore(nil, time.Now())
	}
}

// follow puts the next version of the rules in force.
func (a *App) follow(t rules.Transition) {
	a.applying.Lock()
	a.applyLocked(t.To)
	a.applying.Unlock()
	a.dropCounts(t)
	if a.isOldest() { // otherwise the load may still fail; the older app hands the switch on when it is released
		if err := emergencyMode.Follow(t.To.Document.Emergency); err != nil {
			a.logger.Error("the emergency of the rules cannot be switched on", zap.Error(err))
		}
	}
	if newestApp() == a && t.From.Number != t.To.Number {
		reports.RulesChanged(a.watcher.Store().Name(), t.To)
	}
}

// dropCounts makes this node forget its leases and denials of the counts that operators have
// changed in the store.
func (a *App) dropCounts(t rules.Transition) {
	leases := a.store.Leases()
	if leases == nil {
		return // the counts are in memory, where operators have changed them
	}
	if t.Incomplete {
		for _, z := range a.set.All() {
			leases.DropDenials(z.Handle())
		}
	}
	for _, action := range t.Actions {
		ref := inspect.KeyRef{Key: action.Key, Stored: action.Stored}
		counts, _ := inspect.CountsOf(a.rulesInForce(), &ref, action.Endpoint) // a key that cannot be has no counts
		for _, c := range counts {
			if action.Kind == rules.Reset {
				leases.Drop(c.Rule, c.Key)
			} else {
				leases.DropDenial(c.Rule, c.Key)
			}
		}
	}
}
