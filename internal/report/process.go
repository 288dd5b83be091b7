// Package report shows operators what happens: in metrics, in the log and in events. No other
// package but those of Caddy's modules knows zap and Prometheus.
package report

import (
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyevents"
	"go.uber.org/zap"
)

// A Process reports what happens in this process beside its requests. It outlives configurations,
// and uses the log of the newest one.
type Process struct {
	newest func() *Log
	storeMetrics
}

// NewProcess returns the reports of this process. newest returns the log of the newest running
// configuration, or nil if none runs.
func NewProcess(newest func() *Log) *Process { return &Process{newest, newStoreMetrics()} }

// logger returns the logger of the newest configuration, or else Caddy's own.
func (p *Process) logger() *zap.Logger {
	if l := p.newest(); l != nil {
		return l.Logger
	}
	return caddy.Log().Named("rate_limit")
}

// emit emits an event, if a configuration runs.
func (p *Process) emit(name string, data map[string]any) {
	if l := p.newest(); l != nil {
		l.EmitLater(name, data)
	}
}

// A Log takes what is logged and emitted of a configuration.
type Log struct {
	*zap.Logger

	ctx    caddy.Context
	events *caddyevents.App
}

// NewLog returns the log of the module that ctx provisions.
func NewLog(ctx caddy.Context) (*Log, error) {
	events, err := ctx.App("events")
	if err != nil {
		return nil, err
	}
	return &Log{ctx.Logger(), ctx, events.(*caddyevents.App)}, nil
}

// Emit emits an event, and waits for its subscribers.
func (l *Log) Emit(name string, data map[string]any) { l.events.Emit(l.ctx, name, data) }

// EmitLater emits an event, and does not wait for its subscribers.
func (l *Log) EmitLater(name string, data map[string]any) { go l.Emit(name, data) }
