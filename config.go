package fleetlimit

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
	// together; it has no dots and braces and is no placeholder's name. Required.
	Key string `json:"key,omitempty"`

	// Handles requests in which a placeholder of the key expands to nothing: another template counts
	// them by that, `shared` counts all of them together, `skip` leaves them out of this zone, and
	// `deny` answers 403. Keys made here never equal keys made by `key`. Default:
	// `{http.vars.client_ip}`.
	OnMissingKey string `json:"on_missing_key,omitempty"`

	// Limits requests without a key to this rate, in place of the limits of the zone and its tiers.
	// Each key that `on_missing_key` makes has one count for the whole zone. An endpoint with a lower
	// limit keeps it. Default: none, and they have the limits of keys.
	OnMissingLimit *Limit `json:"on_missing_limit,omitempty"`

	// Handles requests in which a header or query parameter of the key, tier or cost is ambiguous: it
	// occurs twice, or programs read it differently. `reject` answers 400, `missing` handles it as a
	// missing one. An ambiguous cookie always counts by the client's address. Default: `reject`.
	OnAmbiguousKey string `json:"on_ambiguous_key,omitempty"`

	// Counts IPv4 clients by this many leading bits of their address, 1 to 32: with 24, all of
	// 192.0.2.0/24 is one client. If set, it also applies to addresses in other placeholders than the
	// client's address and headers such as X-Real-IP. Default: 32.
	IPv4Prefix *int `json:"ipv4_prefix,omitempty"`

	// Counts IPv6 clients by this many leading bits of their address, 1 to 128. If set, it also
	// applies to addresses in other placeholders than the client's address and headers such as
	// X-Real-IP. Default: 64.
	IPv6Prefix *int `json:"ipv6_prefix,omitempty"`

	// Limits each key to this rate. Required unless all keys have tiers or all requests endpoints.
	Limit *Limit `json:"limit,omitempty"`

	// Enforces the limit with this algorithm. Default: `token_bucket`.
	Algorithm *Algorithm `json:"algorithm,omitempty"`

	Consistency

	// Gives keys different limits by their tier, such as `free` or `pro`. Default: no tiers.
	Tier *ZoneTier `json:"tier,omitempty"`

	// Gives methods and paths limits and counts of their own. A request is counted only at the first
	// endpoint that matches it, or else in the rest of the zone. Default: no endpoints.
	Endpoints []*Endpoint `json:"endpoints,omitempty"`

	// Counts each request as this many events. Default: 1.
	Cost *Cost `json:"cost,omitempty"`

	// Remembers at most this many keys in this process: the idlest make room for new ones. Redis has
	// no such bound. Default: 1000000.
	MaxKeys int `json:"max_keys,omitempty"`

	// Does not limit keys that match any of these globs, such as `sk_internal_*`. Other zones still
	// limit them.
	AllowKeys []string `json:"allow_keys,omitempty"`

	// Answers requests with 403 if their key matches any of these globs.
	DenyKeys []string `json:"deny_keys,omitempty"`

	// Does not enforce the zone for this fraction of keys, 0 to 1, or percentage, such as `10%`: their
	// requests are decided, counted and logged, but never rejected, and their responses have no headers
	// of the zone. The same keys are meant on all nodes. Default: 0.
	DryRun Fraction `json:"dry_run,omitempty"`

	// Decides requests a second time with another limit or algorithm, which rejects none of them. The
	// metrics say how often that would have made a difference. Default: none.
	Compare *Comparison `json:"compare,omitempty"`

	// The length of the window in the syntax of caddy-ratelimit. It makes the zone behave as in that
	// plugin: a sliding window log of `max_events` per `window`. Use `limit` in new configurations.
	Window caddy.Duration `json:"window,omitempty"`

	// The number of events per `window` in the syntax of caddy-ratelimit. 0 blocks every request.
	MaxEvents int64 `json:"max_events,omitempty"`

	// The file and line of the Caddyfile that has the zone, which errors and warnings name. It
	// changes nothing else. The Caddyfile adapter sets it.
	Place string `json:"place,omitempty"`
}

// Limit is a rate: a text such as `100/1m`, `100/1m burst 20`, `unlimited` or `block`, or an object
// in which exactly one of `events` with `window`, `unlimited`, and `block` is set.
type Limit struct {
	// Admits this many events per window, 1 to 1000000000000.
	Events int64 `json:"events,omitempty"`

	// The length of the window, such as `1m`: 1ms to 87600h.
	Window caddy.Duration `json:"window,omitempty"`

	// Admits this many events at once after a pause. Only for `token_bucket`. Default: `events`.
	Burst int64 `json:"burst,omitempty"`

	// Does not limit.
	Unlimited bool `json:"unlimited,omitempty"`

	// Rejects every request.
	Block bool `json:"block,omitempty"`
}

