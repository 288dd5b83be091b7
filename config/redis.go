package config

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
)

// Redis is where a fleet keeps its counts. All nodes that configure the same Redis and key prefix
// count together. Texts may contain global placeholders, such as `{env.REDIS_PASSWORD}`, which are
// replaced when the configuration loads.
//
// Nothing connects to Redis before the first request, so configurations load while Redis is down.
type Redis struct {
	// The kind of Redis behind the addresses: one `standalone` server, the sentinels of a master
	// (`sentinel`), or nodes of a `cluster`. Default: `standalone`.
	Mode string `json:"mode,omitempty"`

	// Connects to these addresses, as host:port. `standalone` has exactly one. The addresses of a
	// `sentinel` or `cluster` may be incomplete: the servers at them tell the others. Required.
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

	// Waits at most this long until a call to Redis is written, and at most as long again for the
	// answer: 1ms to 10s. Default: 50ms.
	Timeout caddy.Duration `json:"timeout,omitempty"`

	// Keeps this many connections to each primary open, 1 to 1000. More are opened, up to 16, while
	// replies take so long that requests would wait for a connection. Default: 2.
	PoolSize int `json:"pool_size,omitempty"`

	// Connects with TLS. An empty object trusts the system's certificate authorities. Default: no TLS.
	TLS *RedisTLS `json:"tls,omitempty"`

	// The file and line of these settings in the Caddyfile, for errors. The Caddyfile adapter sets it.
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

// The bounds of Redis.Timeout. Within less than the least, no Redis answers.
const (
	minRedisTimeout = time.Millisecond
	maxRedisTimeout = 10 * time.Second
)

// maxPoolSize is the largest PoolSize. Each connection carries thousands of calls per second.
const maxPoolSize = 1000

// maxKeyPrefix is the longest key prefix in bytes. Every key in Redis has it.
const maxKeyPrefix = 64

// The values of Redis.Mode.
const (
	RedisStandalone = "standalone"
	RedisSentinel   = "sentinel"
	RedisCluster    = "cluster"
)

// Resolve returns a copy of c with placeholders replaced and defaults set. It returns an error if a
// setting is wrong.
func (c *Redis) Resolve() (*Redis, error) {
	r, err := c.replaced()
	if err != nil {
		return nil, err
	}
	if setting, err := r.check(true); err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	return r, nil
}

// replaced returns a copy of c with placeholders replaced and defaults set.
func (c *Redis) replaced() (*Redis, error) {
	r := *c
	r.Addresses = slices.Clone(c.Addresses)
	type text struct {
		setting string
		value   *string
	}
	texts := []text{
		{"username", &r.Username},
		{"password", &r.Password},
		{"master_name", &r.MasterName},
		{"sentinel_password", &r.SentinelPassword},
		{"key_prefix", &r.KeyPrefix},
	}
	for i := range r.Addresses {
		texts = append(texts, text{"address", &r.Addresses[i]})
	}
	if c.TLS != nil {
		own := *c.TLS
		r.TLS = &own
		texts = append(texts, text{"tls: ca", &own.CA}, text{"tls: server_name", &own.ServerName})
	}
	for _, t := range texts {
		var err error
		if *t.value, err = replaceGlobal(*t.value, strings.HasSuffix(t.setting, "password")); err != nil {
			return nil, fmt.Errorf("%s: %w", t.setting, err)
		}
	}
	r.Mode = cmp.Or(r.Mode, RedisStandalone)
	r.KeyPrefix = cmp.Or(r.KeyPrefix, "rl")
	r.Timeout = cmp.Or(r.Timeout, caddy.Duration(50*time.Millisecond))
	return &r, nil
}

// replaceGlobal replaces the placeholders in a setting. Its error does not contain a secret, only
// the name of the variable or file that has it.
func replaceGlobal(s string, secret bool) (string, error) {
	repl := caddy.NewReplacer()
	if _, err := repl.ReplaceOrErr(s, true, false); err != nil {
		return "", fmt.Errorf("%w when the configuration loads: use one that has a value", err)
	}
	replaced, err := repl.ReplaceOrErr(s, false, true)
	switch {
	case err != nil && secret:
		return "", fmt.Errorf("unknown placeholder: use one such as {env.REDIS_PASSWORD}, or `\\{` for a brace in the secret")
	case err != nil:
		return "", fmt.Errorf("%w: use one such as {env.REDIS_HOST}", err)
	}
	return replaced, nil
}

// check returns the name that the first wrong setting has in the Caddyfile, and an error about it.
// Unless placeholders are resolved, it does not check addresses and prefixes that contain a
// placeholder.
func (c *Redis) check(resolved bool) (setting string, err error) {
	if err := CheckWord("redis", c.Mode); err != nil {
		return "mode", err
	}
	sentinel, cluster := c.Mode == RedisSentinel, c.Mode == RedisCluster
	comma := slices.IndexFunc(c.Addresses, func(a string) bool { return strings.Contains(a, ",") })
	switch {
	case comma >= 0:
		return "address", checkRedisAddress(c.Addresses[comma])
	case len(c.Addresses) == 0:
		return "address", fmt.Errorf("redis has no address: use one such as `address localhost:6379`")
	case len(c.Addresses) > 1 && !sentinel && !cluster:
		return "address", fmt.Errorf("a standalone redis has %d addresses: use one, or `redis sentinel` or `redis cluster`",
			len(c.Addresses))
	case sentinel && c.MasterName == "":
		return "mode", fmt.Errorf("redis sentinel has no master: use `master_name`")
	case !sentinel && c.MasterName != "":
		return "master_name", fmt.Errorf("master_name is only for sentinels: use `redis sentinel`, or no `master_name`")
	case !sentinel && c.SentinelPassword != "":
		return "sentinel_password", fmt.Errorf("there are no sentinels: use `password` for Redis itself, or `redis sentinel`")
	case c.Username != "" && c.Password == "":
		return "username", fmt.Errorf("the user has no password: use `password`, or no `username`")
	case cluster && c.DB != 0:
		return "db", fmt.Errorf("a cluster has only database 0: use no `db`")
	case c.DB < 0:
		return "db", fmt.Errorf("db is %d: use the number of a database, 0 or more", c.DB)
	case c.Timeout != 0 && (c.Timeout < caddy.Duration(minRedisTimeout) || c.Timeout > caddy.Duration(maxRedisTimeout)):
		return "timeout", fmt.Errorf("timeout is %v: use %v to %v, such as 50ms, because requests may wait that long",
			time.Duration(c.Timeout), minRedisTimeout, maxRedisTimeout)
	case c.PoolSize < 0 || c.PoolSize > maxPoolSize:
		return "pool_size", fmt.Errorf("pool_size is %d: use a number of connections, 1 to %d", c.PoolSize, maxPoolSize)
	case c.TLS != nil && c.TLS.CA != "" && c.TLS.InsecureSkipVerify:
		return "tls", fmt.Errorf("`insecure_skip_verify` makes `ca` useless: use one of the two")
	}
	checkable := func(s string) bool { return resolved || !strings.Contains(s, "{") }
	for _, address := range c.Addresses {
		if err := checkRedisAddress(address); err != nil && checkable(address) {
			return "address", err
		}
	}
	if err := checkKeyPrefix(c.KeyPrefix); err != nil && checkable(c.KeyPrefix) {
		return "key_prefix", err
	}
	return "", nil
}

// checkRedisAddress refuses a text that is not host:port. Its error does not repeat an address that
// may contain a password.
func checkRedisAddress(address string) error {
	if strings.Contains(address, "://") || strings.Contains(address, "@") {
		return fmt.Errorf("an address is not a URL: use host:port, and `username`, `password` and `tls` beside it")
	}
	if strings.Contains(address, ",") {
		return fmt.Errorf("address %q has a comma: use spaces between addresses", address)
	}
	if strings.HasPrefix(address, "/") || strings.HasPrefix(address, "unix/") || strings.HasSuffix(address, ".sock") {
		return fmt.Errorf("address %q is a Unix socket: use host:port, such as localhost:6379", address)
	}
	if server, db, found := strings.Cut(address, "/"); found {
		return fmt.Errorf("address %q has a path: use %s, and `db %s` beside it", address, server, cmp.Or(db, "<n>"))
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil && !strings.ContainsAny(address, ":[]") && address != "" {
		return fmt.Errorf("address %q has no port: use host:port, such as %s:6379", address, address)
	}
	if err != nil {
		return fmt.Errorf("address %q is not host:port: use one such as localhost:6379 or [::1]:6379", address)
	}
	if n, err := strconv.ParseUint(port, 10, 16); host == "" || err != nil || n == 0 {
		return fmt.Errorf("address %q lacks a host, or a port from 1 to 65535: use one such as localhost:6379", address)
	}
	return nil
}

// checkKeyPrefix refuses braces, which change the slot of a key in a cluster, and characters that
// make keys hard to type.
func checkKeyPrefix(prefix string) error {
	if len(prefix) > maxKeyPrefix {
		return fmt.Errorf("key_prefix is %d bytes long: use up to %d", len(prefix), maxKeyPrefix)
	}
	for _, c := range prefix {
		if c <= ' ' || c == 0x7f || c == '{' || c == '}' {
			return fmt.Errorf("key_prefix %q has a space, a brace or a control character: use none of them", prefix)
		}
	}
	return nil
}
