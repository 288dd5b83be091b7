package fleetlimit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
)

// A ruleSnapshot is a version of the rules, compiled for the zones of an app. It is immutable. A
// request reads one.
type ruleSnapshot struct {
	app       *App
	version   *rules.Version
	zones     []*zoneRules // by zone.index
	addresses *addressEntries
}

// of returns the rules of z.
func (s *ruleSnapshot) of(z *zone) *zoneRules { return s.zones[z.index] }

// rulesInForce returns the rules that requests read. It is one atomic load. Servers may start before
// the app. Requests that come in between have the rules that the process knows already, so a reload
// leaves no gap. If it knows none yet, they wait for the app.
func (a *App) rulesInForce() *ruleSnapshot {
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
	for _, w := range values[*ruleWatcher](rulePool) {
		if w.identity == a.ruleStore.identity {
			waitForRules(w.Loaded())
			return w.Latest()
		}
	}
	if a.served && waitForRules(a.started) {
		return a.watcher.Latest()
	}
	return &rules.Version{Document: new(rules.Document)}
}

// applyLocked puts a version in force, for the zones that it changes. It needs a.applying.
func (a *App) applyLocked(v *rules.Version) *ruleSnapshot {
	zones, earlier := a.allZones(), a.inForce.Load()
	if earlier != nil && earlier.version == v {
		return earlier
	}
	changes := changesOf(v.Document, time.Now())
	s := &ruleSnapshot{app: a, version: v, zones: make([]*zoneRules, len(zones))}
	var left []error
	s.addresses, left = newAddressEntries(v.Document.Access)
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if schema := (ruleSchema{a}); schema.zone(name) == nil {
			left = append(left, fmt.Errorf("%s: %w", changes[name].about(), schema.noZone(name)))
		}
	}
	a.logLeftOut(left)
	for i, z := range zones {
		s.zones[i] = z.configured
		if changes[z.name] != nil {
			was := z.configured
			if earlier != nil {
				was = earlier.of(z)
			}
			s.zones[i], left = z.compile(was, changes[z.name])
			a.logLeftOut(left, zap.String("zone", z.name), placeField(z.place))
		}
		if s.zones[i].compared != nil {
			z.counters.comparisons.used.Store(true)
		}
	}
	a.inForce.Store(s)
	a.publishOvershoot(s)
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

// rulePool has the watchers of the rules, which outlive configurations: ruleStoreTarget.identity ->
// *ruleWatcher.
var rulePool = caddy.NewUsagePool()

// A ruleWatcher is the watcher of a store of rules.
type ruleWatcher struct {
	*rules.Watcher
	identity string
	storage  *rulestore.Storage // nil unless the store is Caddy's storage
	release  func()             // of what the store uses; nil: nothing
}

// Destruct closes the watcher when the last app that uses the store has stopped.
func (w *ruleWatcher) Destruct() error {
	err := w.Close()
	if w.release != nil {
		w.release()
	}
	return err
}

