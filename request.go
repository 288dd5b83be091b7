package fleetlimit

import (
	"net/http"
	"strings"
	"sync"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/response"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A requestState is what the rate_limit handlers of one request share.
type requestState struct {
	response.State
	rules         *ruleSnapshot
	charges       []chargedCount
	inlineCharges [3]chargedCount // the array of charges, unless there are more
	emergency     bool            // the limit of emergency mode has decided
}

// An evaluation is the work of one handler on one request. Evaluations are pooled with their takes
// and keys, so that a request allocates none of them. Stores do not use takes and keys after they
// have returned, even if the client has gone.
type evaluation struct {
	zoneRequest
	handler *Handler
	state   *requestState    // nil until a zone matches, of this handler or an earlier one
	first   int              // the index in state.Results of this handler's first result
	takes   []limiter.Take   // of the results whose rule counts, in the same order
	blocked bool             // a rule rejects the request, whatever the takes find
	now     limiter.Instant  // of the decisions, by the wall clock
	denied  *response.Result // the result that rejects the request; of several, the one with the longest wait

	rules       *ruleSnapshot // the same for all handlers of the request
	reading     reading       // what the zone in hand says
	refused     refused       // before any decision
	dryRuns     []shadow      // of zones that do not reject the request
	comparisons []shadow      // of the rules that zones compare theirs with

	credentials []credentialRead // what later handlers may change of what the zones read
	body        []byte           // of a rejection
}

var evaluations = sync.Pool{New: func() any { return new(evaluation) }}

func newEvaluation(h *Handler, r *http.Request) *evaluation {
	e := evaluations.Get().(*evaluation)
	e.handler, e.request = h, r
	ctx := r.Context()
	e.repl = ctx.Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	vars, _ := ctx.Value(caddyhttp.VarsCtxKey).(map[string]any)
	state, found := vars[requestStateVar].(*requestState)
	if found {
		e.state, e.first, e.rules = state, len(state.Results), state.rules
	} else {
		e.repl.Map(h.app.placeholders(vars))
	}
	if e.rules == nil || !e.rules.belongsTo(&h.app.set) {
		e.rules = h.app.rulesInForce()
	}
	return e
}

// release returns e to the pool, without anything of the request. It is not called after a panic,
// when the store may still use the takes.
func (e *evaluation) release() {
	clear(e.takes)
	clear(e.credentials)
	clear(e.dryRuns)
	clear(e.comparisons)
	*e = evaluation{
		takes: e.takes[:0], credentials: e.credentials[:0], dryRuns: e.dryRuns[:0], comparisons: e.comparisons[:0], body: e.body,
	}
	evaluations.Put(e)
}

// requestStateVar is the name of Caddy's variable that holds the state of a request.
const requestStateVar = "rate_limit.state"

// attachState makes the state of the request, unless an earlier zone or handler has.
func (e *evaluation) attachState() {
	if e.state == nil {
		e.state = &requestState{rules: e.rules}
		e.state.charges = e.state.inlineCharges[:0]
		caddyhttp.SetVar(e.request.Context(), requestStateVar, e.state)
		e.addToAccessLog()
	}
}

// results returns one result for each zone of this handler that limits the request.
func (e *evaluation) results() []response.Result {
	if e.state == nil {
		return nil
	}
	return e.state.Results[e.first:]
}

// rollback removes results that were not decided.
func (e *evaluation) rollback() {
	if e.state != nil {
		e.state.Results = e.state.Results[:e.first]
	}
}

// count adds a result to its zone's counters. A rejected request counts only in the zones that deny
// it.
func (e *evaluation) count(r *response.Result, rejected bool) {
	c, outcome := r.Zone, ""
	switch {
	case rejected && r.Decision.OK:
		return
	case r.Unavailable():
		c.Unavailable[r.Decision.Source].Add(1)
		outcome = adminapi.Unavailable
	case rejected:
		c.Rejected[r.Decision.Source].Add(1)
		outcome = adminapi.Rejected
	case r.Outage:
		c.Outage[r.Decision.Source].Add(1)
		outcome = adminapi.Degraded
	default:
		c.Admitted[r.Decision.Source].Add(1)
		outcome = adminapi.Admitted
	}
	e.publish(decided{outcome: outcome, zone: r.Zone, key: r.Template, result: r})
}

// placeholders returns the values of {http.rate_limit.*} for the request with vars.
func (a *App) placeholders(vars map[string]any) caddy.ReplacerFunc {
	return func(name string) (any, bool) {
		name, ours := strings.CutPrefix(name, "http.rate_limit.")
		if !ours {
			return nil, false
		}
		var s *response.State
		if state, found := vars[requestStateVar].(*requestState); found {
			s = &state.State
		}
		return s.Placeholder(name, a.hasZone)
	}
}
