package response

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/config"
)

// A Refusal is why a request gets 403, 400 if what it counts by is not clear, or 503 if the upstream
// is overloaded, whatever its rate is.
type Refusal struct {
	Status          int
	Reason, Message string
}

// IsOverload reports whether it is about the upstream, and not about the request.
func (f *Refusal) IsOverload() bool { return f.Status == http.StatusServiceUnavailable }

// Write answers with the refusal by a zone, or by the handler itself if that is "". style is one of
// those that `reject` has. The body is written by way of buffer.
func (f *Refusal) Write(w http.ResponseWriter, zone, style string, buffer *[]byte) error {
	new(fixedValues).set(w.Header(), style)
	if style == config.RejectError {
		return caddyhttp.HandlerError{Err: errors.New(f.Message), StatusCode: f.Status}
	}
	*buffer = f.appendBody((*buffer)[:0], zone, style)
	write(w, f.Status, *buffer)
	return nil
}

func (f *Refusal) appendBody(b []byte, zone, style string) []byte {
	details := `"reason":"` + f.Reason + `"`
	if zone != "" {
		name, _ := json.Marshal(zone) // Marshal never fails for a string
		details = `"zone":` + string(name) + "," + details
	}
	if style == config.RejectProblem {
		kind := "about:blank"
		if f.IsOverload() {
			kind = problemReduced
		}
		b = append(b, `{"type":"`+kind+`","title":"`+http.StatusText(f.Status)+`","status":`...)
		b = strconv.AppendInt(b, int64(f.Status), 10)
		return append(b, `,"detail":"`+f.Message+`",`+details+"}\n"...)
	}
	code := "FORBIDDEN"
	switch f.Status {
	case http.StatusBadRequest:
		code = "BAD_REQUEST"
	case http.StatusServiceUnavailable:
		code = "OVERLOADED"
	}
	return append(b, `{"error":{"code":"`+code+`","message":"`+f.Message+`","details":{`+details+"}}}\n"...)
}