// newRuleWatcher returns a watcher of the store of t. logger returns that of the newest
// configuration. The admin API validates changes: a rollback restores what was valid once.
func newRuleWatcher(t *ruleStoreTarget, logger func() *zap.Logger) (*ruleWatcher, error) {
	w := &ruleWatcher{identity: t.identity}
	store, err := t.open(w)
	if err != nil {
		return nil, err
	}
	about := zap.String("store", store.Name())
	w.Watcher = rules.NewWatcher(store, rules.Options{
		OnFailure: func(err error) {
			logger().Warn("the rules cannot be read, so the last known ones stay in force", about, zap.Error(err))
		},
		OnRecovery: func() { logger().Info("the rules can be read again", about) },
		OnRepair: func(restored *rules.Version, newest int64) {
			logger().Warn("the store had lost the newest version of the rules, which was written back", about,
				zap.Int64("version", restored.Number), zap.Int64("newest", newest))
		},
	})
	return w, nil
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
func (a *App) acquireRules() error {
	v, _, err := rulePool.LoadOrNew(a.ruleStore.identity, func() (caddy.Destructor, error) {
		return newRuleWatcher(a.ruleStore, func() *zap.Logger { return caddy.Log().Named(appName) })
	})
	if err != nil {
		return err
	}
	w := v.(*ruleWatcher)
	if w.storage != nil {
		w.storage.Use(a.ruleStore.storage)
	}
	a.watcher = w
	waitForRules(w.Loaded())
	return nil
}

// releaseRules ends what Start has begun.
func (a *App) releaseRules() {
	if a.unwatch == nil {
		return
	}
	a.unwatch()
	a.unwatch = nil
	_, _ = rulePool.Delete(a.ruleStore.identity) // a store that does not close well is left
	var of *rules.Emergency
	if newest := newestApp(); newest != nil {
		of = newest.rulesInForce().version.Document.Emergency
	}
	_ = emergencyMode.follow(of) // it was right before
}

// follow puts the next version of the rules in force.
func (a *App) follow(t rules.Transition) {
	a.applying.Lock()
	a.applyLocked(t.To)
	a.applying.Unlock()
	a.dropCounts(t)
	if newestApp() != a {
		return
	}
	if err := emergencyMode.follow(t.To.Document.Emergency); err != nil {
		a.logger.Error("the emergency of the rules cannot be switched on", zap.Error(err))
	}
	if t.From.Number == t.To.Number {
		return
	}
	a.logger.Info("the rules have changed", zap.Int64("version", t.To.Number), zap.String("author", t.To.Author),
		zap.String("note", t.To.Note), zap.String("store", a.watcher.Store().Name()))
	a.emit("rate_limit_rules", map[string]any{
		"version": t.To.Number, "author": t.To.Author, "note": t.To.Note, "store": a.watcher.Store().Name(),
	})
}

// dropCounts makes this node forget what operators have changed in the store of the counts.
func (a *App) dropCounts(t rules.Transition) {
	leases := a.store.leases
	if leases == nil {
		return // the counts are in memory: they have been changed themselves
	}
	if t.Incomplete {
		for _, z := range a.allZones() {
			leases.DropDenials(z.builder.handle)
		}
	}
	for _, action := range t.Actions {
		counts, _ := a.countsOf(&keyRef{action.Key, action.Stored}, action.Endpoint) // there are none of a key that cannot be
		for _, c := range counts {
			if action.Kind == rules.Reset {
				leases.Drop(c.Rule, c.Key)
			} else {
				leases.DropDenial(c.Rule, c.Key)
			}
		}
	}
}

// A ruleStoreTarget is a store of rules that nothing has connected to yet.
type ruleStoreTarget struct {
	identity string // equal for equal stores; without secrets
	open     func(*ruleWatcher) (rules.Store, error)
	storage  certmagic.Storage // of this configuration
}

// resolveRuleStore returns the store that s describes; nil: the default. redis has the counts, nil:
// they are in memory.
func resolveRuleStore(s *config.RuleStore, ctx caddy.Context, redis *redisTarget) (*ruleStoreTarget, error) {
	if err := s.Check(redis != nil); err != nil {
		return nil, err
	}
	name := config.RulesInStorage
	switch {
	case s != nil:
		name = s.Name
	case redis != nil:
		name = config.RulesInRedis
	}
	switch name {
	case config.RulesInRedis:
		return &ruleStoreTarget{
			identity: name + " " + redis.identity + " " + redis.prefix,
			open: func(w *ruleWatcher) (rules.Store, error) {
				client, release := acquireClient(redis)
				w.release = release
				return rulestore.NewRedis(client.Client, redis.prefix), nil
			},
		}, nil
	case config.RulesInPostgres:
		url, err := s.ResolveURL()
		if err != nil {
			return nil, err
		}
		checked, err := rulestore.OpenPostgres(url) // it does not connect
		if err != nil {
			return nil, err
		}
		_ = checked.Close() // it has nothing that could fail
		return &ruleStoreTarget{identity: name + " " + digest(url), open: func(*ruleWatcher) (rules.Store, error) {
			return rulestore.OpenPostgres(url)
		}}, nil
	}
	storage := ctx.Storage()
	text, err := json.Marshal(storage) // modules have their configuration in exported fields
	if err != nil {
		text = nil
	}
	return &ruleStoreTarget{
		identity: fmt.Sprintf("%s %T %s", name, storage, digest(string(text))), storage: storage,
		open: func(w *ruleWatcher) (rules.Store, error) {
			w.storage = rulestore.NewStorage(storage)
			return w.storage, nil
		},
	}, nil
}

// digest returns a text that is equal for equal texts and shows nothing of them.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
