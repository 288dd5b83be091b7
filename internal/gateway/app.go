package gateway

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/fleet/membership"
	"github.com/fleetlimit/fleetlimit/internal/fleet/rulewatch"
	"github.com/fleetlimit/fleetlimit/internal/fleet/stores"
	"github.com/fleetlimit/fleetlimit/internal/observe/decisionlog"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/operate/inspect"
	"github.com/fleetlimit/fleetlimit/internal/request/emergency"
	"github.com/fleetlimit/fleetlimit/internal/request/evaluate"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/internal/text/spelling"
	"github.com/fleetlimit/fleetlimit/limiter/redisstore"
)

// AppName is the name of the app in configurations.
const AppName = "rate_limit"

// countFormat names the format of counts in Redis. A version of this plugin that stores counts in
// another format has another name for it. Its counts have other IDs and start at zero, so that two
// versions on one Redis do not read each other's counts. Tests build a version with another name.
var countFormat = "2"

// reports tells operators what happens besides requests.
var reports = report.NewProcess(func() *report.Log {
	if a := newestApp(); a != nil {
		return a.log
	}
	return nil
}, limitsInForce)

// limitsInForce returns the limits of the newest app. It returns nil before an app has rules.
func limitsInForce() []usage.LimitInForce {
	if a := newestApp(); a != nil {
		if rules := a.inForce.Load(); rules != nil {
			return inspect.Limits(rules)
		}
	}
	return nil
}

// An App is what all handlers of a configuration share, as operators write it and as it runs.
type App struct {
	config.App // what operators write

	ctx     caddy.Context // for the http and events apps
	logger  *zap.Logger
	log     *report.Log
	redis   *stores.Target // nil if the counts are in memory
	store   *stores.Store
	release func()
	http    *caddyhttp.App // nil before Start, and if there are no servers
	set     zone.Set

	requests evaluate.App

	ruleStore      *rulewatch.Target
	recorded       *decisionlog.Log   // nil if decisions are not recorded
	releaseLog     func()             // releases recorded; nil if decisions are not recorded
	registered     bool               // the metrics are registered
	served         bool               // a handler is in an HTTP server, which may start before the app
	started        chan struct{}      // closed when Start has set watcher
	watcher        *rulewatch.Watcher // nil before Start
	unwatch        func()
	releaseWatcher func()
	applying       sync.Mutex // held while inForce changes
	inForce        atomic.Pointer[zone.Snapshot]

	mu          sync.Mutex              // guards the fields below
	settings    []any                   // the settings of the app and of its handlers
	definitions map[string]*config.Zone // by the names of zones; unchanged once all handlers are provisioned
	handlersLog *report.Log             // of all handlers; nil if none is provisioned
}

// emergencyMode is the hard limit in front of all zones of this process.
var emergencyMode = emergency.New(reports)

// Provision checks the shared settings and acquires the store. It connects to nothing, so that a
// configuration loads while Redis is down.
func (a *App) Provision(ctx caddy.Context) (err error) {
	defer func() { err = spelling.Bound(err) }()
	a.requests.Zones, a.requests.Rules, a.requests.HasZone = &a.set, a.rulesInForce, a.hasZone
	a.requests.Newest = a.newest
	a.requests.Emergency, a.requests.InRedis = emergencyMode, a.Redis != nil
	a.ctx, a.logger, a.started = ctx, ctx.Logger(), make(chan struct{})
	if err := a.Check(); err != nil {
		return err
	}
	if a.requests.Translated, err = a.Translated(); err != nil {
		return err
	}
	a.noteSettings(&a.App)
	a.prepareSet()
	if err := a.provisionZones(); err != nil {
		return err
	}
	if err := a.watchDrain(); err != nil {
		return err
	}
	if a.log, err = report.NewLog(ctx); err != nil {
		return err
	}
	if err := a.resolveRedis(); err != nil {
		return err
	}
	a.store, a.release = stores.Acquire(a.redis, reports)
	if a.ruleStore, err = rulewatch.Resolve(a.Rules, ctx.Storage(), a.redis); err != nil {
		return atPlace(cmp.Or(a.Rules, new(config.RuleStore)).Place, fmt.Errorf("rules: %w", err))
	}
	if err := a.acquireDecisionLog(); err != nil {
		return atPlace(a.Decisions.Place, fmt.Errorf("decisions: %w", err))
	}
	for _, warning := range a.Warnings() {
		a.logger.Warn("a setting has no effect", zap.Error(warning))
	}
	return nil
}

