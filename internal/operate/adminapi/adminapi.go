// Package adminapi is the admin API, whose paths begin with /rate_limit/. It reads requests,
// changes the rules, and writes answers. What needs the app or a compiled zone is behind [Process]
// and [Running], which the root package implements. openapi.json describes the whole API.
//
// Each resource has a file with its handlers. Package api has its requests and answers.
package adminapi

import (
	"context"
	_ "embed"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/tail"
	"github.com/fleetlimit/fleetlimit/rules"
)

// OpenAPI is the description of the admin API.
//
//go:embed openapi.json
var OpenAPI []byte

// A Process is the Caddy process that the API shows and changes. It outlives configurations.
type Process interface {
	// Running returns the running configuration, or nil if that limits nothing.
	Running() Running

	// Starting reports whether no configuration has run yet, so that one may limit something soon.
	Starting() bool

	// Readiness returns the health of the stores.
	Readiness() api.Readiness

	// Tails returns the tails of the decisions.
	Tails() *tail.Decisions

	// Emergency returns the emergency of this process.
	Emergency() EmergencySwitch
}

// An EmergencySwitch switches emergency mode on and off.
type EmergencySwitch interface {
	// Describe describes the emergency that is on.
	Describe() api.Emergency

	// ParseLimit returns the standard form of a limit for each client address. Its error is a mistake
	// in the text.
	ParseLimit(text string) (string, error)

	// Start makes e the emergency of this node alone, and describes it. Its error is a mistake in e.
	Start(e *rules.Emergency) (api.Emergency, error)

	// End ends the emergency of this node alone. It reports false if that of the rules is on, which it
	// does not end.
	End(by string) bool
}

// Running is the running configuration with the rules in force. Its methods need zones and
// endpoints that exist. The endpoint "" means all of the zone.
type Running interface {
	// Schema returns what rules can refer to.
	Schema() rules.Schema

	// Watcher returns the watcher of the rules.
	Watcher() *rules.Watcher

	// StoreName returns the name of the store of the counts.
	StoreName() string

	// Mismatches returns the zones that other nodes define differently.
	Mismatches() []api.Mismatch

	// UntrustedProxy returns the first one that was noticed, nil if there was none.
	UntrustedProxy() *api.UntrustedProxy

	// NodeCount returns by how many nodes limits are shared.
	NodeCount() int

	// Nodes lists the nodes. Its error is that the store does not answer.
	Nodes(ctx context.Context) (*api.Nodes, error)

	// Zone describes a zone.
	Zone(name string) api.Zone

	// Inspect returns what is known of a key. Its error is a mistake in the request.
	Inspect(ctx context.Context, zone string, r *api.InspectRequest) (*api.Inspection, error)

	// Explain returns what would happen to a request. Its error is a mistake in r.
	Explain(ctx context.Context, r *api.ExplainRequest) (*api.Explanation, error)

	// Plan returns what a reload with a configuration of Caddy would change. Its error is a mistake in
	// that.
	Plan(ctx context.Context, configuration []byte) (*api.Plan, error)

	// Top returns the keys that use a zone most. Its error is that the store does not answer.
	Top(ctx context.Context, zone string, q *api.TopQuery) (*api.Top, error)

	// Try returns what limits would have done to the requests that are remembered of a zone. Its error
	// is a mistake in the request.
	Try(zone string, r *api.TryRequest) (*api.Trial, error)

	// History returns what has happened to a zone, or to the key of it that r names otherwise than by its
	// hash. Its error is a mistake in r.
	History(ctx context.Context, zone string, r *api.HistoryRequest) (*api.History, error)

	// KeyByHash returns the key of a zone with a hash, nil if this node knows none.
	KeyByHash(ctx context.Context, zone, hash string) *api.KnownKey

	// Keys returns the keys of requests that key names. Its error is a mistake in the key.
	Keys(key rules.Key) ([][]byte, error)

	// Doubts returns why an entry about a key has probably no effect. With counted, it also tells that
	// the store has no count of the key.
	Doubts(ctx context.Context, key rules.Key, counted bool) []string

	// Overridden returns the limits that the key of an override has with it.
	Overridden(o *rules.Override) []api.OverriddenLimit

	// Operation returns a function that does an action to the counts of its key, and completes the
	// name of the key. Its error is a mistake in the action. That of the function is of the store.
	Operation(action *rules.Action) (do func(context.Context) error, err error)
}
