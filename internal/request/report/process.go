// Package report shows operators what happens: in metrics, in the log and in events. Only this package and
// internal/gateway know zap and Prometheus.
package report

import (
	"sync/atomic"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyevents"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/observe/tail"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
)

// A Process reports what happens in this process besides its requests. It outlives configurations, and uses
// the log of the newest one.
type Process struct {
	Addresses usage.Addresses // counters of requests that the address of the client decides
	Tails     tail.Decisions  // the connections over which clients follow decisions

	newest    func() *Log
	limits    func() []usage.LimitInForce
	emergency atomic.Bool // emergency mode is on
	counted
}

// NewProcess returns the reports of this process. newest returns the log of the newest running
// configuration, or nil if none runs, and limits the limits in force.
func NewProcess(newest func() *Log, limits func() []usage.LimitInForce) *Process {
	return &Process{newest: newest, limits: limits, counted: newCounted()}
}

// logger returns the logger of the newest configuration, or Caddy's own if no configuration runs.
func (p *Process) logger() *zap.Logger {
	if l := p.newest(); l != nil {
		return l.Logger
	}
	return caddy.Log().Named("rate_limit")
}

// emit emits an event, if a configuration runs. It does not wait for the subscribers.
func (p *Process) emit(name string, data map[string]any) {
	if l := p.newest(); l != nil {
		go l.emit(name, data)
	}
}

// A Log has the logger of a configuration, and emits its events.
type Log struct {
	*zap.Logger
	emit func(name string, data map[string]any)
}

// NewLog returns the log of the module that ctx provisions.
func NewLog(ctx caddy.Context) (*Log, error) {
	events, err := ctx.App("events")
	if err != nil {
		return nil, err
	}
	return &Log{ctx.Logger(), func(name string, data map[string]any) {
		events.(*caddyevents.App).Emit(ctx, name, data)
	}}, nil
}
