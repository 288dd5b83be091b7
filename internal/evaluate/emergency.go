package evaluate

import (
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/emergency"
)

// takeInEmergency takes from the limit of emergency mode if that is on. It sets denied if the limit
// rejects the request. Of several handlers, the first takes for all.
func (e *Evaluation) takeInEmergency() error {
	if e.state != nil && e.state.emergency {
		return nil
	}
	result, taken, err := e.handler.App.Emergency.Take(e.HTTP, e.Repl, emergency.Buffers{Key: e.KeyBuffer(), Takes: e.takes})
	if err != nil {
		return caddyhttp.Error(http.StatusTooEarly, err)
	}
	if !taken {
		return nil
	}
	e.attachState()
	e.state.emergency = true
	e.now = result.Decision.At
	result.Headers = e.handler.Headers
	e.noteKey(result.Zone, result.Template)
	e.state.Add(result)
	last := len(e.state.Results) - 1
	r := &e.state.Results[last]
	e.count(r, !r.Decision.OK)
	if r.Decision.OK {
		e.state.Results = e.state.Results[:last] // responses say nothing of emergency mode
	} else {
		e.denied = r
	}
	return nil
}
