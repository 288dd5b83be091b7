package lease

import "sync/atomic"

const (
	// flightsMost is how many flights are under way at most that nobody waits for: more than a store that answers in 10 ms needs
	// for 400,000 requests a second, and a quarter of what the transport queues for one primary, so that there is room for the
	// flights that takes wait for. Those are not bounded here: who waits begins nothing else.
	maxBackground = 4096

	// refillsMost is how many of them takes may begin, so that a flood of fresh keys leaves room for what comes by the wheel:
	// leases that go back, and older debt.
	maxRefills = maxBackground / 4 * 3
)

// Traffic is the flights under way that nobody waits for.
type backgroundLimit struct{ flights atomic.Int64 }

// begin counts one flight more, unless there are as many as that.
func (t *backgroundLimit) begin(most int64) bool {
	if t.flights.Add(1) <= most {
		return true
	}
	t.flights.Add(-1)
	return false
}

// end counts one flight less.
func (t *backgroundLimit) end() { t.flights.Add(-1) }

// room returns how many may begin.
func (t *backgroundLimit) room() int { return int(max(0, maxBackground-t.flights.Load())) }
