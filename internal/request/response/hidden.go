package response

import (
	"strconv"

	"github.com/fleetlimit/fleetlimit/config"
)

// hidesLimits reports whether responses tell clients nothing about limits except when to come again.
func (s *Settings) hidesLimits() bool { return s.headers == noHeaders }

// appendHidden appends the body of a rejection, without its end, for a handler that hides its limits. The body
// names neither the zone nor the limit, and does not say how much is left.
func (r *Result) appendHidden(b []byte, style string, retry int64) []byte {
	problem := style == config.RejectProblem
	begin, message := rejectedJSON, "Rate limit exceeded"
	if problem {
		begin = rejectedProblem
	}
	if r.IsConcurrent() {
		message = "Too many concurrent requests"
		if !problem {
			begin = rejectedConcurrentJSON
		}
	}
	switch {
	case r.Unavailable() && problem:
		b = append(b, unavailableProblem...)
	case r.Unavailable():
		b = append(b, unavailableJSON...)
	case problem:
		b = append(append(append(b, begin...), message...), `",`...)
	default:
		b = append(append(append(b, begin...), message...), `","details":{`...)
	}
	return strconv.AppendInt(append(b, `"retry_after_seconds":`...), retry, 10)
}
