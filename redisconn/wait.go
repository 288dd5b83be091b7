package redisconn

import "time"

// A wait says how long a caller of Do waits.
type wait struct {
	client   *Client
	began    time.Time
	pendings []pending
	extended time.Time // the end of the wait that was extended last, as this process was late
}

// last returns the end of the wait for a call that is written as late as possible.
func (w *wait) last() time.Time { return w.began.Add(2 * w.client.options.Timeout) }

// due returns until when the caller waits in a process that is punctual. A call that Redis refused
// to execute, and that was written again, has one timeout more.
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

// more returns how much longer than now the caller waits, if it does.
//
// What has arrived when the wait ends, and was not read yet, counts: whoever wakes this caller did
// not look at the network first. So the wait is extended for a moment, and for longer if this
// process is late: at most by the timeout.
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
