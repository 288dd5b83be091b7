// Package config is what operators write: the configuration of the rate_limit handler and of the
// app of that name, as JSON and in the grammar of the Caddyfile. It checks what can be checked from
// the text alone, and compiles nothing.
//
// Each file holds one idea:
//
//	config.go              the settings of the handler and of the app
//	zone.go                the settings of a zone, of its tiers and of its endpoints
//	cost.go, and others    a subdirective of zones, by which the file is named
//	endpoint.go            which settings of an endpoint need a limit of its own
//	limit.go               a limit, and the limit of a tier
//	size.go                sizes of memory
//	tiername.go            which tiers can stand side by side
//	rate.go                the syntax of rates, such as 100/1m, and what people write instead
//	enforcement.go         what decides under a limit
//	fraction.go            fractions and percentages
//	missingkey.go          what on_missing_key may be
//	word.go                settings that have few values, and what people write instead of those
//	legacy.go              zones in the syntax of caddy-ratelimit
//	definition.go          which zones are the same, and which are uses of another
//	warnings.go            settings that have no effect, or a high price
//	redis.go               where the counts are; breaker.go, when requests stop waiting for Redis
//	translated.go          prefixes of addresses that a translator writes
//	rulestore.go           where rules are; decisionlog.go, where decisions are recorded
//	settingerror.go        which setting of a zone is wrong
//	json.go                texts in place of objects
//	find.go                the settings in a whole configuration of Caddy
//	caddyfile.go           the grammar of the directive. The rest of the grammar is in
//	caddyfile_app.go       the global option
//	caddyfile_redis.go     redis and breaker in it; caddyfile_decisions.go, decisions in it
//	caddyfile_zones.go     the zones of a block
//	caddyfile_zone.go      a zone
//	caddyfile_tier.go      the tiers of a zone
//	caddyfile_endpoint.go  the endpoints of a zone
//	caddyfile_limit.go     lines that several blocks have; importargs.go, lost arguments of import
//	remedies.go            words of other blocks and programs
package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Handler has the settings of a rate_limit handler.
type Handler struct {
	// The zones by name. A name has 1 to 64 of the characters A-Z, a-z, 0-9, `_`, `.` and `-`. A
	// request is counted in all zones that match it, or, if one of them rejects it, in none. An empty
	// object uses the zone of that name in the app's `zones`. Such an object may set `match`,
	// `dry_run` and `compare`, which replace those of the app's zone.
	Zones Zones `json:"rate_limits,omitempty"`

	// Client addresses and ranges that no zone limits.
	Allow []string `json:"allow,omitempty"`

	// Client addresses and ranges whose requests get 403.
	Deny []string `json:"deny,omitempty"`

	// The headers of responses: `x` for X-RateLimit-Limit, -Remaining and -Reset, `draft` for
	// RateLimit and RateLimit-Policy (IETF draft-ietf-httpapi-ratelimit-headers-11), `all` or `none`.
	// With `none`, the bodies of rejections do not tell the limits either. Default: `all`.
	Headers string `json:"headers,omitempty"`

	// How requests are rejected, with 429, 403 or 400: `json` and `problem` (RFC 9457) write a body,
	// `error` invokes the error routes. Default: `json`, or `error` for zones in the syntax of
	// caddy-ratelimit.
	Reject string `json:"reject,omitempty"`

	// Which rejections are logged: the `first` of each key and window, `all` or `none`. With `first`,
	// a zone logs at most ten rejections in a second, and at most ten more that belong to no window:
	// those with 403 or 400, and those by `block`. Default: `first`, or `all` for zones in the syntax
	// of caddy-ratelimit.
	LogRejections string `json:"log_rejections,omitempty"`

	// If true, logs of rejections and records of decisions have the keys of requests, and not only a
	// hash of each key. Default: false, because keys may be secrets.
	LogKey bool `json:"log_key,omitempty"`

	// Lengthens Retry-After at random by up to this fraction, 0 to 1, or percentage, such as `20%`, so
	// that clients do not all return at once. Default: 0.
	Jitter Fraction `json:"jitter,omitempty"`

	// The longest wait that responses tell clients, in whole seconds, 1s to 3650d, such as `1h`. It
	// bounds Retry-After and `retry_after_seconds`, including their jitter. In the header RateLimit,
	// it bounds the parameter `t` of zones that reject the request or have nothing left. It changes no
	// decision. Default: the whole wait.
	MaxRetryAfter caddy.Duration `json:"max_retry_after,omitempty"`

	// Accepted so that configurations of caddy-ratelimit load unchanged; not used.
	SweepInterval caddy.Duration `json:"sweep_interval,omitempty"`

	// Accepted so that configurations of caddy-ratelimit load unchanged; not used.
	Distributed *Distributed `json:"distributed,omitempty"`

	// Accepted so that configurations of caddy-ratelimit load unchanged; not used.
	StorageRaw json.RawMessage `json:"storage,omitempty" caddy:"namespace=caddy.storage inline_key=module"`

	// If true, the metrics are not exposed, unless another rate_limit handler exposes them.
	DisableMetrics bool `json:"disable_metrics,omitempty"`

	// The file and line of the directive in the Caddyfile, for errors. The Caddyfile adapter sets it.
	Place string `json:"place,omitempty"`
}

