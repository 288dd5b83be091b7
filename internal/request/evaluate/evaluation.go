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
// and keys, so that requests do not allocate them. That is safe because stores use neither takes
// nor keys after they have returned, even if the client has gone.
type Evaluation struct {
	zone.Request
	progress

	checks      []check         // limits that may reject the request; those of one zone are adjacent
	dryRuns     []check         // limits of zones in a dry run; those of one zone are adjacent
	comparisons []check         // limits that zones compare with those in force
	capacity    []capacityCheck // limits of the requests at once of all keys of a zone together

	decisive []*check       // the checks that describe what their zones decide
	asked    []limiter.Take // the buffer of ask
	mayApply []*zone.Zone   // the buffer of zones

	credentials []zone.CredentialRead // what zones have read and later handlers may change
	body        []byte                // the buffer for the body of a rejection

	decisions uint32 // number of decisions so far, from a random start; see timedEvery
}

// progress is how far an Evaluation is with its request.
type progress struct {
	handler  *Handler
	state    *requestState    // nil until a zone of this handler or an earlier one applies
	rules    *zone.Snapshot   // the same for all handlers of the request
	renewed  *zone.Snapshot   // rules that renew has read last; nil if it has read none
	reading  zone.Reading     // what the zone that is being read says
	refused  refused          // why the request is refused, before any decision
	denied   *response.Result // the result that rejects the request; of several, the one that outweighs the others
	now      limiter.Instant  // instant of the decisions, by the wall clock
	arrived  limiter.Instant  // instant of the first decision, before the request waits for a limit
	blocked  bool             // a check rejects the request, whatever the store answers
	mayWait  bool             // a check of a rate may have the request wait for its turn
	awaited  bool             // the request has waited for its body
	previews bool             // nothing is taken: the request is explained
	plain    bool             // the upstream must not compress the body of its response

	limitsConcurrent bool // a check limits requests at once
	countsByStatus   bool // a check counts only responses with some statuses

	outer *Evaluation // of the handler before, whose next handlers include this one; nil if there is none

	first         int // the index in state.Results of this handler's first result
	firstPermit   int // the index in state.permits of this handler's first permit
	firstAdaptive int // the index in state.adaptive of this handler's first permit
	firstCharge   int // the index in state.charges of this handler's first charge
}

var evaluations = sync.Pool{New: func() any { return &Evaluation{decisions: rand.Uint32()} }}

// Begin begins the evaluation of a request. The caller ends it with Release.
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
	if e.rules == nil || e.rules.Set() != h.App.Zones {
		e.rules = h.App.Rules()
	}
	return e
}

// Release returns e to the pool, without the keys and takes of the request. It is not called after
// a panic, when the store may still use the takes.
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

// emptied clears the elements of s, and returns s with length 0.
func emptied[T any](s []T) []T {
	clear(s)
	return s[:0]
}
