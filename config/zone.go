package config

import (
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// Zone is a named limit: what is counted, how much of it is allowed, and how that is enforced.
// Every request that matches a zone is counted in it.
type Zone struct {
	// Applies the zone only to requests that match any of these matcher sets. Default: all requests.
	MatcherSetsRaw caddyhttp.RawMatcherSets `json:"match,omitempty" caddy:"namespace=http.matchers"`

	// Counts requests by this template of placeholders, such as `{http.request.header.X-Api-Key}` or
	// `{http.vars.client_ip}`. A text without a placeholder, such as `static`, counts all requests
	// together; such a text must have no dots and braces, and must not be the name of a placeholder.
	// Required, except in a zone that has only `adaptive`.
	Key string `json:"key,omitempty"`

	// Handles requests in which a placeholder of the key expands to nothing: another template counts
	// them by a key of that template, `shared` counts all of them together, `skip` leaves them out of
	// this zone, and `deny` answers 403. Keys made here never equal keys made by `key`. Default:
	// `{http.vars.client_ip}`.
	OnMissingKey string `json:"on_missing_key,omitempty"`

	// Limits requests without a key to this rate, in place of the limits of the zone and its tiers.
	// Each key that `on_missing_key` makes has one count for the whole zone. An endpoint with a lower
	// limit keeps it. Default: the limits of the zone and its tiers.
	OnMissingLimit *Limit `json:"on_missing_limit,omitempty"`

	// Handles requests in which a header or query parameter of the key, tier or cost is ambiguous: it
	// occurs twice, or programs read it differently. `reject` answers 400, `missing` handles the
	// parameter as a missing one. A request with an ambiguous cookie is always counted by the client's
	// address. Default: `reject`.
	OnAmbiguousKey string `json:"on_ambiguous_key,omitempty"`

	// Matches endpoints, and paths in `match`, on this path: `original` is the path that the client
	// has sent, `current` is what earlier handlers, such as `rewrite`, have made of it. Default:
	// `current`.
	OnPath string `json:"on_path,omitempty"`

	// Counts IPv4 clients by this many leading bits of their address, 1 to 32: with 24, all of
	// 192.0.2.0/24 is one client. It applies to the client's address and to headers such as X-Real-IP,
	// and, if it is set, to addresses in all other placeholders. Default: 32.
	IPv4Prefix *int `json:"ipv4_prefix,omitempty"`

	// Counts IPv6 clients by this many leading bits of their address, 1 to 128. It applies to the
	// client's address and to headers such as X-Real-IP, and, if it is set, to addresses in all other
	// placeholders. Default: 64.
	IPv6Prefix *int `json:"ipv6_prefix,omitempty"`

	// Limits each key to this rate. Required unless all keys have tiers, all requests match endpoints,
	// or `concurrent` or `adaptive` limits the requests.
	Limit *Limit `json:"limit,omitempty"`

	// Enforces the limit with this algorithm. Default: `token_bucket`.
	Algorithm *Algorithm `json:"algorithm,omitempty"`

	Enforcement

	// Admits this many requests of each key at once, 1 to 1000000000. A request counts until its
	// response has ended. Use it beside `limit` or in place of it. Default: no such limit.
	Concurrent int `json:"concurrent,omitempty"`

	// Stops counting a request for `concurrent` after this time, 1s to 30d, even if the request goes
	// on. Default: 1h, but streams of events and upgraded connections count until they end.
	MaxHold caddy.Duration `json:"max_hold,omitempty"`

	// Lets a request go on for up to this long after its client has hung up, 1s to 1h, and counts it
	// for `concurrent` until the upstream has answered. Otherwise the request stops counting at once,
	// and the client can send the next one while the upstream still works on it. Default: 0, which
	// cancels the request at once.
	HoldAfterCancel caddy.Duration `json:"hold_after_cancel,omitempty"`

	// Limits how many requests of all keys together are in flight at once. The latency of the
	// responses decides the number. Requests that the upstream cannot take are rejected with 503. A
	// zone with only `adaptive` needs no key. Default: no such limit.
	Adaptive *Adaptive `json:"adaptive,omitempty"`

	// Gives keys different limits by their tier, such as `free` or `pro`. Default: no tiers.
	Tier *ZoneTier `json:"tier,omitempty"`

	// Gives methods and paths limits and counts of their own, or costs. The first endpoint that
	// matches a request decides. Default: no endpoints.
	Endpoints []*Endpoint `json:"endpoints,omitempty"`

	// Counts each request as this many events. Default: 1.
	Cost *Cost `json:"cost,omitempty"`

	// Counts only requests whose response has one of these statuses: `401`, a class such as `5xx`, or
	// `!2xx` for all but a class. At most as many requests are under way as the limit has left.
	// Further requests wait as long as `wait` says. Default: all requests count.
	CountStatus Statuses `json:"count_status,omitempty"`

	// Lets requests above the limit wait up to this long for their turn, in order of arrival, instead
	// of rejecting them: 1ms to 1m, or 0 to reject them at once. Default: 0, or `1s` with
	// `count_status`.
	Wait *caddy.Duration `json:"wait,omitempty"`

	// Charges requests when their responses have ended, by what the responses say, in place of `cost`.
	// Until then a request has reserved events. The events that it was not charged are then given
	// back. Default: requests are charged their cost.
	Charge *Charge `json:"charge,omitempty"`

	// Charges a response at most this many events. Default: 100 times the limit.
	ChargeMax int64 `json:"charge_max,omitempty"`

	// Remembers at most this many keys in this process. The keys that were idle for longest make room
	// for new ones. Redis has no such bound. Default: 1000000.
	MaxKeys int `json:"max_keys,omitempty"`

	// Remembers no more keys than fit into this memory, in bytes or as a text with a unit, such as
	// `256MB`. Default: 512MB, if there is no `max_keys`.
	MaxMemory Size `json:"max_memory,omitempty"`

	// Does not limit keys that match any of these globs, such as `sk_internal_*`. Other zones still
	// limit them.
	AllowKeys []string `json:"allow_keys,omitempty"`

	// Answers requests with 403 if their key matches any of these globs.
	DenyKeys []string `json:"deny_keys,omitempty"`

	// Does not enforce the zone for this fraction of keys, 0 to 1, or percentage, such as `10%`: their
	// requests are decided, counted and logged, but never rejected, and their responses have no
	// headers of the zone. All nodes choose the same keys. Default: 0.
	DryRun Fraction `json:"dry_run,omitempty"`

	// Gives the responses that reject requests for this zone (429, 503, 403 and 400) these headers:
	// for each name a list of values, which may have placeholders, such as
	// `https://example.com/limits/{http.rate_limit.exceeded.name}`. They replace headers of the same
	// names that were set before. A value that expands to nothing is left out. Default: none.
	RejectHeaders map[string][]string `json:"reject_headers,omitempty"`

	// Decides requests a second time with another limit or algorithm, but rejects none by that. The
	// metrics say how often the second decision differs. Default: none.
	Compare *Comparison `json:"compare,omitempty"`

	// The length of the window in the syntax of caddy-ratelimit. It makes the zone behave as in that
	// plugin: a sliding window log of `max_events` per `window`. Use `limit` in new configurations.
	Window caddy.Duration `json:"window,omitempty"`

	// The number of events per `window` in the syntax of caddy-ratelimit. 0 blocks every request.
	MaxEvents int64 `json:"max_events,omitempty"`

	// The file and line of the zone in the Caddyfile, for errors and warnings. It changes nothing
	// else. The Caddyfile adapter sets it.
	Place string `json:"place,omitempty"`
}

// ZoneTier gives the keys of a zone tiers, and the tiers limits.
type ZoneTier struct {
	// A placeholder that expands to the name of the key's tier, such as `{http.auth.user.tier}`.
	Placeholder string `json:"placeholder,omitempty"`

	// Accepts a placeholder whose value clients control. Set it only if something in front of this
	// handler guarantees the value. Default: false.
	Trusted bool `json:"trusted,omitempty"`

	// The tiers by name. A tier without a limit (null, or only `mode` and `on_outage`) takes the
	// limit, and other settings that it does not have, from the app's tier of the same name.
	Tiers map[string]*Tier `json:"tiers,omitempty"`

	// Gives keys tiers by pattern. The first pattern that matches decides, even if `placeholder` names
	// another tier.
	Keys []KeyTier `json:"keys,omitempty"`

	// The tier of keys whose tier is unknown or empty. Default: none, and the zone's limit applies.
	Default string `json:"default,omitempty"`
}

// KeyTier gives the keys that match a pattern a tier.
type KeyTier struct {
	// A glob of keys, such as `sk_enterprise_*`.
	Glob string `json:"glob,omitempty"`

	// The name of a tier of the zone.
	Tier string `json:"tier,omitempty"`
}

// Endpoint is a method and path pattern. An endpoint with a limit has a count of its own for each
// key. The requests of an endpoint without a limit are charged to the count of the zone, at the
// cost that the endpoint sets.
type Endpoint struct {
	// Matches these methods. GET includes HEAD. Default: all methods.
	Methods []string `json:"methods,omitempty"`

	// Matches this pattern of Caddy's `path` matcher: `/search`, `/users/*`, `*.json`. Required.
	Path string `json:"path,omitempty"`

	// Limits each key to this rate at this endpoint, with a count of its own. Default: requests are
	// charged to the count of the zone.
	Limit *Limit `json:"limit,omitempty"`

	// Enforces the limits of this endpoint with this algorithm. Default: the zone's algorithm.
	Algorithm *Algorithm `json:"algorithm,omitempty"`

	Enforcement

	// Admits this many requests of each key at once at this endpoint, and counts them apart from the
	// rest of the zone. Default: they are counted for the zone's `concurrent`.
	Concurrent int `json:"concurrent,omitempty"`

	// Gives tiers of the zone limits at this endpoint. Other tiers have the endpoint's limit, or else
	// are charged to the count of the zone.
	Tiers map[string]*Tier `json:"tiers,omitempty"`

	// Counts each request as this many events. Default: the zone's cost.
	Cost *Cost `json:"cost,omitempty"`

	// Counts only requests whose response has one of these statuses. Default: the zone's
	// `count_status`.
	CountStatus Statuses `json:"count_status,omitempty"`

	// Lets requests above the limit wait up to this long for their turn. Default: the zone's `wait`.
	Wait *caddy.Duration `json:"wait,omitempty"`

	// Charges requests when their responses have ended. Default: the zone's `charge`, unless the
	// endpoint has `cost` or `count_status`.
	Charge *Charge `json:"charge,omitempty"`

	// Charges a response at most this many events. Default: the zone's `charge_max`.
	ChargeMax int64 `json:"charge_max,omitempty"`
}
