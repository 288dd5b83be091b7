package response

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/config"
)

// A Refusal is why a request gets 403, or 400 if what it counts by is not clear, whatever its rate
// is.
type Refusal struct {
	Status          int
	Reason, Message string
}

// Write answers with the refusal by a zone, or by the handler itself if that is "". style is one of
// those that `reject` has. The body is written by way of buffer.
func (f *Refusal) Write(w http.ResponseWriter, zone, style string, buffer *[]byte) error {
	w.Header()["Cache-Control"] = noStore
	if style == config.RejectError {
		return caddyhttp.HandlerError{Err: errors.New(f.Message), StatusCode: f.Status}
	}
	*buffer = f.appendBody((*buffer)[:0], zone, style)
	write(w, f.Status, style, *buffer)
	return nil
}

func (f *Refusal) appendBody(b []byte, zone, style string) []byte {
	details := `"reason":"` + f.Reason + `"`
	if zone != "" {
		name, _ := json.Marshal(zone) // Marshal never fails for a string
		details = `"zone":` + string(name) + "," + details
	}
	if style == config.RejectProblem {
		b = append(b, `{"type":"about:blank","title":"`+http.StatusText(f.Status)+`","status":`...)
		b = strconv.AppendInt(b, int64(f.Status), 10)
		return append(b, `,"detail":"`+f.Message+`",`+details+"}\n"...)
	}
	code := "FORBIDDEN"
	if f.Status == http.StatusBadRequest {
		code = "BAD_REQUEST"
	}
	return append(b, `{"error":{"code":"`+code+`","message":"`+f.Message+`","details":{`+details+"}}}\n"...)
}
