package fleetlimit

import (
	"github.com/caddyserver/caddy/v2"
)

// App holds what all rate_limit handlers of a configuration share. It is optional: handlers work without it and count in
// the memory of this process.
type App struct {
	// Named limits that zones can use.
	Tiers map[string]*Limit `json:"tiers,omitempty"`

	// What zones and handlers do not say themselves.
	Defaults *Defaults `json:"defaults,omitempty"`
}

// Handler limits the rate of requests. (docs: TODO by module.go's author)
type Handler struct {
	// The zones by name. Names are 1 to 64 of the characters A-Z, a-z, 0-9, `_`, `.` and `-`. A request takes from all
	// zones that match it, or from none.
	Zones map[string]*Zone `json:"rate_limits,omitempty"`

	// Client addresses and ranges that no zone limits.
	Allow []string `json:"allow,omitempty"`

	// Client addresses and ranges that are answered with 403.
	Deny []string `json:"deny,omitempty"`

	// Which headers responses get: `x` for X-RateLimit-Limit, -Remaining and -Reset, `draft` for RateLimit and
	// RateLimit-Policy (IETF draft-ietf-httpapi-ratelimit-headers-11), `all` or `none`. Default: `all`.
	Headers string `json:"headers,omitempty"`

	// How requests are rejected: `json` or `problem` (RFC 9457) write a body, `error` hands over to the error routes.
	// Default: `json`; `error` for zones in the syntax of caddy-ratelimit.
	Reject string `json:"reject,omitempty"`

	// Which rejections are logged: the `first` of each key and window, `all` or `none`. Default: `first`; `all` for zones
	// in the syntax of caddy-ratelimit.
	LogRejections string `json:"log_rejections,omitempty"`

	// Log the key of rejected requests. Default: false, as keys may be secrets.
	LogKey bool `json:"log_key,omitempty"`

	// Lengthens each Retry-After at random by up to this fraction of it, 0 to 1, so that clients do not all come back
	// at once. Default: 0.
	Jitter float64 `json:"jitter,omitempty"`

	// Accepted so that configurations of caddy-ratelimit load unchanged; not used.
	SweepInterval caddy.Duration `json:"sweep_interval,omitempty"`

	// Accepted so that configurations of caddy-ratelimit load unchanged; not used.
	Distributed *Distributed `json:"distributed,omitempty"`

	// Accepted so that configurations of caddy-ratelimit load unchanged; not used.
	StorageRaw storageModule `json:"storage,omitempty" caddy:"namespace=caddy.storage inline_key=module"`

	// Accepted so that configurations of caddy-ratelimit load unchanged; not used.
	DisableMetrics bool `json:"disable_metrics,omitempty"`
}
