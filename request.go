package fleetlimit

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/pathreading"
	"github.com/fleetlimit/fleetlimit/internal/response"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A requestState is what the rate_limit handlers of one request share.
type requestState struct {
	response.State
	rules         *ruleSnapshot
	charges       []charge
	inlineCharges [3]charge // the array of charges, unless there are more
	emergency     bool      // the limit of emergency mode has decided
}

// An evaluation is the work of one handler on one request. Evaluations are pooled with their takes
// and keys, so that a request allocates none of them. Stores do not use takes and keys after they
// have returned, even if the client has gone.
type evaluation struct {
	handler *Handler
	request *http.Request
	repl    *caddy.Replacer
	state   *requestState    // nil until a zone matches, of this handler or an earlier one
	first   int              // the index in state.results of this handler's first result
	takes   []limiter.Take   // of the results whose rule counts, in the same order
	blocked bool             // a rule rejects the request, whatever the takes find
	now     limiter.Instant  // of the decisions, by the wall clock
	read    time.Time        // when this machine's clock was read; zero: it was not
	denied  *response.Result // the result that rejects the request; of several, the one with the longest wait

	rules     *ruleSnapshot // the same for all handlers of the request
	forbidden forbidden     // before any decision
	trials    []trial       // of zones that do not reject the request

	comparisons []trial // of the rules that zones compare theirs with

	path     pathreading.Path
	pathErr  error
	pathRead bool                  // path and pathErr are set
	places   [pathreading.Most]int // the buffer of placesOf

	identity []identityRead // what later handlers may change of what the zones read
	body     []byte         // of a rejection
	freeKeys []byte         // the unused end of keys, or of a larger buffer in its place; nil: all
	keys     [256]byte      // the buffer of keys, one after the other
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
	if e.rules == nil || e.rules.app != h.app {
		e.rules = h.app.rulesInForce()
	}
	return e
}

// time returns an instant of the evaluation, the same each time: to read the clock takes longer
// than most of what an evaluation does.
func (e *evaluation) time() time.Time {
	if e.read.IsZero() {
		e.read = time.Now()
	}
	return e.read
}

// release returns e to the pool, without anything of the request. It is not called after a panic,
// when the store may still use the takes.
func (e *evaluation) release() {
	clear(e.takes)
	clear(e.identity)
	clear(e.trials)
	clear(e.comparisons)
	*e = evaluation{
		takes: e.takes[:0], identity: e.identity[:0], trials: e.trials[:0], comparisons: e.comparisons[:0], body: e.body,
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

// keyBuffer returns the unused end of the buffer for keys.
func (e *evaluation) keyBuffer() []byte {
	if e.freeKeys != nil {
		return e.freeKeys
	}
	return e.keys[:0]
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
