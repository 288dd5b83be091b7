package response

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
)

// A Refusal is why a request is refused, whatever is left of its limits. The status is 403; 400 if it is not
// clear what the request counts by; 408 if the client keeps it waiting; 503 if the upstream is overloaded.
type Refusal struct {
	Status          int
	Reason, Message string

	Wait time.Duration // the wait that the client is told; 0 if it is told none
}

// IsOverload reports whether the refusal is about the upstream, and not about the request.
func (f *Refusal) IsOverload() bool { return f.Status == http.StatusServiceUnavailable }

// Error returns the message.
func (f *Refusal) Error() string { return f.Message }

// appendBody appends the body of the refusal, without its end. z is the zone that the body names, nil if it
// names none.
func (f *Refusal) appendBody(b []byte, z *ZoneResponses, style string) []byte {
	details := `"reason":"` + f.Reason + `"`
	if z != nil {
		name, _ := json.Marshal(z.Usage.Name) // Marshal never fails for a string
		details = `"zone":` + string(name) + "," + details
	}
	if style == config.RejectProblem {
		kind := "about:blank"
		if f.IsOverload() {
			kind = problemReduced
		}
		b = append(b, `{"type":"`+kind+`","title":"`+http.StatusText(f.Status)+`","status":`...)
		b = strconv.AppendInt(b, int64(f.Status), 10)
		return append(b, `,"detail":"`+f.Message+`",`+details...)
	}
	code := "FORBIDDEN"
	switch f.Status {
	case http.StatusBadRequest:
		code = "BAD_REQUEST"
	case http.StatusRequestTimeout:
		code = "REQUEST_TIMEOUT"
	case http.StatusServiceUnavailable:
		code = "OVERLOADED"
	}
	return append(b, `{"error":{"code":"`+code+`","message":"`+f.Message+`","details":{`+details...)
}
