package evaluate

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/request/emergency"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
)

// takeInEmergency takes from the limit of emergency mode if that mode is on. It sets denied if the limit
// rejects the request. Only the first handler of a request takes.
func (e *Evaluation) takeInEmergency() error {
	if e.handler.App.Emergency.IsOff() {
		return nil
	}
	c, err := e.decideInEmergency(e.handler.App.Emergency.Take)
	if c != nil {
		e.count(c, e.denied != nil)
		e.endEmergency()
	}
	return err
}

// endEmergency adds the decision of emergency mode to the results that the response describes, if it rejects
// the request. Otherwise the response says nothing of emergency mode.
func (e *Evaluation) endEmergency() {
	if e.denied != nil {
		e.state.Add(e.denied)
	} else {
		e.checks = emptied(e.checks)
	}
}

// decideInEmergency returns the check of the limit of emergency mode, nil if the mode is off, if the client
// has no address, or if an earlier handler has decided. take is Take or Peek of the switch.
func (e *Evaluation) decideInEmergency(
	take func(*http.Request, *caddy.Replacer, emergency.Buffers) (response.Result, bool, error),
) (*check, error) {
	if e.state != nil && e.state.emergency {
		return nil, nil
	}
	result, taken, err := take(e.HTTP, e.Repl, emergency.Buffers{Key: e.KeyBuffer(), Takes: e.asked})
	if err != nil {
		return nil, caddyhttp.Error(http.StatusTooEarly, err)
	}
	if !taken {
		return nil, nil
	}
	e.attachState()
	e.state.emergency = true
	e.now = result.Decision.At
	e.noteKey(result.Usage, result.Template)
	e.checks = append(e.checks, check{result: result})
	c := &e.checks[len(e.checks)-1]
	if c.result.Settings = e.handler.Settings; !c.result.Decision.OK {
		e.denied = &c.result
	}
	return c, nil
}
