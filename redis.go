package fleetlimit

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/redisconn"
)

// The defaults of a Redis configuration.
const (
	defaultKeyPrefix    = "rl"
	defaultRedisTimeout = 50 * time.Millisecond
)

// redisTarget is a Redis configuration, resolved: what to connect to, and how.
type redisTarget struct {
	options redisconn.Options
	prefix  string
	name    string // for logs; without secrets

	// identity tells the options from all others. It is a digest, as they hold passwords, which must not be in the key
	// of a pool.
	identity string
}

// resolve replaces the placeholders of c, checks what comes out and reads the file of authorities. It dials nothing.
func (c *Redis) resolve() (*redisTarget, error) {
	r, err := c.replaced()
	if err != nil {
		return nil, err
	}
	if setting, err := r.check(true); err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
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
	}
	var authorities []byte
	if r.TLS != nil {
		if target.options.TLS, authorities, err = r.TLS.config(); err != nil {
			return nil, fmt.Errorf("tls: %w", err)
		}
	}
	r.KeyPrefix = "" // two prefixes share a client
	text, err := json.Marshal(struct {
		*Redis
		Authorities []byte
	}{r, authorities})
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(text)
	target.identity = hex.EncodeToString(digest[:])
	return target, nil
}

// replaced returns a copy of c with placeholders replaced and defaults filled in.
func (c *Redis) replaced() (*Redis, error) {
	r := *c
	r.Addresses = make([]string, len(c.Addresses))
	type text struct {
		setting string
		value   string
		into    *string
		secret  bool
	}
	texts := []text{
		{"username", c.Username, &r.Username, false},
		{"password", c.Password, &r.Password, true},
		{"master_name", c.MasterName, &r.MasterName, false},
		{"sentinel_password", c.SentinelPassword, &r.SentinelPassword, true},
		{"key_prefix", c.KeyPrefix, &r.KeyPrefix, false},
	}
	for i, address := range c.Addresses {
		texts = append(texts, text{"address", address, &r.Addresses[i], false})
	}
	if c.TLS != nil {
		own := *c.TLS
		r.TLS = &own
		texts = append(texts,
			text{"tls: ca", own.CA, &r.TLS.CA, false}, text{"tls: server_name", own.ServerName, &r.TLS.ServerName, false})
	}
	for _, t := range texts {
		var err error
		if *t.into, err = replaceGlobal(t.value, t.secret); err != nil {
			return nil, fmt.Errorf("%s: %w", t.setting, err)
		}
	}
	if r.Mode == "" {
		r.Mode = "standalone"
	}
	if r.KeyPrefix == "" {
		r.KeyPrefix = defaultKeyPrefix
	}
	if r.Timeout == 0 {
		r.Timeout = caddy.Duration(defaultRedisTimeout)
	}
	return &r, nil
}

// replaceGlobal replaces the placeholders in a setting that is the same for all requests. The error does not say what is
// in the setting when that is a secret, except for the name of a variable or file that holds it.
func replaceGlobal(s string, secret bool) (string, error) {
	repl := caddy.NewReplacer()
	if _, err := repl.ReplaceOrErr(s, true, false); err != nil {
		return "", fmt.Errorf("%w when the configuration loads: give it a value, or remove the setting", err)
	}
	replaced, err := repl.ReplaceOrErr(s, false, true)
	switch {
	case err != nil && secret:
		return "", fmt.Errorf("has a placeholder that is not known: use one such as {env.REDIS_PASSWORD}, or write a brace " +
			`that is part of the secret as \{`)
	case err != nil:
		return "", fmt.Errorf("%w: use one such as {env.REDIS_HOST}", err)
	}
	return replaced, nil
}

// config returns the TLS configuration, and the certificates of the authorities if it names them.
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
		return nil, nil, fmt.Errorf("ca: %w: name a file that Caddy may read", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, nil, fmt.Errorf("ca: %s holds no certificate: name a file of PEM certificates, which begin with "+
			"-----BEGIN CERTIFICATE-----", c.CA)
	}
	return config, pem, nil
}
