package evaluate

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/request/pace"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
)

// A requestState is what the rate_limit handlers of one request share.
type requestState struct {
	response.State
	rules         *zone.Snapshot
	running       *Evaluation // of the innermost handler whose next handlers run; nil if there is none
	charges       []chargedCount
	held          sync.Mutex      // guards permits and adaptive against timers
	permits       []heldPermit    // until the response ends
	answer        *answer         // what charges read of the response; nil if no charge awaits it
	longest       *time.Timer     // releases permits that are held for too long; nil before the first permit
	streams       atomic.Bool     // the response is a stream
	inlineCharges [3]chargedCount // the array of charges, as long as they fit
	adaptive      []heldAdaptive  // until the response ends
	pace          *pace.Pace      // of the client; nil before a handler needs it
	paced         bool            // the response is written at that pace
	emergency     bool            // the limit of emergency mode has decided
	logged        bool            // the access log has a line that shows the results
}

// requestStateVar is the name of Caddy's variable that holds the state of a request.
const requestStateVar = "rate_limit.state"

// attachState makes the state of the request, unless an earlier zone or handler has made it.
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

// results returns what this handler has decided: for each zone, at most one result about its rate and one
// about requests at once.
func (e *Evaluation) results() []response.Result {
	if e.state == nil {
		return nil
	}
	return e.state.Results[e.first:]
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
