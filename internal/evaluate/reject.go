package evaluate

import (
	"net/http"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/response"
)

// Reject answers 429, or 503 while the count that it needs is not available.
func (e *Evaluation) Reject(w http.ResponseWriter) error {
	denied := *e.denied // a copy, as the state moves results
	named := e.nameDenied()
	wait := e.handler.Settings.Lengthen(denied.BoundedWait())
	e.trace()
	e.handler.Reports.Rejected(e.subject(), &denied, &named, wait)
	return e.writeRejection(w, denied, wait)
}

// nameDenied makes the zone that rejects the request known to later handlers, and returns its result.
func (e *Evaluation) nameDenied() response.Result {
	named := *e.denied
	if named.Legacy {
		named = *e.state.HighestRate(e.first)
	}
	e.state.Exceeded = named.Zone.Name
	return named
}

func (e *Evaluation) writeRejection(w http.ResponseWriter, denied response.Result, wait time.Duration) error {
	e.state.Decisive().RejectHeaders.Set(w.Header(), e.HTTP, e.Repl)
	return e.state.Reject(w, e.HTTP, denied, e.first, e.handler.Settings.Style(denied.Legacy), wait, &e.body)
}
