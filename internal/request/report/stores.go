package report

import (
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/fleet/membership"
	"github.com/fleetlimit/fleetlimit/internal/fleet/stores"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// Failed implements stores.Observer.
func (p *Process) Failed(store string, err error) {
	p.logger().Warn("the store does not answer: on_outage decides requests", zap.String("store", store), zap.Error(err))
}

// Recovered implements stores.Observer.
func (p *Process) Recovered(store string, uncounted uint64) {
	p.logger().Info("the store answers again: requests are counted", zap.String("store", store),
		zap.Uint64("uncounted", uncounted))
}

// Breaker implements stores.Observer.
func (p *Process) Breaker(store string, b redisconn.Breaker) {
	logger := p.logger().With(zap.String("state", b.State.String()), zap.String("primary", b.Addr), zap.String("store", store))
	data := map[string]any{"state": b.State.String(), "primary": b.Addr, "store": store}
	switch {
	case b.Replaced:
		logger.Info("another server has taken over from a primary of Redis", zap.String("successor", b.Successor))
		data["successor"] = b.Successor
	case b.State == redisconn.Open:
		logger.Error("a primary of Redis fails: requests do not wait for it", zap.Error(b.Err))
	case b.State == redisconn.HalfOpen:
		logger.Info("a primary of Redis answers a probe")
	default:
		logger.Info("a primary of Redis answers again")
	}
	p.emit("rate_limit_breaker", data)
}

// Lookup implements stores.Observer.
func (p *Process) Lookup(store string, err error) {
	if err == nil {
		p.logger().Info("the primaries of Redis can be looked up again", zap.String("store", store))
		return
	}
	p.logger().Error("the primaries of Redis cannot be looked up: those that are known stay in use, and a failover is not noticed",
		zap.String("store", store), zap.Error(err))
}

// Mismatch implements stores.Observer.
func (p *Process) Mismatch(store string, m membership.Mismatch) {
	about := []zap.Field{zap.String("zone", m.Zone), zap.String("store", store)}
	if len(m.Settings) == 0 {
		p.logger().Info("no other node defines the zone differently any more", about...)
		return
	}
	p.logger().Warn("another node defines the zone differently: use the same definition on all nodes, or another name or "+
		"key_prefix", append(about, zap.Strings("differs_in", m.Settings), zap.String("node", m.Node))...)
}

// NodesNotKept implements stores.Observer.
func (p *Process) NodesNotKept(store string, err error) {
	p.logger().Warn("the number of nodes cannot be kept in Caddy's storage: use `nodes`, or another storage",
		zap.String("store", store), zap.Error(err))
}

// Overflow implements stores.Observer.
func (p *Process) Overflow(zone string) {
	p.logger().Warn("the zone is full of keys at their limit, so new keys share counts: use a larger max_keys",
		zap.String("zone", zone))
}

// Interface guard.
var _ stores.Observer = (*Process)(nil)
