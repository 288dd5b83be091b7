// Package adminapi is the admin API, whose paths begin with /rate_limit/. It reads requests, asks
// and changes what a [Process] has, and writes answers. openapi.json describes the whole API.
//
// Each resource has a file with its handlers. Package api has its requests and answers.
package adminapi

import (
	"context"
	_ "embed"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/fleet/stores"
	"github.com/fleetlimit/fleetlimit/internal/observe/tail"
	"github.com/fleetlimit/fleetlimit/internal/request/emergency"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/rules"
)

// OpenAPI is the description of the admin API.
//
//go:embed openapi.json
var OpenAPI []byte

// A Process is the Caddy process that the API shows and changes. It outlives configurations.
type Process struct {
	// Running returns the running configuration. It returns nil if that limits nothing.
	Running func() *Running

	// Starting reports whether no configuration has run yet, so that one may limit something soon.
	Starting func() bool

	// Readiness returns the health of the stores.
	Readiness func() api.Readiness

	Tails     *tail.Decisions
	Emergency *emergency.Switch
}

// Running is the running configuration with the rules in force.
type Running struct {
	Snapshot       *zone.Snapshot // the rules in force
	Store          *stores.Store
	Watcher        *rules.Watcher
	UntrustedProxy *api.UntrustedProxy // the first one that was noticed, or nil

	// Explain returns what would happen to a request. It returns an error if r has a mistake.
	Explain func(ctx context.Context, r *api.ExplainRequest) (*api.Explanation, error)

	// Plan returns what a reload with a configuration of Caddy would change. It returns an error if
	// the configuration has a mistake, or if the store fails.
	Plan func(ctx context.Context, configuration []byte) (*api.Plan, error)
}

// Schema returns what rules can refer to.
func (c *Running) Schema() rules.Schema { return schema{c.Snapshot.Set()} }

// A schema is what rules can refer to in a configuration.
type schema struct{ *zone.Set }

// EmergencyLimit implements rules.Schema.
func (schema) EmergencyLimit(text string) error {
	_, err := emergency.ParseLimit(text)
	return err
}
