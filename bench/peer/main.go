// Command peer is Caddy with two peers of this module: caddy-ratelimit, and a handler that asks
// redis_rate, as operators write one by hand. Both count in one Redis Cluster, caddy-ratelimit through
// a storage of Caddy, and redis_rate directly. bench/fleet and bench/gateway measure them.
//
// One binary cannot have caddy-ratelimit and this module, because both have the same module ID.
package main

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
	redisrate "github.com/go-redis/redis_rate/v10"
	_ "github.com/mholt/caddy-ratelimit"
	redis "github.com/redis/go-redis/v9"
)

func init() {
	caddy.RegisterModule(new(handler))
	httpcaddyfile.RegisterHandlerDirective("redis_rate", parse)
	httpcaddyfile.RegisterDirectiveOrder("redis_rate", httpcaddyfile.Before, "respond")
}

func main() { caddycmd.Main() }

// A handler limits requests by X-Api-Key. The syntax is
//
//	redis_rate <events> <window> <address...>
//
// A request is admitted if Redis does not decide it within the timeout.
type handler struct {
	Limit     redisrate.Limit
	Addresses []string

	client  *redis.ClusterClient
	limiter *redisrate.Limiter
}

// timeout is how long a request waits for Redis. It is the default of this module. Without a timeout,
// go-redis repeats calls that wait for seconds each.
const timeout = 50 * time.Millisecond

// CaddyModule implements caddy.Module.
func (*handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.redis_rate", New: func() caddy.Module { return new(handler) }}
}

func parse(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	h.Next() // the name of the directive
	args := h.RemainingArgs()
	if len(args) < 3 {
		return nil, h.ArgErr()
	}
	events, err := strconv.Atoi(args[0])
	if err != nil {
		return nil, h.WrapErr(err)
	}
	window, err := time.ParseDuration(args[1])
	if err != nil {
		return nil, h.WrapErr(err)
	}
	return &handler{Limit: redisrate.Limit{Rate: events, Burst: events, Period: window}, Addresses: args[2:]}, nil
}

// Provision implements caddy.Provisioner.
func (h *handler) Provision(caddy.Context) error {
	h.client = newClient(h.Addresses)
	h.limiter = redisrate.NewLimiter(h.client)
	return nil
}

// Cleanup implements caddy.CleanerUpper.
func (h *handler) Cleanup() error { return h.client.Close() }

// ServeHTTP implements caddyhttp.MiddlewareHandler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	result, err := h.limiter.Allow(ctx, r.Header.Get("X-Api-Key"), h.Limit)
	if err == nil && result.Allowed == 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(result.RetryAfter.Seconds())+1))
		return caddyhttp.Error(http.StatusTooManyRequests, nil)
	}
	return next.ServeHTTP(w, r)
}

func newClient(addresses []string) *redis.ClusterClient {
	return redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses, ContextTimeoutEnabled: true})
}
