package report

import (
	"time"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/decisionlog"
)

// AreFollowed reports whether anybody records or follows decisions. It takes two loads.
func (l *Requests) AreFollowed() bool { return l.recorded != nil || len(l.Tails.All()) > 0 }

// Decided hands a decision to those who record it, and to those who follow it.
func (l *Requests) Decided(d Decision) {
	if l.recorded != nil {
		l.record(&d)
	}
	l.Process.Decided(d)
}

// record records a decision, if it is in the sample. The first rejection of a key and window finds more room
// than those that repeat it.
func (l *Requests) record(d *Decision) {
	passed, first := passes(d.Outcome), d.Result != nil && d.Result.Decision.Breach
	if !l.recorded.Wants(passed, first) {
		return
	}
	var told *api.Decision // shared by all recorders
	for _, r := range l.recorded.Recorders {
		if r.Full(!passed && !first) {
			continue
		}
		if told == nil {
			told = d.describe(l.settings.LogKey)
		}
		r.Put(decisionlog.Record{Decision: told, Node: l.recorded.Node})
	}
}

// LogDecision implements decisionlog.Observer. The time of the line is that of the decision.
func (p *Process) LogDecision(r *decisionlog.Record) {
	line := p.logger().Named("decisions").Check(zap.InfoLevel, "decision")
	if line == nil {
		return
	}
	line.Time = r.Time
	fields := []zap.Field{
		textField("zone", r.Zone), zap.String("outcome", r.Outcome), textField("source", r.Source), textField("reason", r.Reason),
		textField("endpoint", r.Endpoint), textField("tier", r.Tier), textField("tier_unknown", r.TierUnknown),
		textField("key_hash", r.KeyHash), textField("key", r.Key), textField("key_base64", r.Base64),
		zap.String("remote_ip", r.RemoteIP), zap.String("client_ip", r.ClientIP), zap.String("method", r.Method),
		zap.String("host", r.Host), zap.String("path", r.Path), statusField("status", r.Status), statusField("would_be", r.WouldBe),
		costField(r.Cost), countField("limit", r.Limit), countField("remaining", r.Remaining), zap.String("node", r.Node),
		fieldIf(r.Wait != 0, zap.Duration("wait", time.Duration(r.Wait))),
		fieldIf(r.Waited != 0, zap.Duration("waited", time.Duration(r.Waited))),
	}
	line.Write(fields...)
}

// statusField returns a field for a status, none if the status is 0.
func statusField(name string, status int) zap.Field {
	return fieldIf(status != 0, zap.Int(name, status))
}

// countField returns a field for a number of events, none if the number is unknown.
func countField(name string, events *int64) zap.Field {
	if events == nil {
		return zap.Skip()
	}
	return zap.Int64(name, *events)
}

// DecisionsRecorded implements decisionlog.Observer.
func (p *Process) DecisionsRecorded(to string, recorded, dropped uint64) {
	p.recorded.WithLabelValues(to).Add(float64(recorded))
	p.unrecorded.WithLabelValues(to).Add(float64(dropped))
}

// RecordingFailed implements decisionlog.Observer.
func (p *Process) RecordingFailed(to string, err error) {
	p.logger().Warn("decisions cannot be recorded, and are dropped while there is no room for them", zap.String("to", to),
		zap.Error(err))
}

// RecordingRecovered implements decisionlog.Observer.
func (p *Process) RecordingRecovered(to string) {
	p.logger().Info("decisions can be recorded again", zap.String("to", to))
}

// Interface guard.
var _ decisionlog.Observer = (*Process)(nil)
