package rules

// failuresToReport is the number of failed polls in a row after which OnFailure is called.
const failuresToReport = 3

// A Failing is what has failed since the last good poll.
type Failing struct {
	Polls int64
	Err   error // the error of the newest poll
}

// FailedPolls returns how many polls have failed.
func (w *Watcher) FailedPolls() int64 { return w.failed.Load() }

// Failing returns what has failed since the last good poll. It returns the zero Failing if the
// newest poll was good.
func (w *Watcher) Failing() Failing {
	if f := w.failing.Load(); f != nil {
		return *f
	}
	return Failing{}
}

// Known reports whether rules were read once, from the store or its copy. Until then no rules are
// in force.
func (w *Watcher) Known() bool { return w.isLoaded() || w.Latest().Number > 0 }

// pollFailed counts a failed poll, and reports it if operators should know. Only the goroutine of
// poll calls it.
func (w *Watcher) pollFailed(err error) {
	w.failed.Add(1)
	failing := &Failing{w.Failing().Polls + 1, err}
	w.failing.Store(failing)
	select {
	case <-w.copyTried:
	case <-w.ctx.Done():
		return
	}
	report := w.options.OnFailure
	switch {
	case w.reported:
		return
	case !w.Known():
		report = w.options.OnUnread
	case failing.Polls < failuresToReport:
		return
	}
	w.reported = true
	if report != nil {
		w.do(func() { report(err) })
	}
}

// pollSucceeded notes a good poll. Only the goroutine of poll calls it.
func (w *Watcher) pollSucceeded() {
	w.failing.Store(nil)
	if w.reported && w.options.OnRecovery != nil {
		w.do(w.options.OnRecovery)
	}
	w.reported = false
}
