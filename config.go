package fleetlimit

import (
	"encoding/json"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// Zone is a named limit policy: what is counted, how much of it is allowed, and how that is enforced. Every request that
// matches a zone is counted in it.
type Zone struct {
	// Which requests the zone applies to: any of these sets of matchers. Default: all requests.
	MatcherSetsRaw caddyhttp.RawMatcherSets `json:"match,omitempty" caddy:"namespace=http.matchers"`

	// What is counted: a template of placeholders, such as `{http.request.header.X-Api-Key}` or
	// `{http.vars.client_ip}`, or a static text to count all requests together. Required.
	Key string `json:"key,omitempty"`

	// What to do when a placeholder of the key expands to nothing: another template, `skip` to leave the request out of
	// this zone, or `deny` to answer 403. Keys made by this template never meet keys made by `key`.
	// Default: `{http.vars.client_ip}`.
	OnMissingKey string `json:"on_missing_key,omitempty"`

	// What to do when a header or query parameter of the key, tier or cost is ambiguous: it occurs more than once, or
	// programs read it differently. `reject` answers 400, `missing` counts it as a missing one. An ambiguous cookie
	// always counts by the client's address. Default: `reject`.
	OnAmbiguousKey string `json:"on_ambiguous_key,omitempty"`

	// How many leading bits of an IPv4 address count as one client, 0 to 32. Default: 32. When it is set, it also
	// applies to addresses that other placeholders, such as a header, expand to.
	IPv4Prefix *int `json:"ipv4_prefix,omitempty"`

	// How many leading bits of an IPv6 address count as one client, 0 to 128. Default: 64. When it is set, it also
	// applies to addresses that other placeholders, such as a header, expand to.
	IPv6Prefix *int `json:"ipv6_prefix,omitempty"`

	// How much is allowed. May be left out when every key gets its limit from a tier, or every request from an endpoint.
	Limit *Limit `json:"limit,omitempty"`

	// How the limit is enforced. Default: `token_bucket`.
	Algorithm *Algorithm `json:"algorithm,omitempty"`

	// How the nodes that share a Redis enforce the limit together: `lease`, so that they decide most requests by
	// themselves, or `strict`, so that Redis decides every one. Default: `lease`.
	Mode string `json:"mode,omitempty"`

	// By what fraction of the limit the nodes that share a Redis may exceed it, 0 to 1. Default: 0.01.
	MaxOvershoot *float64 `json:"max_overshoot,omitempty"`

	// Gives keys different limits by their tier.
	Tier *ZoneTier `json:"tier,omitempty"`

	// Method and path patterns with limits and counts of their own. The first that matches is the only count of this
	// zone that is charged.
	Endpoints []*Endpoint `json:"endpoints,omitempty"`

	// How many events a request counts for. Default: 1.
	Cost *Cost `json:"cost,omitempty"`

	// The most keys the zone remembers at a time in this process; the idlest make room for new ones. Counts in Redis are
	// not bounded by it. Default: 1000000.
	MaxKeys int `json:"max_keys,omitempty"`

	// Keys that this zone does not limit, as globs: `sk_internal_*`. A key bypasses this zone only.
	AllowKeys []string `json:"allow_keys,omitempty"`

	// Keys that are answered with 403, as globs.
	DenyKeys []string `json:"deny_keys,omitempty"`

	// The length of the window, in the syntax of caddy-ratelimit. It makes the zone a legacy zone, which behaves as
	// that plugin does: a sliding window log of `max_events` per `window`. Use `limit` in new configurations.
	Window caddy.Duration `json:"window,omitempty"`

	// The events per `window`, in the syntax of caddy-ratelimit. 0 blocks every request.
	MaxEvents int64 `json:"max_events,omitempty"`
}

// Limit is an amount of events per window of time. Exactly one of `events` with `window`, `unlimited` and `block` is set.
type Limit struct {
	// How many events a window admits, 1 to 1000000000000.
	Events int64 `json:"events,omitempty"`

	// The length of the window, 1ms to 87600h.
	Window caddy.Duration `json:"window,omitempty"`

	// How many events may happen at once after a pause: the capacity of the token bucket. Default: `events`.
	Burst int64 `json:"burst,omitempty"`

	// Do not limit.
	Unlimited bool `json:"unlimited,omitempty"`

	// Reject every request.
	Block bool `json:"block,omitempty"`
}

// Algorithm is a way to enforce a limit.
type Algorithm struct {
	// `token_bucket`, `sliding_window_log`, `sliding_window` or `fixed_window`.
	Name string `json:"name,omitempty"`

	// For `sliding_window`: how many parts the window is cut into, 1 to 1000; more follow the window more closely.
	// Default: 1.
	Subwindows int `json:"subwindows,omitempty"`
}

// ZoneTier says how a key's tier is found, and which limit each tier has.
type ZoneTier struct {
	// Expands to the name of the key's tier.
	Placeholder string `json:"placeholder,omitempty"`

	// Accept a placeholder whose value the client writes. Only set it when something in front of this handler
	// guarantees the value.
	Trusted bool `json:"trusted,omitempty"`

	// The tiers by name. A tier without a limit here (null, or no more than `mode` and `max_overshoot`) has the limit of
	// the app's tier of the same name, and what else that says.
	Tiers map[string]*Tier `json:"tiers,omitempty"`

	// Tiers by key: the first pattern that matches the key decides, before the placeholder does.
	Keys []KeyTier `json:"keys,omitempty"`

	// The tier of keys whose tier is unknown or empty. Default: none, so that the zone's own limit applies.
	Default string `json:"default,omitempty"`
}

// Tier is the limit of a tier, and how closely the nodes of a fleet keep to it.
type Tier struct {
	Limit

	// See the zone's `mode`. Default: the zone's, or at an endpoint the endpoint's.
	Mode string `json:"mode,omitempty"`

	// See the zone's `max_overshoot`. Default: the zone's, or at an endpoint the endpoint's.
	MaxOvershoot *float64 `json:"max_overshoot,omitempty"`
}

// KeyTier gives the keys that match a pattern a tier.
type KeyTier struct {
	// A pattern of keys, such as `sk_enterprise_*`.
	Glob string `json:"glob,omitempty"`

	// The name of one of the zone's tiers.
	Tier string `json:"tier,omitempty"`
}

// Endpoint is a method and path pattern with a limit and a count per key of its own.
type Endpoint struct {
	// The methods it applies to; GET includes HEAD. Default: all.
	Methods []string `json:"methods,omitempty"`

	// The path pattern, as in Caddy's `path` matcher: `/search`, `/users/*`, `*.json`.
	Path string `json:"path,omitempty"`

	// How much is allowed. Default: the zone's limit, for a count of the endpoint's own.
	Limit *Limit `json:"limit,omitempty"`

	// How the limit is enforced. Default: the zone's algorithm.
	Algorithm *Algorithm `json:"algorithm,omitempty"`

	// How the nodes that share a Redis enforce the limit together: `lease` or `strict`. Default: that of the key's tier in
	// the zone, else the zone's.
	Mode string `json:"mode,omitempty"`

	// By what fraction of the limit the nodes that share a Redis may exceed it, 0 to 1. Default: that of the key's tier in
	// the zone, else the zone's.
	MaxOvershoot *float64 `json:"max_overshoot,omitempty"`

	// The limits of the zone's tiers at this endpoint, by tier. A tier that is not named here has the endpoint's limit.
	Tiers map[string]*Tier `json:"tiers,omitempty"`

	// How many events a request counts for. Default: the zone's cost.
	Cost *Cost `json:"cost,omitempty"`
}

// Cost is how many events a request counts for: exactly one of `events` and `placeholder` is set.
type Cost struct {
	// A fixed number, 1 or more and not above what the limit allows at once.
	Events int64 `json:"events,omitempty"`

	// Expands to the number. Values above what the limit allows at once count as that; values that are not a number or
	// are below 1 count as 1.
	Placeholder string `json:"placeholder,omitempty"`

	// Accept a placeholder whose value the client writes.
	Trusted bool `json:"trusted,omitempty"`
}

// Defaults are the values of what zones and handlers do not say themselves.
type Defaults struct {
	// How zones enforce their limits. Default: `token_bucket`.
	Algorithm *Algorithm `json:"algorithm,omitempty"`

	// How the nodes that share a Redis enforce limits together; see the zone's `mode`. Default: `lease`.
	Mode string `json:"mode,omitempty"`

	// By what fraction of a limit the nodes that share a Redis may exceed it; see the zone's `max_overshoot`.
	// Default: 0.01.
	MaxOvershoot *float64 `json:"max_overshoot,omitempty"`

	// Which headers responses get; see the handler's `headers`.
	Headers string `json:"headers,omitempty"`

	// How requests are rejected; see the handler's `reject`.
	Reject string `json:"reject,omitempty"`
}

// Distributed is accepted so that configurations of caddy-ratelimit load unchanged; it has no effect.
type Distributed struct {
	// Not used.
	ReadInterval caddy.Duration `json:"read_interval,omitempty"`

	// Not used.
	WriteInterval caddy.Duration `json:"write_interval,omitempty"`

	// Not used.
	PurgeAge caddy.Duration `json:"purge_age,omitempty"`
}

// legacy reports whether z is spelled in the syntax of caddy-ratelimit.
func (z *Zone) legacy() bool { return z.Window != 0 || z.MaxEvents != 0 }

// storageModule is the raw config of a storage module that is accepted and not used.
type storageModule = json.RawMessage
