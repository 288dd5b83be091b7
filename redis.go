package fleetlimit

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/redisconn"
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

// resolveRedis returns the target that c describes, whose breakers b describes, if it is not nil.
// It reads the file of authorities.
func resolveRedis(c *config.Redis, b *config.Breaker) (*redisTarget, error) {
	r, err := c.Resolve()
	if err != nil {
		return nil, err
	}
	target := &redisTarget{prefix: r.KeyPrefix, name: "redis " + r.Mode + " " + strings.Join(r.Addresses, " ")}
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
	r.KeyPrefix, r.Place = "", "" // fleets with different prefixes share a client
	text, err := json.Marshal(struct {
		*config.Redis
		Breaker     redisconn.BreakerOptions
		Authorities []byte
	}{r, target.options.Breaker, authorities})
	if err != nil {
		return nil, err
	}
	target.identity = fmt.Sprintf("%x", sha256.Sum256(text))
	return target, nil
}

// redisModes are the kinds of Redis by their names in the configuration.
var redisModes = map[string]redisconn.Mode{
	config.RedisStandalone: redisconn.Standalone, config.RedisSentinel: redisconn.Sentinel, config.RedisCluster: redisconn.Cluster,
}

// tlsConfig returns the configuration of TLS that c describes, and the certificates of the
// authorities if c has a file of them.
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

// breakerOptions returns the options of the breakers that b describes, if it is not nil.
func breakerOptions(b *config.Breaker) redisconn.BreakerOptions {
	if b == nil {
		return redisconn.BreakerOptions{}
	}
	return redisconn.BreakerOptions{
		Failures: b.Failures, Within: time.Duration(b.Within), ProbeEvery: time.Duration(b.ProbeEvery), Probes: b.Probes,
	}
}

// reportBreaker logs and emits that the breaker of a primary has another state. Without a running
// configuration there is nobody to tell.
func (t *redisTarget) reportBreaker(b redisconn.Breaker) {
	a := newestApp()
	if a == nil {
		return
	}
	fields := []zap.Field{
		zap.String("state", b.State.String()), zap.String("primary", b.Addr), zap.String("store", t.name),
	}
	switch {
	case b.Replaced:
		fields = append(fields, zap.String("successor", b.Successor))
		a.logger.Info("another server has taken over from a primary of Redis", fields...)
	case b.State == redisconn.Open:
		a.logger.Error("a primary of Redis fails: requests do not wait for it", append(fields, zap.Error(b.Err))...)
	case b.State == redisconn.HalfOpen:
		a.logger.Info("a primary of Redis answers a probe", fields...)
	default:
		a.logger.Info("a primary of Redis answers again", fields...)
	}
	data := map[string]any{"state": b.State.String(), "primary": b.Addr, "store": t.name}
	if b.Replaced {
		data["successor"] = b.Successor
	}
	a.emit("rate_limit_breaker", data)
}

// reportLookup logs that the primaries cannot be looked up, or can be again if err is nil.
func (t *redisTarget) reportLookup(err error) {
	a := newestApp()
	if a == nil {
		return
	}
	if err == nil {
		a.logger.Info("the primaries of Redis can be looked up again", zap.String("store", t.name))
		return
	}
	a.logger.Error("the primaries of Redis cannot be looked up: those that are known stay in use, and a failover is not noticed",
		zap.String("store", t.name), zap.Error(err))
}
