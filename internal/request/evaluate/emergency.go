package evaluate

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/request/emergency"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
)

// takeInEmergency takes from the limit of emergency mode if that is on. It sets denied if the limit
// rejects the request. Of several handlers, the first takes for all.
func (e *Evaluation) takeInEmergency() error {
	if e.handler.App.Emergency.IsOff() {
		return nil
	}
	r, err := e.decideInEmergency(e.handler.App.Emergency.Take)
	if r != nil {
		e.count(r, e.denied != nil)
	}
	return err
}

// decideInEmergency returns what the limit of emergency mode decides, or nil if nothing. take is one
// of the methods of the switch.
func (e *Evaluation) decideInEmergency(
	take func(*http.Request, *caddy.Replacer, emergency.Buffers) (response.Result, bool, error),
) (*response.Result, error) {
	if e.state != nil && e.state.emergency {
		return nil, nil
	}
	result, taken, err := take(e.HTTP, e.Repl, emergency.Buffers{Key: e.KeyBuffer(), Takes: e.takes})
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
	result.Settings = e.handler.Settings
	r := e.state.Add()
	*r = result
	if r.Decision.OK {
		e.state.Results = e.state.Results[:len(e.state.Results)-1] // responses say nothing of emergency mode
	} else {
		e.denied = r
	}
	return r, nil
}
