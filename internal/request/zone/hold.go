package zone

import (
	"time"

	"github.com/fleetlimit/fleetlimit/config"
)

// A Hold is for how long requests hold their places among those at once.
type Hold struct {
	Max         time.Duration // at most; 0 to leave that to Longest
	AfterCancel time.Duration // after the client has hung up
}

// longestHold is for how long a request holds its place if the operator does not say so, and its
// response is no stream.
const longestHold = time.Hour

// Longest returns for how long a request holds its place at most.
func (h Hold) Longest() time.Duration {
	if h.Max > 0 {
		return h.Max
	}
	return longestHold
}

// newHold compiles settings.
func newHold(settings *config.Zone) (Hold, error) {
	return Hold{time.Duration(settings.MaxHold), time.Duration(settings.HoldAfterCancel)}, settings.CheckHold()
}
