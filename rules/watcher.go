package rules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	defaultPoll = 10 * time.Second

	// readTimeout is how long a poll may take.
	readTimeout = 10 * time.Second

	// mostMissed is how many missed versions are read for their actions.
	mostMissed = 1000
)

// Options configure a Watcher. The zero value has the defaults. The functions are called like
// subscribers: see Subscribe.
type Options struct {
	// Poll is the time between two polls. Default: 10 s.
	Poll time.Duration

	// OnFailure is called when three polls in a row have failed, with the last error. OnUnread is
	// called in its place when the first poll has failed and there is no copy, so that no rules are in
	// force. OnRecovery is called at the first good poll after either.
	OnFailure, OnUnread func(error)
	OnRecovery          func()

	// OnRepair is called after a version was written back to a store that had lost it. newest is the
	// number of the newest version that the store had before.
	OnRepair func(restored *Version, newest int64)

	// OnNewLineage is called when the store has rules that were made anew, in place of those that
	// this node knew.
	OnNewLineage func(known, made *Version)

	// Copy keeps what the store has on this node. It is in force from the start until the store
	// answers, and a store that has lost all gets it back. The watcher closes it. Nil: there is none.
	Copy Copy

	// Durable says that the store loses nothing by itself. If it has older versions than the copy at
	// the start, somebody has restored them, and they are in force.
	Durable bool

	// OnCopyInForce is called when a version of the copy is in force at the start, because the store
	// is empty or does not answer. OnRefill is called after a store has got back the history, with
	// the number of versions. OnCopyFailure is called when the copy cannot be read or written, at the
	// first of several failures.
	OnCopyInForce func(*Version)
	OnRefill      func(versions int)
	OnCopyFailure func(error)
}

// A Transition is from the version in force to the next.
type Transition struct {
	// From is the zero Version at the first transition.
	From, To *Version

	// Actions are those of all versions after From up to To, in their order.
	Actions []Action

	// Incomplete says that Actions may lack some: this node has missed versions that the store does
	// not keep any more. Then no count that the node knows is to be trusted.
	Incomplete bool
}

// A Watcher knows the version in force on this node. It polls the store, and at once when the store
// announces a version.
//
// While the store cannot be reached, the last version stays in force. A store that has lost its
// newest versions, such as a Redis that came back empty, gets back the last version that this node
// knows, with its number. So of all nodes the one that knows the highest number decides. What
// somebody has written meanwhile to the older versions that such a store still had stays in the
// history, but is not in force. What somebody has made anew in an empty store has another lineage,
// and all nodes follow it, whatever numbers they know.
type Watcher struct {
	store   VersionStore
	options Options
	latest  atomic.Pointer[Version]
	failed  atomic.Int64            // polls
	failing atomic.Pointer[Failing] // nil if the last poll was good
	recent  recentChanges

	reported  bool          // the failures since the last good poll were reported; of the goroutine of poll
	copyTried chan struct{} // closed when a version of the copy is in force, or need not be, or cannot

	ctx   context.Context // ends with Close
	stop  context.CancelFunc
	loops sync.WaitGroup

	wake    chan struct{}       // to poll now
	copied  chan struct{}       // to bring the copy up to date
	changed chan struct{}       // another version is in force
	refill  atomic.Bool         // whether the store lacks the history of the copy
	turn    chan struct{}       // holds one element while somebody reads the store, and may swap
	loaded  chan struct{}       // closed after the first version
	calls   chan func()         // for the one goroutine that swaps versions and calls subscribers
	subs    []*func(Transition) // of that goroutine
}

