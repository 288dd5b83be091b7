package response

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
)

// A Refusal is why a request gets 403, 400 if what it counts by is not clear, or 503 if the upstream
// is overloaded, whatever its rate is.
type Refusal struct {
	Status          int
	Reason, Message string

	Wait time.Duration // that the client is told; 0 if there is none
}

// IsOverload reports whether it is about the upstream, and not about the request.
func (f *Refusal) IsOverload() bool { return f.Status == http.StatusServiceUnavailable }

// Error returns the message.
func (f *Refusal) Error() string { return f.Message }

// appendBody appends the body of the refusal by a zone, or by the handler itself if that is nil,
// without its end.
func (f *Refusal) appendBody(b []byte, z *Zone, style string) []byte {
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
	case http.StatusServiceUnavailable:
		code = "OVERLOADED"
	}
	return append(b, `{"error":{"code":"`+code+`","message":"`+f.Message+`","details":{`+details...)
}