// Start checks that requests reach the handlers, follows the rules, and publishes the definitions
// of the zones to the other nodes. All apps are provisioned by then.
func (a *App) Start() error {
	var servers map[string]*caddyhttp.Server
	if app, err := a.ctx.AppIfConfigured("http"); err == nil {
		a.http = app.(*caddyhttp.App)
		servers = a.http.Servers
	}
	if err := a.checkReached(servers); err != nil {
		return err
	}
	a.acquireRules()
	close(a.started)
	a.noteStart()
	a.warnUnusedZones()
	a.readRoutes(servers)
	a.store.Announce(a, a.fleetDefinitions, a.Nodes, a.ctx.Storage(), encodedTop)
	a.unwatch = a.watcher.Subscribe(a.follow)
	return nil
}

// Stop logs what a reload changes and drops, because all apps of the new configuration have started
// by then. It ends nothing. Requests are served until the HTTP app has stopped, which may be later.
// Until then, the node stays in its fleet and follows the rules. Cleanup, which is called after all
// apps have stopped, ends that.
func (a *App) Stop() error {
	if newest := newestApp(); newest != nil && newest != a {
		newest.logReload(a)
	}
	return nil
}

// runningApps has the apps that have been started and not cleaned up, in the order of their starts.
// During a reload, there are two. If the reload fails, the older one goes on.
var runningApps struct {
	sync.Mutex
	apps []*App
}

func (a *App) noteStart() {
	runningApps.Lock()
	defer runningApps.Unlock()
	runningApps.apps = append(runningApps.apps, a)
}

func (a *App) noteStop() {
	runningApps.Lock()
	defer runningApps.Unlock()
	runningApps.apps = slices.DeleteFunc(runningApps.apps, func(b *App) bool { return b == a })
}

// newestApp returns the running app that was started last, or nil if none runs.
func newestApp() *App {
	runningApps.Lock()
	defer runningApps.Unlock()
	if len(runningApps.apps) == 0 {
		return nil
	}
	return runningApps.apps[len(runningApps.apps)-1]
}

// isOldest reports whether a is the running app that was started first.
func (a *App) isOldest() bool {
	runningApps.Lock()
	defer runningApps.Unlock()
	return len(runningApps.apps) > 0 && runningApps.apps[0] == a
}

// newest returns what the handlers of the newest configuration share, if that configuration has the
// same store as a. Otherwise it returns what the handlers of a share.
func (a *App) newest() *evaluate.App {
	if newest := newestApp(); newest != nil && newest.store == a.store {
		return &newest.requests
	}
	return &a.requests
}

// Cleanup withdraws the definitions of the zones, and releases the rules and the store. Counts
// outlive it, because reloads call it, too. Provision may have failed, and Start may not have been
// called.
func (a *App) Cleanup() error {
	if a.releaseLog != nil {
		a.releaseLog() // before noteStop: if Caddy shuts down, the recorder still uses the log of this app
		a.releaseLog = nil
	}
	a.noteStop()
	a.releaseRules()
	if newest := newestApp(); newest != nil && a.inForce.Load() != nil {
		newest.tellAgain()
	}
	if a.store != nil {
		a.store.Withdraw(a)
	}
	if a.release != nil {
		a.release()
		a.release = nil
	}
	return nil
}

