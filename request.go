package fleetlimit

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/pathreading"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A requestState is what the rate_limit handlers of one request have decided so far. The handlers
// share it, so that the response describes all their zones. Access logs still read it after the
// request.
type requestState struct {
	results  []zoneResult
	inline   [3]zoneResult // the array of results, unless there are more
	exceeded string        // the zone that rejected the request
	headers  headerValues
	writer   responseWriter
	rules    *ruleSnapshot

	charges       []charge
	inlineCharges [3]charge // the array of charges, unless there are more

	forbidden *forbidReason // why the request gets 403 or 400; nil: it does not
	emergency bool          // the limit of emergency mode has decided
}

// A zoneResult is the decision of one zone.
type zoneResult struct {
	zone     *zone
	rule     *rule
	endpoint int                   // its index
	template *keytemplate.Template // of the key
	cost     int64                 // of the request; 0 if the rule counts nothing
	decision limiter.Decision
	headers  headerSet // of the handler
	outage   bool      // the store did not decide: decision is by on_outage

	unknownTier string // that the request has, if the zone has no such tier
}

// An evaluation is the work of one handler on one request. Evaluations are pooled with their takes
// and keys, so that a request allocates none of them. Stores do not use takes and keys after they
// have returned, even if the client has gone.
type evaluation struct {
	handler *Handler
	request *http.Request
	repl    *caddy.Replacer
	state   *requestState   // nil until a zone matches, of this handler or an earlier one
	first   int             // the index in state.results of this handler's first result
	takes   []limiter.Take  // of the results whose rule counts, in the same order
	blocked bool            // a rule rejects the request, whatever the takes find
	now     limiter.Instant // of the decisions, by the wall clock
	read    time.Time       // when this machine's clock was read; zero: it was not
	denied  *zoneResult     // the result that rejects the request; of several, the one with the longest wait

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
		e.state, e.first, e.rules = state, len(state.results), state.rules
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
		e.state.results, e.state.charges = e.state.inline[:0], e.state.inlineCharges[:0]
		caddyhttp.SetVar(e.request.Context(), requestStateVar, e.state)
		e.addToAccessLog()
	}
}

// results returns one result for each zone of this handler that limits the request.
func (e *evaluation) results() []zoneResult {
	if e.state == nil {
		return nil
	}
	return e.state.results[e.first:]
}

// rollback removes results that were not decided.
func (e *evaluation) rollback() {
	if e.state != nil {
		e.state.results = e.state.results[:e.first]
	}
}

// keyBuffer returns the unused end of the buffer for keys.
func (e *evaluation) keyBuffer() []byte {
	if e.freeKeys != nil {
		return e.freeKeys
	}
	return e.keys[:0]
}

// decide copies the decision of a take. If the store could not decide it, on_outage has, unless
// another zone rejects the request. Its instants become those of the wall clock, which reads now:
// the store has a clock of its own.
func (r *zoneResult) decide(take *limiter.Take, now limiter.Instant) {
	r.decision = take.Decision
	if r.outage = take.Err != nil; r.outage {
		if !r.decision.Source.WithoutStore() {
			r.decision = limiter.Decision{OK: true, Source: limiter.FromOutage, At: now, Limit: r.rule.Capacity()}
		}
		r.decision.Remaining = -1
	}
	r.decision.Rebase(now)
}

// block decides for a rule that rejects every request.
func (r *zoneResult) block(now limiter.Instant) {
	until := now + limiter.Instant(r.rule.window/time.Microsecond)
	r.decision = limiter.Decision{At: now, RetryAt: until, ResetAt: until}
}

// count adds a result to its zone's counters. A rejected request counts only in the zones that deny
// it.
func (e *evaluation) count(r *zoneResult, rejected bool) {
	c, outcome := r.zone.usage, ""
	switch {
	case rejected && r.decision.OK:
		return
	case r.unavailable():
		c.Unavailable[r.decision.Source].Add(1)
		outcome = adminapi.Unavailable
	case rejected:
		c.Rejected[r.decision.Source].Add(1)
		outcome = adminapi.Rejected
	case r.outage:
		c.Outage[r.decision.Source].Add(1)
		outcome = adminapi.Degraded
	default:
		c.Admitted[r.decision.Source].Add(1)
		outcome = adminapi.Admitted
	}
	e.publish(decided{outcome: outcome, zone: r.zone, key: r.template, result: r})
}

