package fleetlimit

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/fleetlimit/fleetlimit/redisconn"
)

// redisModes are the modes by the names they have in configurations.
var redisModes = map[string]redisconn.Mode{
	"standalone": redisconn.Standalone,
	"sentinel":   redisconn.Sentinel,
	"cluster":    redisconn.Cluster,
}

// maxKeyPrefix is the longest key prefix in bytes. Every key in Redis carries it.
const maxKeyPrefix = 64

// check returns the first setting that is wrong by its name in the Caddyfile, with what to write instead. What holds a
// placeholder cannot be judged until it is replaced: then resolved is set.
func (c *Redis) check(resolved bool) (setting string, err error) {
	if err := checkRedisMode(c.Mode); err != nil {
		return "mode", err
	}
	sentinel, cluster := c.Mode == "sentinel", c.Mode == "cluster"
	switch {
	case len(c.Addresses) == 0:
		return "address", fmt.Errorf("redis has no address: say where it is, such as `address localhost:6379`")
	case len(c.Addresses) > 1 && !sentinel && !cluster:
		return "address", fmt.Errorf("a standalone redis has one address, not %d: keep one, or say `redis sentinel` or "+
			"`redis cluster`", len(c.Addresses))
	case sentinel && c.MasterName == "":
		return "mode", fmt.Errorf("sentinels need the name of the master they watch: add `master_name`")
	case !sentinel && c.MasterName != "":
		return "master_name", fmt.Errorf("only sentinels know masters by name: remove `master_name`, or say `redis sentinel`")
	case !sentinel && c.SentinelPassword != "":
		return "sentinel_password", fmt.Errorf("there are no sentinels to give it to: say `password` for Redis itself, or " +
			"`redis sentinel`")
	case c.Username != "" && c.Password == "":
		return "username", fmt.Errorf("a user name without a password logs in as nobody: add `password`, or remove `username`")
	case cluster && c.DB != 0:
		return "db", fmt.Errorf("a cluster has no database but 0: remove `db`")
	case c.DB < 0:
		return "db", fmt.Errorf("db is %d: say the number of a database, 0 or more", c.DB)
	case c.Timeout < 0:
		return "timeout", fmt.Errorf("timeout is negative: say how long a request waits at most, such as 50ms")
	case c.PoolSize < 0:
		return "pool_size", fmt.Errorf("pool_size is %d: say a number of connections, 1 or more", c.PoolSize)
	case c.TLS != nil && c.TLS.CA != "" && c.TLS.InsecureSkipVerify:
		return "tls", fmt.Errorf("`ca` has no effect beside `insecure_skip_verify`: remove one of the two")
	}
	for _, address := range c.Addresses {
		if !resolved && strings.Contains(address, "{") {
			continue
		}
		if err := checkRedisAddress(address); err != nil {
			return "address", err
		}
	}
	if c.KeyPrefix != "" && (resolved || !strings.Contains(c.KeyPrefix, "{")) {
		if err := checkKeyPrefix(c.KeyPrefix); err != nil {
			return "key_prefix", err
		}
	}
	return "", nil
}

func checkRedisMode(mode string) error {
	if _, known := redisModes[mode]; !known && mode != "" {
		return fmt.Errorf("%q is not a kind of Redis: say standalone, sentinel or cluster", mode)
	}
	return nil
}

// checkRedisAddress does not repeat an address that may hold a password.
func checkRedisAddress(address string) error {
	if strings.Contains(address, "://") || strings.Contains(address, "@") {
		return fmt.Errorf("an address is not a URL: say host:port, with `username`, `password` and `tls` beside it")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("address %q is not host:port: say one such as localhost:6379 or [::1]:6379", address)
	}
	if n, err := strconv.ParseUint(port, 10, 16); host == "" || err != nil || n == 0 {
		return fmt.Errorf("address %q needs a host, and a port from 1 to 65535: say one such as localhost:6379", address)
	}
	return nil
}

// checkKeyPrefix refuses what would change which slot of a cluster a key belongs to, or make keys hard to name by hand.
func checkKeyPrefix(prefix string) error {
	if len(prefix) > maxKeyPrefix {
		return fmt.Errorf("key_prefix is %d bytes long: say up to %d", len(prefix), maxKeyPrefix)
	}
	for _, c := range prefix {
		if c <= ' ' || c == 0x7f || c == '{' || c == '}' {
			return fmt.Errorf("key_prefix %q has a space, a brace or a control character: leave those out", prefix)
		}
	}
	return nil
}