// resolveRedis finds out where the counts are, and connects to nothing.
func (a *App) resolveRedis() (err error) {
	if a.Redis == nil {
		return nil
	}
	if a.redis, err = stores.Resolve(a.Redis, a.Breaker); err != nil {
		return atPlace(a.Redis.Place, fmt.Errorf("redis: %w", err))
	}
	return nil
}

// acquireDecisionLog acquires the log of decisions, if decisions are recorded. It connects to
// nothing.
func (a *App) acquireDecisionLog() error {
	target, err := decisionlog.Resolve(a.Decisions, a.Rules)
	if target != nil {
		a.recorded, a.releaseLog = target.Acquire(a.store.Node(), reports)
	}
	return err
}

// prepareSet tells the set what zones have in common.
func (a *App) prepareSet() {
	a.set.Defaults, a.set.SharedTiers, a.set.CountFormat = a.DefaultSettings(), a.Tiers, countFormat
	if a.Redis != nil {
		a.set.Check = redisstore.Check
	}
}

// define records that a handler defines the zone name as z. It returns an error if another handler
// defines it differently, and logs a warning if caddy-ratelimit allows that.
func (a *App) define(name string, z *config.Zone, logger *zap.Logger) error {
	a.mu.Lock()
	earlier := a.definitions[name]
	if a.definitions == nil {
		a.definitions = make(map[string]*config.Zone)
	}
	a.definitions[name] = z
	a.mu.Unlock()

	switch {
	case earlier == nil || earlier.Definition() == z.Definition():
		return nil
	case earlier.CanShareCounts(z):
		logger.Warn("two different zones of one name share their counts: use different names to count them apart",
			zap.String("zone", name), report.PlaceField(z.Place))
		return nil
	}
	remedy := "use another name for one of them, the same definition to share their counts, or one in the app"
	if a.Zones[name] != nil {
		remedy = "use only `match` here to have the definition of the app, or another name"
	}
	other := "the other"
	if earlier.Place != "" {
		other += ", at " + earlier.Place + ","
	}
	return fmt.Errorf("two different definitions: %s; %s is %s, this is %s",
		remedy, other, earlier.Definition(), z.Definition())
}

// encodedTop returns the keys that use a zone of this node most, for other nodes.
func encodedTop(zone string) []byte {
	view := usage.TopOf(zone)
	return view.Append(nil)
}

// fleetDefinitions returns the definitions of the app's zones by name.
func (a *App) fleetDefinitions() map[string]membership.Definition {
	a.mu.Lock()
	defer a.mu.Unlock()
	definitions := make(map[string]membership.Definition, len(a.definitions))
	for name, z := range a.definitions {
		definitions[name] = a.fleetDefinition(z)
	}
	return definitions
}

// fleetDefinition returns the definition of a zone for the other nodes. It returns nil if z is nil.
func (a *App) fleetDefinition(z *config.Zone) membership.Definition {
	if z == nil {
		return nil
	}
	definition := a.FleetDefinition(z)
	definition["count_format"] = countFormat
	return definition
}

// logOfHandlers returns the log of the handlers of the configuration. All handlers share it,
// because many sites have one.
func (a *App) logOfHandlers(ctx caddy.Context) (_ *report.Log, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.handlersLog == nil {
		a.handlersLog, err = report.NewLog(ctx)
	}
	return a.handlersLog, err
}

// definition returns the definition of a zone, or nil if no handler defines it.
func (a *App) definition(name string) *config.Zone {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.definitions[name]
}

// hasZone reports whether any handler defines the zone name. It takes no lock: only requests call
// it, and they come after all handlers are provisioned.
func (a *App) hasZone(name string) bool {
	return a.definitions[name] != nil
}

// Interface guards.
var (
	_ caddy.App          = (*App)(nil)
	_ caddy.Provisioner  = (*App)(nil)
	_ caddy.CleanerUpper = (*App)(nil)
)
