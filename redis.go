package fleetlimit

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/redisconn"
)

// maxKeyPrefix is the longest key prefix in bytes. Every key in Redis has it.
const maxKeyPrefix = 64

// The bounds of the time that a request may wait for Redis. Below the least, no Redis answers.
const (
	minRedisTimeout = time.Millisecond
	maxRedisTimeout = 10 * time.Second
)

// A redisTarget is a resolved Redis configuration.
type redisTarget struct {
	options redisconn.Options
	prefix  string
	name    string // for logs; without secrets

	// identity is equal for equal options. It is a digest, because they contain passwords, which must
	// not be in the key of a pool.
	identity string
}

// resolve replaces the placeholders of c, checks the result and reads the file of authorities.
func (c *Redis) resolve(b *Breaker) (*redisTarget, error) {
	r, err := c.replaced()
	if err != nil {
		return nil, err
	}
	if setting, err := r.check(true); err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	mode, _ := parseRedisMode(r.Mode)
	target := &redisTarget{prefix: r.KeyPrefix, name: "redis " + r.Mode + " " + strings.Join(r.Addresses, " ")}
	target.options = redisconn.Options{
		Mode:             mode,
		Addresses:        r.Addresses,
		Username:         r.Username,
		Password:         r.Password,
		DB:               r.DB,
		MasterName:       r.MasterName,
		SentinelPassword: r.SentinelPassword,
		Timeout:          time.Duration(r.Timeout),
		PoolSize:         r.PoolSize,
		Breaker:          b.options(),
	}
	var authorities []byte
	if r.TLS != nil {
		if target.options.TLS, authorities, err = r.TLS.config(); err != nil {
			return nil, fmt.Errorf("tls: %w", err)
		}
	}
	r.KeyPrefix, r.Place = "", "" // fleets with different prefixes share a client
	text, err := json.Marshal(struct {
		*Redis
		Breaker     redisconn.BreakerOptions
		Authorities []byte
	}{r, target.options.Breaker, authorities})
	if err != nil {
		return nil, err
	}
	target.identity = fmt.Sprintf("%x", sha256.Sum256(text))
	return target, nil
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
	r.Mode = cmp.Or(r.Mode, "standalone")
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

// check returns the first setting that is wrong, by its name in the Caddyfile, and the error. It
// leaves out what contains a placeholder, unless placeholders are resolved.
func (c *Redis) check(resolved bool) (setting string, err error) {
	if _, err := parseRedisMode(c.Mode); err != nil {
		return "mode", err
	}
	sentinel, cluster := c.Mode == "sentinel", c.Mode == "cluster"
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
	case c.PoolSize < 0:
		return "pool_size", fmt.Errorf("pool_size is %d: use a number of connections, 1 or more", c.PoolSize)
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

func parseRedisMode(mode string) (redisconn.Mode, error) {
	switch mode {
	case "", "standalone":
		return redisconn.Standalone, nil
	case "sentinel":
		return redisconn.Sentinel, nil
	case "cluster":
		return redisconn.Cluster, nil
	}
	return 0, unknownWord("redis", mode, "standalone", "sentinel", "cluster")
}

// checkRedisAddress does not repeat an address that may contain a password.
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

// config returns the TLS configuration, and the certificates of the authorities if c has a file of
// them.
func (c *RedisTLS) config() (*tls.Config, []byte, error) {
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         c.ServerName,
		InsecureSkipVerify: c.InsecureSkipVerify,
	}
	if c.CA == "" {
		return config, nil, nil
	}
	pem, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, nil, fmt.Errorf("ca: %w: use a file that Caddy may read", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, nil, fmt.Errorf("ca: %s has no certificate: use a file of PEM certificates, which begin with "+
			"-----BEGIN CERTIFICATE-----", c.CA)
	}
	return config, pem, nil
}
