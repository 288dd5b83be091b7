package evaluate

import (
	"slices"

	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
)

// noteKey notes the text of a key, if the access log needs it. It does so now because the next handlers may
// change what the key consists of. key is nil if the request has no key.
func (e *Evaluation) noteKey(z *usage.ZoneCounters, key *keytemplate.Template) {
	if e.state.logged && key != nil {
		e.state.Keys = append(e.state.Keys, response.KeyText{Zone: z, Text: key.Text(e.HTTP, e.Repl)})
	}
}

// trace gives the span of the request, if it has one, attributes about what is decided so far. The
// next handlers may end the span, or begin others.
func (e *Evaluation) trace() {
	if e.state != nil && e.handler.App.Traced.Load() {
		report.AddToSpan(e.HTTP, &e.state.State)
	}
}

// subject returns the request for reports.
func (e *Evaluation) subject() report.Subject {
	return report.Subject{Request: e.HTTP, Replacer: e.Repl}
}

// publish hands a decision to those who follow decisions.
func (e *Evaluation) publish(d report.Decision) {
	d.Request, d.Finder = e.subject(), e
	e.handler.Reports.Decided(d)
}

// Find implements report.Finder.
func (e *Evaluation) Find(of *usage.ZoneCounters, key *keytemplate.Template, r *response.Result) (found report.Found, known bool) {
	i := slices.IndexFunc(e.handler.Zones, func(z *zone.Zone) bool { return z.Usage == of })
	if i < 0 {
		return found, false
	}
	z := e.handler.Zones[i]
	found.Missing = key != z.Key
	if r != nil {
		found.Endpoint, found.Tier, found.UnknownTier = r.Counters.Endpoint, r.Counters.Tier, r.UnknownTier
	} else {
		found.Endpoint, found.Tier, found.UnknownTier = z.Lookup(&e.Request, e.rules, key)
	}
	return found, true
}