// NewWatcher returns a watcher of store, which it closes at the end. Until the store has answered,
// the zero Version is in force.
func NewWatcher(store VersionStore, options Options) *Watcher {
	options.Poll = cmp.Or(options.Poll, defaultPoll)
	w := &Watcher{
		store: store, options: options,
		wake: make(chan struct{}, 1), copied: make(chan struct{}, 1), changed: make(chan struct{}, 1), turn: make(chan struct{}, 1),
		loaded: make(chan struct{}), calls: make(chan func()), copyTried: make(chan struct{}),
	}
	w.latest.Store(&Version{Document: new(Document)})
	w.ctx, w.stop = context.WithCancel(context.Background())
	w.loops.Go(w.serve)
	w.loops.Go(w.poll)
	w.loops.Go(w.watch)
	w.loops.Go(w.recordExpiries)
	w.loops.Go(w.startFromCopy)
	if options.Copy != nil {
		w.loops.Go(w.keepCopy)
	}
	return w
}

// Latest returns the version in force. It is never nil, and has a document.
func (w *Watcher) Latest() *Version { return w.latest.Load() }

// Loaded is closed when the store has answered for the first time.
func (w *Watcher) Loaded() <-chan struct{} { return w.loaded }

// Store returns the store that is watched, to read older versions.
func (w *Watcher) Store() VersionStore { return w.store }

// Version returns a version: that in force, or one of the store, whose error it returns. Version 0 has
// no rules.
func (w *Watcher) Version(ctx context.Context, number int64) (*Version, error) {
	switch latest := w.Latest(); number {
	case latest.Number:
		return latest, nil
	case 0:
		return &Version{Document: new(Document)}, nil
	}
	return w.store.Version(ctx, number)
}

// Close ends the watcher and closes the store. Subscribers are not called any more when it
// returns.
func (w *Watcher) Close() error {
	w.stop()
	w.loops.Wait()
	err := w.store.Close()
	if w.options.Copy != nil {
		err = errors.Join(err, w.options.Copy.Close())
	}
	return err
}

// Subscribe calls f with the version in force, as a transition from itself, and then after each
// transition, until cancel returns. The transition has happened: Latest returns To. Subscribers are
// called one after the other, in the order of their subscription, and never concurrently. They must
// call neither Update, Rollback, Subscribe, Close nor cancel.
func (w *Watcher) Subscribe(f func(Transition)) (cancel func()) {
	sub := &f
	w.do(func() {
		w.subs = append(w.subs, sub)
		f(Transition{From: w.Latest(), To: w.Latest()})
	})
	return func() {
		w.do(func() { w.subs = slices.DeleteFunc(w.subs, func(s *func(Transition)) bool { return s == sub }) })
	}
}

// do has the goroutine of serve call f, and waits for it. After Close it does nothing.
func (w *Watcher) do(f func()) {
	done := make(chan struct{})
	select {
	case w.calls <- func() { defer close(done); f() }:
		<-done
	case <-w.ctx.Done():
	}
}

// serve calls what do gets, one after the other, until Close.
func (w *Watcher) serve() {
	for {
		select {
		case f := <-w.calls:
			f()
		case <-w.ctx.Done():
			return
		}
	}
}

// poll reads the store again and again until Close.
func (w *Watcher) poll() {
	ticker := time.NewTicker(w.options.Poll)
	defer ticker.Stop()
	for {
		err := w.read()
		switch {
		case w.ctx.Err() != nil:
			return
		case err != nil:
			w.pollFailed(err)
		default:
			w.pollSucceeded()
		}
		select {
		case <-ticker.C:
		case <-w.wake:
			ticker.Reset(w.options.Poll)
		case <-w.ctx.Done():
			return
		}
	}
}

// read refreshes when it is its turn.
func (w *Watcher) read() error {
	if err := w.begin(w.ctx); err != nil {
		return err
	}
	defer w.end()
	ctx, cancel := context.WithTimeout(w.ctx, readTimeout)
	defer cancel()
	return w.refresh(ctx)
}

// watch has the store wake the poll, and begins again when the store cannot announce.
func (w *Watcher) watch() {
	const shortest, longest = 100 * time.Millisecond, 10 * time.Second
	pause := shortest
	for w.ctx.Err() == nil {
		began := time.Now()
		_ = w.store.Watch(w.ctx, func() { signal(w.wake) })
		if time.Since(began) > longest {
			pause = shortest
		}
		sleep(w.ctx, pause/2+rand.N(pause))
		pause = min(2*pause, longest)
	}
}