// App has the settings that all rate_limit handlers of a configuration share.
type App struct {
	// Keeps counts in this Redis, so that all nodes of a fleet together admit what the limits allow.
	// Default: each node keeps its counts in memory, and by itself admits what the limits allow.
	Redis *Redis `json:"redis,omitempty"`

	// Zones that all handlers can use. A handler uses a zone by an empty object under the zone's name,
	// or by an object that has only `match`, `dry_run` and `compare`.
	Zones Zones `json:"zones,omitempty"`

	// Named limits that zones can use, such as `free` or `pro`.
	Tiers map[string]*Tier `json:"tiers,omitempty"`

	// Settings for zones and handlers that do not set them.
	Defaults *Defaults `json:"defaults,omitempty"`

	// The number of nodes that share the Redis, 1 to 10000. Only valid with `redis`. Default: the
	// nodes count themselves.
	Nodes int `json:"nodes,omitempty"`

	// The prefixes with which a translator in your network (NAT64, SIIT-DC) writes IPv4 addresses of
	// clients as IPv6 addresses, such as `2001:db8:64::/96`. A client with such an address counts as
	// its IPv4 address. Prefixes have 96 bits. `64:ff9b::/96`, which all networks share, is always one
	// of them.
	NAT64 []string `json:"nat64,omitempty"`

	// Stops requests from waiting for a primary of Redis that fails. Only valid with `redis`.
	Breaker *Breaker `json:"breaker,omitempty"`

	// The store of the rules, which operators change while traffic runs. Default: the Redis of
	// `redis`, or Caddy's storage if there is no Redis.
	Rules *RuleStore `json:"rules,omitempty"`

	// Records decisions about requests in Caddy's log, or in PostgreSQL. Default: they are not
	// recorded.
	Decisions *DecisionLog `json:"decisions,omitempty"`
}

// Defaults has settings for zones and handlers that do not set them.
type Defaults struct {
	// Enforces limits with this algorithm. Default: `token_bucket`.
	Algorithm *Algorithm `json:"algorithm,omitempty"`

	Enforcement

	// Sets these headers on responses: see the handler's `headers`.
	Headers string `json:"headers,omitempty"`

	// Rejects requests in this form: see the handler's `reject`.
	Reject string `json:"reject,omitempty"`
}

// Distributed has no effect. It lets configurations of caddy-ratelimit load unchanged.
type Distributed struct {
	// Not used.
	ReadInterval caddy.Duration `json:"read_interval,omitempty"`

	// Not used.
	WriteInterval caddy.Duration `json:"write_interval,omitempty"`

	// Not used.
	PurgeAge caddy.Duration `json:"purge_age,omitempty"`
}

// DefaultSettings returns the defaults, which are empty if there are none.
func (a *App) DefaultSettings() Defaults {
	if a.Defaults == nil {
		return Defaults{}
	}
	return *a.Defaults
}

// Check refuses wrong settings of the handler itself. It does not check the zones of the handler:
// to compile a zone is to check it.
func (h *Handler) Check() error {
	if len(h.Zones) == 0 && len(h.Allow) == 0 && len(h.Deny) == 0 {
		return errors.New("rate_limit has nothing to do: use at least one zone, `allow` or `deny`")
	}
	err := cmp.Or(CheckWord("headers", h.Headers), CheckWord("reject", h.Reject), CheckWord("log_rejections", h.LogRejections))
	if err == nil && (h.Jitter < 0 || h.Jitter > 1) {
		err = fmt.Errorf("jitter is %v: use a fraction from 0 to 1, such as 0.2 for 20%%", h.Jitter)
	}
	if err == nil && h.MaxRetryAfter != 0 && !isMaxRetryAfter(time.Duration(h.MaxRetryAfter)) {
		err = fmt.Errorf("max_retry_after is %v: use %s", time.Duration(h.MaxRetryAfter), maxRetryAfterRemedy)
	}
	return err
}

// maxRetryAfterRemedy says what max_retry_after may be.
const maxRetryAfterRemedy = "whole seconds with a unit, 1s to 3650d, such as 1h"

// isMaxRetryAfter reports whether d is a valid max_retry_after. Retry-After has whole seconds, and
// no wait is longer than the longest window.
func isMaxRetryAfter(d time.Duration) bool {
	return d >= time.Second && d <= limiter.MaxWindow && d%time.Second == 0
}

// Check refuses wrong settings of the app itself. It does not check the zones, Redis and the store
// of rules.
func (a *App) Check() error {
	if d := a.Defaults; d != nil {
		_, algorithm := d.Algorithm.Compile()
		err := cmp.Or(algorithm, CheckWord("headers", d.Headers), CheckWord("reject", d.Reject), d.CheckEnforcement())
		if err != nil {
			return fmt.Errorf("defaults: %w", err)
		}
	}
	for name, tier := range a.Tiers {
		if !tier.Limited() {
			return fmt.Errorf("tier %q has no limit: use one such as {\"events\": 1000, \"window\": \"1m\"}", name)
		}
		if err := cmp.Or(tier.Limit.Check(), tier.CheckEnforcement(), CheckConcurrent(tier.Concurrent)); err != nil {
			return fmt.Errorf("tier %q: %w", name, err)
		}
	}
	return cmp.Or(CheckTierNames(a.Tiers), a.checkNodes(), a.checkBreaker(), a.Decisions.check(a.Rules))
}

// MaxNodes is the largest value of App.Nodes.
const MaxNodes = 10000

func (a *App) checkNodes() error {
	switch {
	case a.Nodes < 0 || a.Nodes > MaxNodes:
		return fmt.Errorf("nodes is %d: use 1 to %d, or leave it out to have them counted", a.Nodes, MaxNodes)
	case a.Nodes > 0 && a.Redis == nil:
		return fmt.Errorf("nodes share no Redis: use `redis`, or leave out `nodes`")
	}
	return nil
}
