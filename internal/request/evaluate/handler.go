package evaluate

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/fleet/reservation"
	"github.com/fleetlimit/fleetlimit/internal/key/ipset"
	"github.com/fleetlimit/fleetlimit/internal/request/emergency"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/concurrency"
)

// An App is what the handlers of a configuration share.
type App struct {
	Zones     *zone.Set
	Rules     func() *zone.Snapshot // returns the rules in force
	Newest    func() *App           // returns the newest App on the same store; nil if that is this one
	HasZone   func(name string) bool
	InRedis   bool // the counts of all zones are in Redis
	Emergency *emergency.Switch

	// Translated are the prefixes under which IPv4 addresses of clients are written as IPv6 addresses.
	Translated ipset.Translated

	// Traced says that a handler of the configuration begins spans. Decisions are then added to them as
	// attributes.
	Traced atomic.Bool

	// UntrustedProxy is the first untrusted proxy that was noticed, nil if none was.
	UntrustedProxy atomic.Pointer[api.UntrustedProxy]
	edges          edges

	unknownTiers     unknownTiers
	warnedProxy      atomic.Bool // a proxy whose clients are all exempt was warned about
	warnedBeforeAuth sync.Map    // names of zones that were warned about
}

// A Handler decides the requests that come to one rate_limit handler of a configuration.
type Handler struct {
	App       *App
	Zones     []*zone.Zone // sorted by name, so that headers list them in a stable order
	Index     *zone.Index  // finds the zones that may apply; nil if each zone is asked
	Addresses zone.Addresses
	Store     takeStore
	Settings  *response.Settings
	Place     string // in a Caddyfile

	// HandlesResponses says that the handler is in a route that handles the response of another handler.
	HandlesResponses bool
	Reports          *report.Requests
}

// A takeStore decides takes and permits, and takes events back. Note tells it whether it has answered a
// request.
type takeStore interface {
	Take(ctx context.Context, now time.Time, takes []limiter.Take) error
	Peek(ctx context.Context, now time.Time, takes []limiter.Take) error
	Preview(ctx context.Context, now time.Time, takes []limiter.Take) error
	Note(now time.Time, err error)

	PeekPermit(now time.Time, r *concurrency.Rule, key []byte) limiter.Decision
	PreviewPermit(ctx context.Context, now time.Time, r *concurrency.Rule, key []byte) (limiter.Decision, error)
	Acquire(ctx context.Context, now time.Time, r *concurrency.Rule, key []byte) (concurrency.Permit, limiter.Decision, error)
	AcquireInTurn(ctx context.Context, now time.Time, r *concurrency.Rule, key []byte, wait time.Duration) (
		concurrency.Permit, limiter.Decision, error)

	Reservations() *reservation.Table
	Refund(take limiter.Take, done func())
	GiveBack(ctx context.Context, now time.Time, take *limiter.Take) (back bool, err error)
	Charge(take limiter.Take)
	DropDenial(r *limiter.Rule, key []byte)
}