// wait returns how long the same request would be rejected.
func (r *zoneResult) wait() limiter.Instant { return r.decision.RetryAt - r.decision.At }

// remaining returns how much of the limit remains, -1 in an outage. A request that is denied shows
// that less remains than its cost, whatever this node knows.
func (r *zoneResult) remaining() int64 {
	if r.decision.OK {
		return r.decision.Remaining
	}
	return min(r.decision.Remaining, max(r.cost-1, 0))
}

// remainingFraction returns how much of the limit remains, 0 to 1, or less than 0 in an outage.
func (r *zoneResult) remainingFraction() float64 {
	if r.decision.Limit == 0 {
		return 0
	}
	return float64(r.remaining()) / float64(r.decision.Limit)
}

// formatHeaders prepares the headers of the response. first is the index of the handler's first
// result. If an earlier handler has decided one of its zones too, that older result is removed. The
// X- headers describe shown, or if that is nil, the zone with the least left. retry is the value of
// Retry-After, 0 for an admitted request.
func (s *requestState) formatHeaders(first int, shown *zoneResult, retry int64) {
	latest := s.results[first:]
	earlier := slices.DeleteFunc(s.results[:first], func(old zoneResult) bool {
		return slices.ContainsFunc(latest, func(r zoneResult) bool { return r.zone.usage == old.zone.usage })
	})
	s.results = append(earlier, latest...)
	if shown == nil {
		shown = s.tightest(xHeaders)
	}
	s.headers.format(s.results, shown, retry)
}

// tightest returns the result with the smallest fraction of its limit remaining, among those of
// handlers that send these headers. In an outage nothing is known to remain.
func (s *requestState) tightest(headers headerSet) *zoneResult {
	var least *zoneResult
	for i := range s.results {
		r := &s.results[i]
		if r.headers&headers == headers && (least == nil || r.remainingFraction() < least.remainingFraction()) {
			least = r
		}
	}
	return least
}

// placeholders returns the values of {http.rate_limit.exceeded.name} and of
// {http.rate_limit.<zone>.limit|remaining|reset|source} for the request with vars. Those of a zone
// that did not apply to it are empty. Those of a zone that does not exist are unknown, which shows
// the mistake.
func (a *App) placeholders(vars map[string]any) caddy.ReplacerFunc {
	return func(name string) (any, bool) {
		name, ours := strings.CutPrefix(name, "http.rate_limit.")
		if !ours {
			return nil, false
		}
		var results []zoneResult
		exceeded := ""
		if state, found := vars[requestStateVar].(*requestState); found {
			results, exceeded = state.results, state.exceeded
		}
		if name == "exceeded.name" {
			return exceeded, true
		}
		dot := max(0, strings.LastIndexByte(name, '.'))
		zone, value := name[:dot], resultValues[name[dot:]]
		if value == nil {
			return nil, false
		}
		for i := range results {
			if r := &results[i]; r.zone.name == zone {
				return value(r), true
			}
		}
		return "", a.hasZone(zone)
	}
}

// resultValues are the values of placeholders by the end of their name.
var resultValues = map[string]func(*zoneResult) string{
	".limit":     func(r *zoneResult) string { return strconv.FormatInt(r.decision.Limit, 10) },
	".remaining": func(r *zoneResult) string { return strconv.FormatInt(r.remaining(), 10) },
	".reset": func(r *zoneResult) string {
		if r.outage {
			return ""
		}
		return strconv.FormatInt(r.decision.ResetAt.Unix(), 10)
	},
	".source": func(r *zoneResult) string {
		if r.outage {
			return degraded
		}
		return r.decision.Source.String()
	},
}
