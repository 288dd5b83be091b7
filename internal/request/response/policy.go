package response

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/concurrency"
)

// A Policy is the limit of a rule as responses describe it.
type Policy struct {
	*limiter.Rule // nil for unlimited, for block, and for a limit of requests at once
	Block         bool
	CountID       uint32            // the ID of the rule, even if the rule blocks
	Concurrent    *concurrency.Rule // nil unless it is a limit of requests at once
	Window        time.Duration     // the window of the limit; for block, how long to stay away
	Unit          string            // what the limit counts, such as "token"; "" for requests

	zone  string                    // the name of the zone
	share atomic.Pointer[Policy]    // what Share returns; nil before Share is called
	part  bool                      // the policy is a share of another one
	texts atomic.Pointer[ruleTexts] // nil before the first response with these texts: of many rules, few decide
}

// BlockedFor is how long a blocked client is told to wait. It stays blocked until the configuration or the
// rules change.
const BlockedFor = 24 * time.Hour

// NewPolicy returns the policy of a limit of zone. counted is nil if the limit is block or unlimited.
func NewPolicy(zone string, counted *limiter.Rule, limit *config.Limit) Policy {
	window := BlockedFor
	if limit.Window > 0 {
		window = time.Duration(limit.Window)
	}
	return Policy{Rule: counted, Block: limit.Block, Window: window, zone: zone}
}

// NewConcurrentPolicy returns the policy of a limit of requests at once.
func NewConcurrentPolicy(zone string, r *concurrency.Rule) Policy {
	return Policy{Concurrent: r, zone: zone}
}

// leastShare is the number of requests at once that one address may always have, unless the limit is lower. A
// browser opens six connections.
const leastShare = 6

// Share returns the limit of one client address, if many addresses share the key of p: half of the requests
// at once that p allows, or leastShare if that is more. It returns nil if one address may have all requests
// at once.
func (p *Policy) Share() *Policy {
	if p.Concurrent.Limit <= leastShare {
		return nil
	}
	if known := p.share.Load(); known != nil {
		return known
	}
	r := *p.Concurrent
	r.Limit = max(leastShare, (r.Limit+1)/2)
	p.share.CompareAndSwap(nil, &Policy{CountID: p.CountID, Concurrent: &r, zone: p.zone, part: true})
	return p.share.Load()
}

// Unlimited reports whether p limits nothing.
func (p *Policy) Unlimited() bool { return p.Rule == nil && !p.Block && p.Concurrent == nil }

// LimitText returns the limit as a Caddyfile has it.
func (p *Policy) LimitText() string {
	switch {
	case p.Concurrent != nil:
		return "concurrent " + strconv.FormatInt(p.Concurrent.Limit, 10)
	case p.Rule == nil:
		limit := config.Limit{Block: p.Block, Unlimited: !p.Block}
		return limit.String()
	}
	limit := config.Limit{Events: p.Limit.Events, Window: caddy.Duration(p.Limit.Window), Burst: p.Limit.Burst}
	return limit.String()
}

// onOutage returns how p decides in an outage. p must be neither block nor unlimited.
func (p *Policy) onOutage() limiter.OutageMode {
	if p.Concurrent != nil {
		return p.Concurrent.OnOutage
	}
	return p.OnOutage
}

// rate returns events per second. It returns 0 for block.
func (p *Policy) rate() float64 {
	if p.Rule == nil {
		return 0
	}
	return float64(p.Limit.Events) / p.Limit.Window.Seconds()
}
