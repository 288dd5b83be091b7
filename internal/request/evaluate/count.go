package evaluate

import (
	"cmp"
	"net/http"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/journal"
	"github.com/fleetlimit/fleetlimit/internal/observe/recent"
	"github.com/fleetlimit/fleetlimit/internal/observe/topkeys"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
)

// countDecisive counts the request once in each zone: by the result about its rate or, if that is what
// rejects the request, by the result about requests at once.
func (e *Evaluation) countDecisive() {
	for c, other := range e.eachZone {
		if other != nil && !other.result.Decision.OK && other.result.Decides(&c.result) {
			c = other
		}
		e.count(c, e.denied != nil)
	}
}

// count adds a decision to its zone's counters. rejected says that the request is rejected: it then counts
// only in the zones that deny it.
func (e *Evaluation) count(c *check, rejected bool) {
	r := &c.result
	if rejected && r.Decision.OK {
		return
	}
	counters, list := r.Counters, &r.Usage.Top.Taken
	outcome, status := outcomeOf(r)
	switch outcome {
	case api.Unavailable:
		counters.Unavailable[r.Decision.Source].Add(1)
		list = &r.Usage.Top.Rejected
	case api.Rejected:
		counters.Rejected[r.Decision.Source].Add(1)
		list = &r.Usage.Top.Rejected
	case api.Degraded:
		counters.Outage[r.Decision.Source].Add(1)
	case api.Queued:
		counters.Queued[r.Decision.Source].Add(1)
	default:
		counters.Admitted[r.Decision.Source].Add(1)
	}
	if rejected && r.IsConcurrent() {
		r.Usage.ConcurrentRejected.Add(1)
	}
	e.addTo(list, c)
	e.remember(c)
	if e.handler.Reports.AreFollowed() {
		e.publish(report.Decision{Outcome: outcome, Zone: r.Usage, Key: r.Template, Result: r, Status: status})
	}
}

// outcomeOf returns the name of what a result decides, and the status of the response to a rejected request.
// The status is 0 if the request is admitted.
func outcomeOf(r *response.Result) (outcome string, status int) {
	if !r.Decision.OK {
		status = r.Status()
	}
	return report.OutcomeOf(r), status
}

// addTo adds a decision to a list of the keys that use its zone most. It notes in the journal a tier that the
// key has changed, and a first rejection. Emergency mode has neither lists nor a journal.
func (e *Evaluation) addTo(list *topkeys.List, c *check) {
	if c.zone == nil {
		return
	}
	r := &c.result
	t := topkeys.Take{Rule: r.Policy.CountID, Key: c.take.Key, Tier: r.Counters.TierNumber, Cost: max(1, r.Cost)}
	if r.Policy.Rule != nil {
		t.Limit = r.Policy.LimitID()
	}
	if before, changed := list.Add(e.Time(), &t); changed {
		r.Usage.Journal.Tier(e.Time(), &journal.Place{
			Kind: journal.TierSeen, Rule: t.Rule, Key: t.Key, Endpoint: r.Counters.Endpoint, Tier: r.Counters.Tier,
			Before: r.Usage.TierCalled(before),
		})
	}
	switch {
	case r.Decision.OK:
	case e.denied == nil:
		r.Usage.InDryRun.Add(t.Rule, t.Key)
	case r.Usage.InDryRun.Remove(t.Rule, t.Key):
		r.Decision.Breach = true
	}
	if !r.Decision.OK && (r.Decision.Breach || r.Policy.Block) {
		e.noteRejection(r, &t)
	}
}

// noteRejection notes in the journal that a zone rejects a key, or would reject it without its dry run.
// Windows have only their first rejection noted. A block has no windows, and has each rejection noted.
func (e *Evaluation) noteRejection(r *response.Result, t *topkeys.Take) {
	event := journal.Event{Place: journal.Place{
		Kind: journal.Rejected, Rule: t.Rule, Key: t.Key, Endpoint: r.Counters.Endpoint, Tier: r.Counters.Tier,
	}}
	event.Request, event.Describe = e.HTTP, originOf
	if e.denied == nil {
		event.Kind = journal.WouldReject
	}
	switch {
	case r.IsConcurrent():
		event.Concurrent = r.Policy.Concurrent.Limit
	case r.Policy.Rule != nil:
		event.Limit = r.Policy.Limit
	}
	r.Usage.Journal.Add(e.Time(), &event)
}

// originOf describes a request for the journal in the words of reports.
func originOf(r *http.Request) journal.Origin {
	d := report.Subject{Request: r}.Describe()
	return journal.Origin{Client: d.ClientIP, Method: d.Method, Path: d.Path}
}

// remember has the zone of a check remember its request, if an operator tries another limit there. It
// remembers when the request came, not when it was decided: under another limit, the request might not have
// waited.
func (e *Evaluation) remember(c *check) {
	r := &c.result
	memory := &r.Usage.Recent
	if !memory.On() || r.IsConcurrent() || c.zone == nil {
		return
	}
	memory.Add(c.take.Key, recent.Decision{
		At: int64(cmp.Or(e.arrived, r.Decision.At)), Cost: max(1, r.Cost), Count: r.Policy.CountID, Place: r.Counters.Number,
	})
}
