package response

import (
	"net/http"
	"strings"
)

// IsStream reports whether a response that starts with this status may last for ever: it is a stream of
// events, or the connection is upgraded. Functions that OnStatus calls may use it, while the headers are
// known.
func (s *State) IsStream(status int) bool {
	if status == http.StatusSwitchingProtocols {
		return true
	}
	if s.writer.ResponseWriter == nil {
		return false
	}
	kind := s.writer.Header().Get("Content-Type")
	return len(kind) >= len(eventStream) && strings.EqualFold(kind[:len(eventStream)], eventStream)
}

// eventStream is the type of server-sent events.
const eventStream = "text/event-stream"
