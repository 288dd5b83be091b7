package limiter

import (
	"fmt"
	"time"
)

// The bounds of a Limit. Within them no arithmetic of this package overflows.
const (
	MaxEvents = 1_000_000_000_000         // 10^12
	MinWindow = time.Millisecond          // shorter windows would measure the scheduler
	MaxWindow = 10 * 365 * 24 * time.Hour // ten years
)

// A Limit is a number of events per window of time.
type Limit struct {
	// Events is how many events a window admits. 1 <= Events <= MaxEvents.
	Events int64

	// Window is a whole number of microseconds. MinWindow <= Window <= MaxWindow.
	Window time.Duration

	// Burst is the capacity of a token bucket: the events that may happen at once after a pause. 0
	// means Events. The window algorithms ignore it.
	Burst int64
}

// Validate returns an error that names the field and its bounds when l cannot be enforced.
func (l Limit) Validate() error {
	switch {
	case l.Events < 1 || l.Events > MaxEvents:
		return fmt.Errorf("limiter: events = %d, want 1 to %d", l.Events, int64(MaxEvents))
	case l.Window < MinWindow || l.Window > MaxWindow:
		return fmt.Errorf("limiter: window = %v, want %v to %v", l.Window, MinWindow, MaxWindow)
	case l.Window%time.Microsecond != 0:
		return fmt.Errorf("limiter: window = %v, want whole microseconds", l.Window)
	case l.Burst < 0 || l.Burst > MaxEvents:
		return fmt.Errorf("limiter: burst = %d, want 0 to %d", l.Burst, int64(MaxEvents))
	}
	return nil
}
