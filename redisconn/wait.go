package redisconn

import "time"

// A wait says how long a caller of Do waits.
type wait struct {
	client   *Client
	began    time.Time
	pendings []pending
	extended time.Time // what due returned when more extended the wait last
}

// last returns the end of the wait for a call that is written as late as possible.
func (w *wait) last() time.Time { return w.began.Add(2 * w.client.options.Timeout) }

// due returns the end of the wait in a process that is punctual. The latest end is last, or one timeout
// after that if a call was written again because Redis had refused to execute it.
func (w *wait) due() (due time.Time) {
	last := w.last()
	for i := range w.pendings {
		p := &w.pendings[i]
		end := w.began
		if at := p.written.Load(); at != nil {
			end = *at
		}
		if p.again.Load() {
			last = w.last().Add(w.client.options.Timeout)
		}
		if end = end.Add(w.client.options.Timeout); p.state.Load() != done && end.After(due) {
			due = end
		}
	}
	if due.After(last) {
		return last
	}
	return due
}

// more returns how much longer the caller waits after now. It reports false if the wait is over.
//
// An answer that has arrived when the wait ends counts, even if it was not read yet: the timer may wake
// the caller before anybody has looked at the network. So more extends the wait for a moment, and for
// longer if this process is late, but at most by the timeout.
func (w *wait) more(now time.Time) (time.Duration, bool) {
	due := w.due()
	switch {
	case due.After(now):
		return due.Sub(now), true
	case !due.After(w.extended):
		return 0, false
	}
	w.extended = due
	late := max(punctual, w.client.Lag(), lagFactor*now.Sub(due))
	return min(late, w.client.options.Timeout), true
}
