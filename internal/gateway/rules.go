package gateway

import (
	"time"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/rules"
)

// rulesInForce returns the rules that requests read. It is one atomic load. Servers may start before
// the app. Requests that come in between have the rules that the process knows already, so a reload
// leaves no gap. If it knows none yet, they wait for the app.
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

// applyLocked puts a version in force, for the zones that it changes. It needs a.applying.
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

// logLeftOut logs what is left out of a version, as it does not fit the configuration: that has
// changed, or nobody has validated what was written to the store.
func (a *App) logLeftOut(left []error, about ...zap.Field) {
	for _, err := range left[:min(len(left), 10)] {
		a.logger.Warn("a rule is not in force, because it does not fit the configuration: use rules that do, or delete it",
			append(about, zap.Error(err), zap.Int("of", len(left)))...)
	}
}

// maxRulesWait is how long a start waits for the rules, so that the first requests have them.
const maxRulesWait = 500 * time.Millisecond

// waitForRules waits until known is closed, and reports whether it is. It does not wait for long.
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

// acquireRules acquires the watcher of the rules, and waits for them a moment. The app has to
// follow the watcher then.
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

// tellAgain tells what outlives configurations which rules are in force in a: another
// configuration, which has failed to start or ended later than a has started, may have told it its
// own.
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
	if a.isOldest() { // else the load may fail yet; the older app hands the switch on when it is released
		if err := emergencyMode.Follow(t.To.Document.Emergency); err != nil {
			a.logger.Error("the emergency of the rules cannot be switched on", zap.Error(err))
		}
	}
	if newestApp() == a && t.From.Number != t.To.Number {
		reports.RulesChanged(a.watcher.Store().Name(), t.To)
	}
}

// dropCounts makes this node forget what operators have changed in the store of the counts.
func (a *App) dropCounts(t rules.Transition) {
	leases := a.store.Leases()
	if leases == nil {
		return // the counts are in memory: they have been changed themselves
	}
	if t.Incomplete {
		for _, z := range a.set.All() {
			leases.DropDenials(z.Handle())
		}
	}
	for _, action := range t.Actions {
		ref := zone.KeyRef{Key: action.Key, Stored: action.Stored}
		counts, _ := a.rulesInForce().CountsOf(&ref, action.Endpoint) // there are none of a key that cannot be
		for _, c := range counts {
			if action.Kind == rules.Reset {
				leases.Drop(c.Rule, c.Key)
			} else {
				leases.DropDenial(c.Rule, c.Key)
			}
		}
	}
}
