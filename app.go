package fleetlimit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"
)

const appName = "rate_limit"

// App holds what all rate_limit handlers of a configuration share. It is optional: handlers work without it and count in
// the memory of this process.
type App struct {
	// Where a fleet keeps its counts, so that all its nodes together admit what the limits say. Default: counts are kept in
	// the memory of this process, and each node admits that much.
	Redis *Redis `json:"redis,omitempty"`

	// Named limits that zones can use.
	Tiers map[string]*Tier `json:"tiers,omitempty"`

	// What zones and handlers do not say themselves.
	Defaults *Defaults `json:"defaults,omitempty"`

	// How many nodes share the Redis, 1 to 10000. Only with `redis`. Default: they count themselves.
	Nodes int `json:"nodes,omitempty"`

	logger   *zap.Logger
	defaults Defaults
	store    *store
	release  func()

	mu          sync.Mutex // guards what follows
	zones       []*zone
	definitions map[string]definition
	ruleIDs     map[uint32]string
}

// definition is a zone as one handler wrote it.
type definition struct {
	text string // its JSON without what two sites may write differently
	zone *Zone
}

// CaddyModule returns the Caddy module information.
func (*App) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  appName,
		New: func() caddy.Module { return new(App) },
	}
}

// Provision checks the shared settings and acquires the store.
func (a *App) Provision(ctx caddy.Context) error {
	a.logger = ctx.Logger()
	if a.Defaults != nil {
		a.defaults = *a.Defaults
	}
	if _, err := a.defaults.Algorithm.compile(); err != nil {
		return fmt.Errorf("defaults: %w", err)
	}
	if _, err := parseHeaderSet(a.defaults.Headers); err != nil {
		return fmt.Errorf("defaults: %w", err)
	}
	if err := checkRejectStyle(a.defaults.Reject); err != nil {
		return fmt.Errorf("defaults: %w", err)
	}
	if err := a.defaults.consistency().validate(); err != nil {
		return fmt.Errorf("defaults: %w", err)
	}
	for name, tier := range a.Tiers {
		if !tier.limited() {
			return fmt.Errorf("tier %q has no limit: say one, such as {\"events\": 1000, \"window\": \"1m\"}", name)
		}
		if err := tier.validate(); err != nil {
			return fmt.Errorf("tier %q: %w", name, err)
		}
	}
	if err := a.checkNodes(); err != nil {
		return err
	}
	return a.provisionStore()
}

// provisionStore acquires the store. It dials nothing, so that a configuration loads while Redis is down.
func (a *App) provisionStore() (err error) {
	if a.Redis == nil {
		a.store, a.release, err = acquireMemory()
		return err
	}
	target, err := a.Redis.resolve()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	a.store, a.release, err = acquireRedis(target)
	return err
}

// Start tells the other nodes of a fleet how zones are defined here, and metrics how closely the fleet keeps to them.
func (a *App) Start() error {
	a.publishOvershoot()
	if a.store.nodes != nil {
		a.store.nodes.announce(a)
	}
	return nil
}

// Stop takes back what Start said. It is also called on reloads, which counts outlive.
func (a *App) Stop() error {
	if a.store.nodes != nil {
		a.store.nodes.Undefine(a)
	}
	return nil
}

// Cleanup gives the store back, whether or not Provision succeeded.
func (a *App) Cleanup() error {
	if a.release != nil {
		a.release()
		a.release = nil
	}
	return nil
}

// define records that a handler defines the zone name as z says. Two handlers may share a zone by defining it the same;
// two definitions that differ are an error, or a warning when both are in the syntax of caddy-ratelimit, which allows it.
func (a *App) define(name string, z *Zone, logger *zap.Logger) error {
	text, err := z.shared()
	if err != nil {
		return err
	}
	a.mu.Lock()
	earlier, found := a.definitions[name]
	if a.definitions == nil {
		a.definitions = make(map[string]definition)
	}
	a.definitions[name] = definition{text: text, zone: z}
	a.mu.Unlock()

	switch {
	case !found || earlier.text == text:
		return nil
	case earlier.zone.legacy() && z.legacy():
		logger.Warn("two definitions of one zone share their counts: give them different names if they are not the same",
			zap.String("zone", name))
		return nil
	default:
		return fmt.Errorf("is defined twice, differently: give one of them another name, or write both the same to share "+
			"the counts; earlier %s, now %s", earlier.text, text)
	}
}

// shared returns a text that is the same for zones that can share their counts. They may apply to different requests.
func (z *Zone) shared() (string, error) {
	shared := *z
	shared.MatcherSetsRaw = nil
	text, err := json.Marshal(shared)
	return string(text), err
}

// ruleID returns the number that identifies the counts of a rule. identity holds everything that a rule's counts belong
// to: what changes any of it starts fresh. The number is a hash, so that it is the same on every node and in every
// configuration.
func (a *App) ruleID(identity ...string) (uint32, error) {
	text := strings.Join(identity, "\x00")
	id := hash32(text)
	a.mu.Lock()
	defer a.mu.Unlock()
	if other, found := a.ruleIDs[id]; found && other != text {
		return 0, fmt.Errorf("its counts would be mixed with those of %q, whose names have the same hash: change a name",
			slices.Compact(strings.Split(other, "\x00")))
	}
	if a.ruleIDs == nil {
		a.ruleIDs = make(map[uint32]string)
	}
	a.ruleIDs[id] = text
	return id, nil
}

// hash32 is the 32-bit FNV-1a hash of s.
func hash32(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}

// Interface guards.
var (
	_ caddy.App          = (*App)(nil)
	_ caddy.Provisioner  = (*App)(nil)
	_ caddy.CleanerUpper = (*App)(nil)
)