// Algorithm is a way to enforce a limit: a text such as `fixed_window` or `sliding_window 10`, or an
// object.
type Algorithm struct {
	// One of `token_bucket`, `sliding_window_log`, `sliding_window` and `fixed_window`.
	Name string `json:"name,omitempty"`

	// Cuts the window of `sliding_window` into this many parts, 1 to 1000. More parts are more exact
	// and need more memory. Default: 1.
	Subwindows int `json:"subwindows,omitempty"`
}

// Consistency is how closely the nodes that share a Redis keep to a limit, and what they do without
// it. What a tier or an endpoint does not set, it takes from the zone, and that from the app's
// `defaults`. At an endpoint, its tiers come first, then the endpoint itself, then the zone's tier.
type Consistency struct {
	// Selects what decides: with `lease`, nodes decide most requests by themselves, from events that
	// Redis has handed out to them; with `strict`, Redis decides every request. Default: `lease`.
	Mode string `json:"mode,omitempty"`

	// Lets all nodes together exceed the limit by at most this fraction, 0 to 1, or percentage, such
	// as `1%`. Default: `1%`.
	MaxOvershoot *Fraction `json:"max_overshoot,omitempty"`

	// Decides requests while the primary of Redis that has their count does not answer: `local` keeps
	// to a share of the limit on each node, `open` admits all of them, and `closed` answers 503.
	// Default: `local`.
	OnOutage string `json:"on_outage,omitempty"`
}

// ZoneTier gives the keys of a zone tiers, and the tiers limits.
type ZoneTier struct {
	// Expands to the name of the key's tier, such as `{http.auth.user.tier}`.
	Placeholder string `json:"placeholder,omitempty"`

	// Accepts a placeholder whose value clients control. Set it only if something in front of this
	// handler guarantees the value. Default: false.
	Trusted bool `json:"trusted,omitempty"`

	// The tiers by name. A tier without a limit (null, or only `mode`, `max_overshoot` and `on_outage`)
	// takes the limit, and what else it does not set, from the app's tier of the same name.
	Tiers map[string]*Tier `json:"tiers,omitempty"`

	// Gives keys tiers by pattern. The first pattern that matches comes before the placeholder.
	Keys []KeyTier `json:"keys,omitempty"`

	// The tier of keys whose tier is unknown or empty. Default: none, and the zone's limit applies.
	Default string `json:"default,omitempty"`
}

// Tier is the limit of a tier: a rate such as `1000/1m`, or an object.
type Tier struct {
	Limit
	Consistency
}

// KeyTier gives the keys that match a pattern a tier.
type KeyTier struct {
	// A glob of keys, such as `sk_enterprise_*`.
	Glob string `json:"glob,omitempty"`

	// The name of a tier of the zone.
	Tier string `json:"tier,omitempty"`
}

// Endpoint is a method and path pattern with a limit, and a count per key, of its own.
type Endpoint struct {
	// Matches these methods. GET includes HEAD. Default: all methods.
	Methods []string `json:"methods,omitempty"`

	// Matches this pattern of Caddy's `path` matcher: `/search`, `/users/*`, `*.json`. Required.
	Path string `json:"path,omitempty"`

	// Limits each key to this rate at this endpoint. Default: the zone's limit.
	Limit *Limit `json:"limit,omitempty"`

	// Enforces the limit with this algorithm. Default: the zone's algorithm.
	Algorithm *Algorithm `json:"algorithm,omitempty"`

	Consistency

	// Gives tiers of the zone limits at this endpoint. Other tiers have the endpoint's limit.
	Tiers map[string]*Tier `json:"tiers,omitempty"`

	// Counts each request as this many events. Default: the zone's cost.
	Cost *Cost `json:"cost,omitempty"`
}

// Comparison is what a zone would do with another limit or algorithm. The rest of the zone is the
// same, so endpoints and tiers keep what they set themselves, except that an algorithm without bursts
// leaves out theirs. Its counts are its own.
type Comparison struct {
	// Compares requests of this fraction of keys, above 0 to 1, or percentage, such as `10%`. The same
	// keys are meant on all nodes. Default: 1.
	Keys *Fraction `json:"keys,omitempty"`

	// Stands in place of the zone's limit. Default: the same.
	Limit *Limit `json:"limit,omitempty"`

	// Stands in place of the zone's algorithm. Default: the same.
	Algorithm *Algorithm `json:"algorithm,omitempty"`
}

// Cost is the number of events that a request counts as: a number, a placeholder such as
// `{http.vars.cost}`, which `trusted` may follow, or an object in which exactly one of `events` and
// `placeholder` is set.
type Cost struct {
	// A fixed number, from 1 to what the limit allows at once.
	Events int64 `json:"events,omitempty"`

	// Expands to the number, such as `{http.vars.cost}`. A value above what the limit allows at once
	// counts as that much; one below 1 or that is not a number counts as 1.
	Placeholder string `json:"placeholder,omitempty"`

	// Accepts a placeholder whose value clients control. Default: false.
	Trusted bool `json:"trusted,omitempty"`
}

