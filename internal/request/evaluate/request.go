package evaluate

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/observe/topkeys"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/pace"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A requestState is what the rate_limit handlers of one request share.
type requestState struct {
	response.State
	rules         *zone.Snapshot
	running       *Evaluation // of the handler whose next handlers run; nil: none
	charges       []chargedCount
	held          sync.Mutex      // guards permits and adaptive against timers
	permits       []heldPermit    // until the response ends
	answer        *answer         // that charges await; nil: none
	longest       *time.Timer     // releases those that are held for too long; nil: there are none
	streams       atomic.Bool     // the response is a stream
	inlineCharges [3]chargedCount // the array of charges, unless there are more
	adaptive      []heldAdaptive  // until the response ends
	pace          *pace.Pace      // of the client; nil: nothing is held
	paced         bool            // the response is written at it
	emergency     bool            // the limit of emergency mode has decided
	logged        bool            // the access log has what is decided
}

// A zoneKey is the key that a zone counts the request by.
type zoneKey struct {
	zone *usage.Zone
	key  []byte
}

// An Evaluation is the work of one handler on one request. Evaluations are pooled with their takes
// and keys, so that a request allocates none of them. Stores do not use takes and keys after they
// have returned, even if the client has gone.
type Evaluation struct {
	zone.Request
	progress

	takes          []limiter.Take    // of the results whose rule counts, in the same order
	taken          []limiter.Take    // the same, once they are decided
	origins        []limiter.Origin  // of takes
	keys           []zoneKey         // of the zones that limit the request
	reserved       []*reserved       // of takes, those whose requests may not count
	mayWait        []mayWait         // of takes, those that may wait for their turn
	late           []*reservedCharge // of takes, those whose charges follow
	adaptive       []adaptiveZone    // that limit the requests at once of all keys together
	concurrentKeys []concurrentKey   // of the results about requests at once, in the same order
	mayApply       []*zone.Zone      // the buffer of zones
	dryRuns        []shadow          // of zones that do not reject the request
	comparisons    []shadow          // of the rules that zones compare theirs with

	credentials []zone.CredentialRead // what later handlers may change of what the zones read
	body        []byte                // of a rejection

	decisions uint32 // of all requests that it was used for, and a random start
}

// progress is how far an Evaluation is with its request.
type progress struct {
	handler  *Handler
	state    *requestState    // nil until a zone matches, of this handler or an earlier one
	rules    *zone.Snapshot   // the same for all handlers of the request
	renewed  *zone.Snapshot   // those in force when the request had waited; nil: rules, or it has not
	reading  zone.Reading     // what the zone in hand says
	refused  refused          // before any decision
	denied   *response.Result // the result that rejects the request; of several, the one with the longest wait
	now      limiter.Instant  // of the decisions, by the wall clock
	arrived  limiter.Instant  // the same, before the request has waited
	blocked  bool             // a rule rejects the request, whatever the takes find
	awaited  bool             // the request has waited for its body
	previews bool             // nothing is taken: the request is explained
	plain    bool             // the body of the response must not be compressed

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
	e.taken = emptied(e.taken)
	e.takes, e.keys, e.reserved, e.mayWait = emptied(e.takes), emptied(e.keys), emptied(e.reserved), emptied(e.mayWait)
	e.late, e.adaptive, e.concurrentKeys = emptied(e.late), emptied(e.adaptive), emptied(e.concurrentKeys)
	e.mayApply, e.dryRuns, e.comparisons = emptied(e.mayApply), emptied(e.dryRuns), emptied(e.comparisons)
	e.credentials = emptied(e.credentials)
	evaluations.Put(e)
}

// emptied returns s without elements, and with nothing of them in its array.
func emptied[T any](s []T) []T {
	clear(s)
	return s[:0]
}

// requestStateVar is the name of Caddy's variable that holds the state of a request.
const requestStateVar = "rate_limit.state"

// attachState makes the state of the request, unless an earlier zone or handler has.
func (e *Evaluation) attachState() {
	if e.state == nil {
		e.state = &requestState{rules: e.rules}
		e.state.charges = e.state.inlineCharges[:0]
		if e.Vars != nil {
			e.Vars[requestStateVar] = e.state
		}
		e.state.logged = report.AddToAccessLog(e.HTTP, &e.state.State)
	}
}

// results returns one result for each zone of this handler that limits the request.
func (e *Evaluation) results() []response.Result {
	if e.state == nil {
		return nil
	}
	return e.state.Results[e.first:]
}

// Rollback removes results that were not decided.
func (e *Evaluation) Rollback() {
	if e.state != nil {
		e.state.Results = e.state.Results[:e.first]
	}
}

// count adds a result to its zone's counters. A rejected request counts only in the zones that deny
// it.
func (e *Evaluation) count(r *response.Result, rejected bool) {
	if rejected && r.Decision.OK {
		return
	}
	c, list := r.Counters, &r.Usage.Top.Taken
	outcome, status := outcomeOf(r)
	switch outcome {
	case api.Unavailable:
		c.Unavailable[r.Decision.Source].Add(1)
		list = &r.Usage.Top.Rejected
	case api.Rejected:
		c.Rejected[r.Decision.Source].Add(1)
		list = &r.Usage.Top.Rejected
	case api.Degraded:
		c.Outage[r.Decision.Source].Add(1)
	case api.Queued:
		c.Queued[r.Decision.Source].Add(1)
	default:
		c.Admitted[r.Decision.Source].Add(1)
	}
	if rejected && r.IsConcurrent() {
		r.Usage.ConcurrentRejected.Add(1)
	}
	e.addTo(list, r)
	e.remember(r)
	if e.handler.Reports.AreFollowed() {
		e.publish(report.Decision{Outcome: outcome, Zone: r.Usage, Key: r.Template, Result: r, Status: status})
	}
}

// outcomeOf returns what a result is called, and the status that it answers; 0: the request goes on.
func outcomeOf(r *response.Result) (outcome string, status int) {
	if !r.Decision.OK {
		status = r.Status()
	}
	return report.OutcomeOf(r), status
}

// addTo adds a result to a list of the keys that use its zone most.
func (e *Evaluation) addTo(list *topkeys.List, r *response.Result) {
	i := slices.IndexFunc(e.keys, func(k zoneKey) bool { return k.zone == r.Usage })
	if i < 0 { // in emergency mode
		return
	}
	t := topkeys.Take{Rule: r.Policy.CountID, Key: e.keys[i].key, Tier: r.Counters.TierNumber, Cost: max(1, r.Cost)}
	if r.Policy.Rule != nil {
		t.Limit = r.Policy.LimitID()
	}
	if before, changed := list.Add(e.Time(), &t); changed {
		e.noteTier(r, &t, before)
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

// noteKey notes the text of a key, if the access log needs it. The next handlers may change what it is
// made of. The template is nil if there is no key.
func (e *Evaluation) noteKey(z *usage.Zone, key *keytemplate.Template) {
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

// subject returns the request as reports are about it.
func (e *Evaluation) subject() report.Request {
	return report.Request{Request: e.HTTP, Replacer: e.Repl}
}

// publish shows a decision to those who follow them.
func (e *Evaluation) publish(d report.Decision) {
	d.Request, d.Finder = e.subject(), e
	e.handler.Reports.Decided(d)
}

// Find implements report.Finder.
func (e *Evaluation) Find(of *usage.Zone, key *keytemplate.Template, r *response.Result) (found report.Found, known bool) {
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
		return s.Placeholder(name, a.HasZone)
	}
}
