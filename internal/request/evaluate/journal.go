package evaluate

import (
	"net/http"

	"github.com/fleetlimit/fleetlimit/internal/observe/journal"
	"github.com/fleetlimit/fleetlimit/internal/observe/topkeys"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
)

// noteTier notes in the journal that a key has another tier than before.
func (e *Evaluation) noteTier(r *response.Result, t *topkeys.Take, before uint16) {
	r.Usage.Journal.Tier(e.Time(), &journal.Place{
		Kind: journal.TierSeen, Rule: t.Rule, Key: t.Key, Endpoint: r.Counters.Endpoint, Tier: r.Counters.Tier,
		Before: r.Usage.TierCalled(before),
	})
}

// noteRejection notes in the journal that a zone rejects a key, or would do so without its dry run.
// Of a window, that is the first rejection. A limit that blocks has no windows.
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

// originOf describes a request for the journal, as reports do.
func originOf(r *http.Request) journal.Origin {
	d := report.Request{Request: r}.Describe()
	return journal.Origin{Client: d.ClientIP, Method: d.Method, Path: d.Path}
}