// begin waits for the turn to read the store and to swap versions. end gives it to the next.
func (w *Watcher) begin(ctx context.Context) error {
	if w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	select {
	case w.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *Watcher) end() { <-w.turn }

// refresh puts the newest version of the store in force, or writes the version in force back to a
// store that has lost it. It needs the turn.
func (w *Watcher) refresh(ctx context.Context) error {
	for {
		newest, err := w.store.Latest(ctx)
		if err != nil {
			return w.unavailable(err)
		}
		if newest.Number == 0 && w.Latest().Number == 0 {
			w.useCopy(ctx)
		}
		known := w.Latest()
		restored := w.options.Durable && newest.Number > 0 && !w.isLoaded()
		if restored || newest.replaces(known) {
			return w.follow(ctx, newest)
		}
		switch err := w.store.Write(ctx, known, newest.Number); {
		case errors.Is(err, ErrConflict):
			continue // another node has written it back, or an older one
		case err != nil:
			return w.unavailable(err)
		}
		w.refill.Store(true)
		w.do(func() {
			if w.options.OnRepair != nil {
				w.options.OnRepair(known, newest.Number)
			}
			w.answered()
		})
		return nil
	}
}

// follow puts a version of the store in force, unless it is.
func (w *Watcher) follow(ctx context.Context, newest *Version) error {
	known := w.Latest()
	t := Transition{From: known, To: newest}
	switch {
	case !w.isLoaded():
		t.Incomplete = newest.Number > 0 // this node may have run for long
	case newest.equals(known):
		return nil
	default:
		var err error
		if t.Actions, t.Incomplete, err = w.missed(ctx, known, newest); err != nil {
			return w.unavailable(err)
		}
	}
	w.swap(t)
	if known.Number > 0 && newest.Lineage != known.Lineage && w.options.OnNewLineage != nil {
		w.do(func() { w.options.OnNewLineage(known, newest) })
	}
	return nil
}

// missed returns the actions of the versions after known up to newest, and whether some may be
// lacking.
func (w *Watcher) missed(ctx context.Context, known, newest *Version) (actions []Action, incomplete bool, err error) {
	between := newest.Number - known.Number - 1
	if between < 0 || between > mostMissed {
		return newest.Actions, true, nil
	}
	// The version known is read too: the store may have lost it, and got another of its number.
	history, err := w.store.History(ctx, newest.Number, int(between)+1)
	if err != nil {
		return nil, false, err
	}
	actions = newest.Actions
	number := newest.Number
	for _, v := range history {
		if number--; v.Number != number {
			return actions, true, nil
		}
		if number == known.Number {
			return actions, !v.equals(known), nil
		}
		actions = append(v.Actions[:len(v.Actions):len(v.Actions)], actions...)
	}
	return actions, number != 1 || known.Number != 0, nil
}

// swap puts a version of the store in force, and calls the subscribers.
func (w *Watcher) swap(t Transition) {
	w.do(func() {
		w.putInForce(t)
		w.answered()
	})
}

// putInForce is for the goroutine of serve.
func (w *Watcher) putInForce(t Transition) {
	w.latest.Store(t.To)
	w.recent.note(t.From, t.To)
	for _, f := range w.subs {
		(*f)(t)
	}
	signal(w.changed)
}

// answered is for the goroutine of serve, when the store has the version in force.
func (w *Watcher) answered() {
	if !w.isLoaded() {
		close(w.loaded)
	}
	signal(w.copied)
}

// signal wakes the goroutine that waits for c, now or when it waits next.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (w *Watcher) isLoaded() bool {
	select {
	case <-w.loaded:
		return true
	default:
		return false
	}
}

func (w *Watcher) unavailable(err error) error {
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, w.store.Name(), err)
}

// sleep waits, until ctx ends at most.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
