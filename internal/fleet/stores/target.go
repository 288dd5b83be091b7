package stores

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// A Target says in which Redis a store is. It has not connected to that Redis.
type Target struct {
	options redisconn.Options
	prefix  string
	name    string // in logs; has no secrets

	// digest is a digest of the options, by which a pool finds the client. The pool has no passwords in
	// its keys, so it cannot use the options themselves.
	digest string
}

// Resolve returns the target that c describes. b describes its breakers, or is nil for the default.
// Resolve reads the file of certificate authorities.
func Resolve(c *config.Redis, b *config.Breaker) (*Target, error) {
	r, err := c.Resolve()
	if err != nil {
		return nil, err
	}
	target := &Target{prefix: r.KeyPrefix, name: "redis " + r.Mode + " " + strings.Join(r.Addresses, " ")}
	target.options = redisconn.Options{
		Mode:             redisModes[r.Mode],
		Addresses:        r.Addresses,
		Username:         r.Username,
		Password:         r.Password,
		DB:               r.DB,
		MasterName:       r.MasterName,
		SentinelPassword: r.SentinelPassword,
		Timeout:          time.Duration(r.Timeout),
		PoolSize:         r.PoolSize,
		Breaker:          breakerOptions(b),
	}
	var authorities []byte
	if r.TLS != nil {
		if target.options.TLS, authorities, err = tlsConfig(r.TLS); err != nil {
			return nil, fmt.Errorf("tls: %w", err)
		}
	}
	r.KeyPrefix, r.Place = "", "" // configurations with different key prefixes share a client
	text, err := json.Marshal(struct {
		*config.Redis
		Breaker     redisconn.BreakerOptions
		Authorities []byte
	}{r, target.options.Breaker, authorities})
	if err != nil {
		return nil, err
	}
	target.digest = fmt.Sprintf("%x", sha256.Sum256(text))
	return target, nil
}

// redisModes are the modes of a client by their names in the configuration.
var redisModes = map[string]redisconn.Mode{
	config.RedisStandalone: redisconn.Standalone, config.RedisSentinel: redisconn.Sentinel, config.RedisCluster: redisconn.Cluster,
}

// tlsConfig returns the configuration of TLS that c describes. If c names a file of certificate
// authorities, tlsConfig also returns the content of the file.
func tlsConfig(c *config.RedisTLS) (*tls.Config, []byte, error) {
	t := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         c.ServerName,
		InsecureSkipVerify: c.InsecureSkipVerify,
	}
	if c.CA == "" {
		return t, nil, nil
	}
	pem, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, nil, fmt.Errorf("ca: %w: use a file that Caddy may read", err)
	}
	t.RootCAs = x509.NewCertPool()
	if !t.RootCAs.AppendCertsFromPEM(pem) {
		return nil, nil, fmt.Errorf("ca: %s has no certificate: use a file of PEM certificates, which begin with "+
			"-----BEGIN CERTIFICATE-----", c.CA)
	}
	return t, pem, nil
}

// breakerOptions returns the options that b describes. It returns the default options if b is nil.
func breakerOptions(b *config.Breaker) redisconn.BreakerOptions {
	if b == nil {
		return redisconn.BreakerOptions{}
	}
	return redisconn.BreakerOptions{
		Failures: b.Failures, Within: time.Duration(b.Within), ProbeEvery: time.Duration(b.ProbeEvery), Probes: b.Probes,
	}
}

// String describes where the counts are: in memory if t is nil.
func (t *Target) String() string {
	if t == nil {
		return "memory"
	}
	o := &t.options
	return strings.TrimSpace(fmt.Sprintf("redis %s db %d key_prefix %s %s", strings.Join(o.Addresses, " "), o.DB, t.prefix, o.MasterName))
}

// SameCounts reports whether both targets have the same counts. A nil target has its counts in memory.
// Two targets in Redis must have at least one address in common.
func (t *Target) SameCounts(other *Target) bool {
	if t == nil || other == nil {
		return t == other
	}
	a, b := &t.options, &other.options
	return t.prefix == other.prefix && a.DB == b.DB && a.MasterName == b.MasterName &&
		slices.ContainsFunc(a.Addresses, func(address string) bool { return slices.Contains(b.Addresses, address) })
}

// MovedFrom returns a text that says from where to where the counts have moved. It returns "" if they
// are where those of old are.
func (t *Target) MovedFrom(old *Target) string {
	if t.SameCounts(old) {
		return ""
	}
	return fmt.Sprintf("store: %v is now %v", old, t)
}

// ID returns a text that is equal for targets that share a store. It has no secrets.
func (t *Target) ID() string { return t.digest + " " + t.prefix }

// Place returns a text for where the counts are. It does not depend on the password or on the other
// options of the connection.
func (t *Target) Place() string {
	return fmt.Sprintf("%s %s %d %s", t.name, t.options.MasterName, t.options.DB, t.prefix)
}

// Prefix returns the prefix of all keys in Redis.
func (t *Target) Prefix() string { return t.prefix }

func (t *Target) storeID() storeID { return storeID{t.digest, t.prefix} }

// Connect returns a client of the Redis, and a function that releases the client. If nobody has
// connected before, observer is told what happens to the client.
func (t *Target) Connect(observer Observer) (client *redisconn.Client, release func()) {
	return clients.Acquire(t.digest, func() *redisconn.Client {
		options, name := t.options, t.name
		options.OnBreaker = func(b redisconn.Breaker) { observer.Breaker(name, b) }
		options.OnLookup = func(err error) { observer.Lookup(name, err) }
		return redisconn.New(options)
	})
}
