package evaluate

import (
	"math/rand/v2"
	"net/http"
	"sync"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// An Evaluation is the work of one handler on one request. Evaluations are pooled with their checks
// and keys, so that a request allocates none of them. Stores do not use takes and keys after they
// have returned, even if the client has gone.
type Evaluation struct {
	zone.Request
	progress

	checks      []check         // that may reject the request, those of a zone beside each other
	dryRuns     []check         // of zones that do not reject it
	comparisons []check         // of the rules that zones compare theirs with
	capacity    []capacityCheck // of zones that limit the requests at once of all keys together

	decisive []*check       // of checks, those that describe what their zones decide
	asked    []limiter.Take // the buffer of ask
	mayApply []*zone.Zone   // the buffer of zones

	credentials []zone.CredentialRead // what later handlers may change of what the zones read
	body        []byte                // of a rejection

	decisions uint32 // of all requests that it was used for, and a random start
}

// progress is how far an Evaluation is with its request.
type progress struct {
	handler  *Handler
	state    *requestState    // nil until a zone matches, of this handler or an earlier one
	rules    *zone.Snapshot   // the same for all handlers of the request
	renewed  *zone.Snapshot   // those in force after a wait; nil if the request has not waited, or they are rules
	reading  zone.Reading     // what the zone in hand says
	refused  refused          // before any decision
	denied   *response.Result // the result that rejects the request; of several, the one with the longest wait
	now      limiter.Instant  // of the decisions, by the wall clock
	arrived  limiter.Instant  // the same, before the request has waited
	blocked  bool             // a check rejects the request, whatever the takes find
	mayWait  bool             // a rate may have the request wait for its turn
	awaited  bool             // the request has waited for its body
	previews bool             // nothing is taken: the request is explained
	plain    bool             // the body of the response must not be compressed

	limitsConcurrent bool // a check limits requests at once
	countsByStatus   bool // a check counts only some statuses

	outer *Evaluation // of the handler before, whose next handlers include this one

	first         int // the index in state.Results of this handler's first result
	firstPermit   int // the same in state.permits
	firstAdaptive int // the same in state.adaptive
	firstCharge   int // the same in state.charges
}

var evaluations = sync.Pool{New: func() any { return &Evaluation{decisions: rand.Uint32()} }}

// Begin begins the evaluation of a request. It ends with Release.
func (h *Handler) Begin(r *http.Request) *Evaluation {
	e := evaluations.Get().(*Evaluation)
	e.handler, e.HTTP = h, r
	ctx := r.Context()
	e.Repl = ctx.Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	e.Vars, _ = ctx.Value(caddyhttp.VarsCtxKey).(map[string]any)
	state, found := e.Vars[requestStateVar].(*requestState)
	if found {
		e.state, e.first, e.rules = state, len(state.Results), state.rules
		e.firstPermit, e.firstAdaptive, e.firstCharge = len(state.permits), len(state.adaptive), len(state.charges)
	} else {
		e.Repl.Map(h.App.placeholders(e.Vars))
	}
	if e.rules == nil || !e.rules.BelongsTo(h.App.Zones) {
		e.rules = h.App.Rules()
	}
	return e
}

// Release returns e to the pool, without anything of the request. It is not called after a panic,
// when the store may still use the takes.
func (e *Evaluation) Release() {
	charges, concurrent := emptied(e.reading.Charges), emptied(e.reading.Concurrent)
	e.Request = zone.Request{}
	e.progress = progress{}
	e.reading.Charges, e.reading.Concurrent = charges, concurrent
	e.checks, e.dryRuns, e.comparisons = emptied(e.checks), emptied(e.dryRuns), emptied(e.comparisons)
	e.capacity, e.decisive = emptied(e.capacity), emptied(e.decisive)
	e.asked, e.mayApply = emptied(e.asked), emptied(e.mayApply)
	e.credentials = emptied(e.credentials)
	evaluations.Put(e)
}

// emptied returns s without elements, and with nothing of them in its array.
func emptied[T any](s []T) []T {
	clear(s)
	return s[:0]
}