// Defaults are the settings of zones and handlers that do not set them.
type Defaults struct {
	// Enforces limits with this algorithm. Default: `token_bucket`.
	Algorithm *Algorithm `json:"algorithm,omitempty"`

	Consistency

	// Sets these headers on responses: see the handler's `headers`.
	Headers string `json:"headers,omitempty"`

	// Rejects requests in this form: see the handler's `reject`.
	Reject string `json:"reject,omitempty"`
}

// Redis is where a fleet keeps its counts. All nodes that configure the same Redis and key prefix
// count together. Texts may contain global placeholders, such as `{env.REDIS_PASSWORD}`, which are
// replaced when the configuration loads.
//
// Nothing connects to Redis before the first request, so configurations load while Redis is down.
type Redis struct {
	// The kind of Redis behind the addresses: one `standalone` server, the sentinels of a master
	// (`sentinel`), or nodes of a `cluster`. Default: `standalone`.
	Mode string `json:"mode,omitempty"`

	// Connects to these addresses, as host:port. `standalone` has exactly one. The others learn the
	// rest of the addresses from those that are up. Required.
	Addresses []string `json:"addresses,omitempty"`

	// Logs in as this ACL user. Default: the user `default` of Redis.
	Username string `json:"username,omitempty"`

	// Logs in with this password. Use `\{` for a brace in it. Default: does not log in.
	Password string `json:"password,omitempty"`

	// The number of the database. A `cluster` has only number 0. Default: 0.
	DB int `json:"db,omitempty"`

	// The name of the master at the sentinels. Required for `sentinel`, and only valid there.
	MasterName string `json:"master_name,omitempty"`

	// Logs in at the sentinels with this password. Default: does not log in there.
	SentinelPassword string `json:"sentinel_password,omitempty"`

	// Starts the name of every key in Redis with this text of 1 to 64 characters, without spaces and
	// braces. Fleets with different prefixes do not share counts. Default: `rl`.
	KeyPrefix string `json:"key_prefix,omitempty"`

	// Waits at most this long for Redis before `on_outage` decides a request: 1ms to 10s. Default: 50ms.
	Timeout caddy.Duration `json:"timeout,omitempty"`

	// Opens at most this many connections to each primary. The default suits all measured loads.
	PoolSize int `json:"pool_size,omitempty"`

	// Connects with TLS. An empty object trusts the system's certificate authorities. Default: no TLS.
	TLS *RedisTLS `json:"tls,omitempty"`

	// The file and line of the Caddyfile that has these settings, which errors name. The Caddyfile
	// adapter sets it.
	Place string `json:"place,omitempty"`
}

// RedisTLS is how Redis proves its identity.
type RedisTLS struct {
	// Trusts the certificate authorities in this PEM file, which is read when the configuration
	// loads. Default: the system's authorities.
	CA string `json:"ca,omitempty"`

	// Expects a certificate for this name. Default: the host of the address.
	ServerName string `json:"server_name,omitempty"`

	// Accepts any certificate. Whoever intercepts the connection can then read the password and
	// change counts, so use it only for experiments. Default: false.
	InsecureSkipVerify bool `json:"insecure_skip_verify,omitempty"`
}

// Breaker is when requests stop waiting for a primary of Redis that fails, and when they go on.
//
// A circuit breaker opens at once when its primary refuses connections, and soon when the primary is
// silent. It also opens after `failures` in a row, or as many within `within` that are at least a
// fifth of what was sent to the primary: broken connections, and replies that took longer than the
// timeout of `redis`. While it is open, requests do not wait. The primary is probed, and the breaker
// closes after some good probes.
type Breaker struct {
	// Opens after this many failures. Default: 5.
	Failures int `json:"failures,omitempty"`

	// Counts failures over this time. Default: 10s.
	Within caddy.Duration `json:"within,omitempty"`

	// Probes a primary whose breaker is open this often. Default: 1s.
	ProbeEvery caddy.Duration `json:"probe_every,omitempty"`

	// Closes after this many good probes in a row. Default: 3.
	Probes int `json:"probes,omitempty"`
}

// RuleStore is where rules live that operators make while traffic runs: a text, such as `storage` or
// `postgres postgres://db.example.com/rules`, or an object. All nodes with the same store have the same
// rules.
type RuleStore struct {
	// The kind of store: `storage` is Caddy's storage, `redis` the Redis that has the counts, and
	// `postgres` a PostgreSQL. Required.
	Name string `json:"store,omitempty"`

	// The URL of the PostgreSQL. It may contain global placeholders, such as `{env.PGPASSWORD}`.
	URL string `json:"url,omitempty"`

	// The file and line of the Caddyfile that has the setting, which errors name. The Caddyfile
	// adapter sets it.
	Place string `json:"place,omitempty"`
}

// Distributed has no effect. It lets configurations of caddy-ratelimit load unchanged.
type Distributed struct {
	ReadInterval  caddy.Duration `json:"read_interval,omitempty"`
	WriteInterval caddy.Duration `json:"write_interval,omitempty"`
	PurgeAge      caddy.Duration `json:"purge_age,omitempty"`
}
