// Package emergency is the hard limit in front of everything: for each client address, before all
// zones of this node, counted in the memory of this process wherever the zones are counted.
package emergency

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/memstore"
	"github.com/fleetlimit/fleetlimit/rules"
)

// An emergency is a limit that is on, or was.
type emergency struct {
	limit     *config.Limit
	reason    string
	startedBy string           // the client of the admin API
	rules     *rules.Emergency // the emergency of the rules in force; nil if it is of this node alone
	startedAt time.Time
	expiresAt time.Time

	key    *keytemplate.Template
	counts *memstore.Store
	policy response.Policy
	expire *time.Timer
	warned atomic.Bool // a client without an address was reported
}

// newEmergency compiles the emergency that of describes, for this node alone. It lasts for rules.MaxEmergency
// if of has no end.
func newEmergency(of *rules.Emergency) (*emergency, error) {
	limit, err := ParseLimit(of.Limit)
	if err != nil {
		return nil, err
	}
	key, err := keytemplate.Parse("{http.vars.client_ip}", keytemplate.Options{IPv4Prefix: 32, IPv6Prefix: 64})
	if err != nil {
		return nil, err
	}
	e := &emergency{
		limit: limit, reason: of.Reason, startedBy: of.StartedBy, expiresAt: time.Now().Add(rules.MaxEmergency), key: key,
	}
	if of.ExpiresAt != nil {
		e.expiresAt = *of.ExpiresAt
	}
	return e, nil
}

// ParseLimit parses the limit of an emergency.
func ParseLimit(text string) (*config.Limit, error) {
	limit, err := config.ParseLimit(text)
	switch {
	case err != nil:
		return nil, err
	case limit.Unlimited:
		return nil, errors.New("unlimited is no emergency: use DELETE to end one")
	case limit.Block:
		return nil, errors.New("block is no limit for each address: use a rate such as 1/1m")
	}
	return limit, nil
}

// countIn compiles the limit of e, and keeps its counts in a store.
func (e *emergency) countIn(counts *memstore.Store) error {
	rule, err := limiter.NewRule(limiter.Rule{Zone: counts.Open(api.EmergencyZone), Limit: e.limit.Compile()})
	if err != nil {
		return err
	}
	e.counts, e.policy = counts, response.NewPolicy(api.EmergencyZone, rule, e.limit)
	return nil
}

// A decideFunc decides takes on the counts of an emergency.
type decideFunc func(counts *memstore.Store, ctx context.Context, at limiter.Instant, takes []limiter.Take) error

// take decides by the count of the client's address. decide is Take or Peek of the store. taken is false if
// the client has no address. The instants to retry and of the reset do not lie after the end of the
// emergency.
func (e *emergency) take(decide decideFunc, r *http.Request, repl *caddy.Replacer, b Buffers, z *response.ZoneResponses, now time.Time) (
	result response.Result, taken bool, err error,
) {
	key, has, err := e.key.Append(b.Key, r, repl)
	if err != nil || has != keytemplate.Present {
		return result, false, err
	}
	at := limiter.At(now)
	takes := append(b.Takes, limiter.Take{Rule: e.policy.Rule, Key: key, Cost: 1})
	_ = decide(e.counts, r.Context(), at, takes) // it never fails
	result = response.Result{ZoneResponses: z, Counters: z.Usage.Counters("", ""), Policy: &e.policy, Template: e.key, Cost: 1}
	result.Decide(&takes[0], at)
	clear(takes)
	d, end := &result.Decision, at+limiter.Instant(e.expiresAt.Sub(now)/time.Microsecond)+1
	d.RetryAt, d.ResetAt = min(d.RetryAt, end), min(d.ResetAt, end)
	return result, true, nil
}

// describe returns the description of e for the admin API. e may be nil.
func (e *emergency) describe() api.Emergency {
	if e == nil {
		return api.Emergency{}
	}
	started, expires := e.startedAt.UTC(), e.expiresAt.UTC()
	return api.Emergency{
		Active: true, Limit: e.limit.String(), Reason: e.reason, StartedBy: e.startedBy,
		StartedAt: &started, ExpiresAt: &expires, AllNodes: e.rules != nil,
	}
}
