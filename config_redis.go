package fleetlimit

import "github.com/caddyserver/caddy/v2"

// Redis says where a fleet keeps its counts: all nodes whose configurations name the same Redis and key prefix count
// together. Texts may hold global placeholders, such as `{env.REDIS_PASSWORD}`, which are replaced when the configuration
// loads.
//
// Nothing is dialed until there are requests, so configurations load, and validate, while Redis is down.
type Redis struct {
	// What the addresses are: one `standalone` server, the sentinels of a master (`sentinel`), or nodes of a `cluster`.
	// Default: `standalone`.
	Mode string `json:"mode,omitempty"`

	// Addresses as host:port. Exactly one for `standalone`; for the others some that are up are enough, the rest is
	// learned from them. Required.
	Addresses []string `json:"addresses,omitempty"`

	// The ACL user to log in as. Default: Redis's `default` user.
	Username string `json:"username,omitempty"`

	// The password. A brace that is part of it is written `\{`. Default: none, so without logging in.
	Password string `json:"password,omitempty"`

	// The number of the database; a `cluster` has only number 0. Default: 0.
	DB int `json:"db,omitempty"`

	// The name under which the sentinels know the master. Required for `sentinel`, and for nothing else.
	MasterName string `json:"master_name,omitempty"`

	// The password of the sentinels themselves. Only for `sentinel`. Default: none.
	SentinelPassword string `json:"sentinel_password,omitempty"`

	// The start of the name of every key in Redis, 1 to 64 characters without spaces and braces. Fleets that share a
	// Redis and should not share counts have different ones. Default: `rl`.
	KeyPrefix string `json:"key_prefix,omitempty"`

	// How long a request waits for Redis at most; later it is admitted without being counted. Default: 50ms.
	Timeout caddy.Duration `json:"timeout,omitempty"`

	// How many connections to each primary there are at most, 1 or more. Default: a number that has been measured to be
	// enough.
	PoolSize int `json:"pool_size,omitempty"`

	// Use TLS. Default: no TLS; an empty object is TLS with the certificate authorities of the system.
	TLS *RedisTLS `json:"tls,omitempty"`
}

// RedisTLS says how Redis proves who it is.
type RedisTLS struct {
	// A file with the PEM certificates of the authorities to trust, read when the configuration loads. Default: the
	// authorities of the system.
	CA string `json:"ca,omitempty"`

	// The name that the certificate must be for. Default: the host of the address.
	ServerName string `json:"server_name,omitempty"`

	// Accept any certificate. Whoever can intercept the connection then reads the password and decides the counts; only
	// for trying things out. Default: false.
	InsecureSkipVerify bool `json:"insecure_skip_verify,omitempty"`
}
