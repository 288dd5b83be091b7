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
	Rules     func() *zone.Snapshot // those in force
	Newest    func() *App           // of the newest configuration with counts in the same store; nil if that is this one
	HasZone   func(name string) bool
	InRedis   bool // the counts are
	Emergency *emergency.Switch

	// Translated are the prefixes of addresses of clients that are written as IPv6.
	Translated ipset.Translated

	// Traced says that a handler of the configuration makes spans, which get attributes.
	Traced atomic.Bool

	// UntrustedProxy is the first one that was noticed, nil if there was none.
	UntrustedProxy atomic.Pointer[api.UntrustedProxy]
	edges          edges

	unknownTiers     unknownTiers
	warnedProxy      atomic.Bool // about a proxy whose clients are all exempt
	warnedBeforeAuth sync.Map    // zones, by name
}

// A Handler is a handler of requests.
type Handler struct {
	App       *App
	Zones     []*zone.Zone // by name, so that headers list them in a stable order
	Index     *zone.Index  // of Zones; nil if each is asked
	Addresses zone.Addresses
	Store     takeStore
	Settings  *response.Settings
	Place     string // in a Caddyfile

	// HandlesResponses says that the handler is in a route that handles the response of another one.
	HandlesResponses bool
	Reports          *report.Requests
}

// A takeStore decides takes, and refunds them. It notes whether it has answered.
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
