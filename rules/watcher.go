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

	// mostMissed is the highest number of missed versions that are read for their actions.
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

	// OnNewLineage is called when the store has rules that were made anew, in an empty store, in place
	// of the rules that this node knew.
	OnNewLineage func(known, made *Version)

	// Copy keeps the versions of the store on this node. Its newest version is in force from the start
	// until the store answers. A store that has lost all versions gets them back from the copy. The
	// watcher closes the copy. Copy is nil if there is none.
	Copy Copy

	// Durable says that the store loses nothing by itself. If it has older versions than the copy at
	// the start, somebody has restored them, and the newest of them is put in force.
	Durable bool

	// OnCopyInForce is called when a version of the copy is in force at the start, because the store
	// is empty or does not answer. OnRefill is called after a store has got its history back, with the
	// number of versions that it got. OnCopyFailure is called when the copy cannot be read or written,
	// at the first of several failures.
	OnCopyInForce func(*Version)
	OnRefill      func(versions int)
	OnCopyFailure func(error)
}

// A Transition leads from the version in force to the next one.
type Transition struct {
	// From is the zero Version at the first transition.
	From, To *Version

	// Actions are the actions of all versions after From up to To, in their order.
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
// knows, with its number. So of all nodes the one that knows the highest number decides. If such a
// store still had older versions, and somebody has written a version after these meanwhile, that
// version stays in the history, but is not in force. Rules that somebody has made anew in an empty
// store have another lineage, and all nodes follow them, whatever numbers they know.
type Watcher struct {
	store   VersionStore
	options Options
	latest  atomic.Pointer[Version]
	failed  atomic.Int64            // number of failed polls
	failing atomic.Pointer[Failing] // nil if the last poll was good
	recent  recentChanges

	reported  bool          // the failures since the last good poll were reported; only the goroutine of poll uses it
	copyTried chan struct{} // closed when startFromCopy has ended

	ctx   context.Context // ends with Close
	stop  context.CancelFunc
	loops sync.WaitGroup

	wake    chan struct{}       // makes poll read the store now
	copied  chan struct{}       // makes keepCopy bring the copy up to date
	changed chan struct{}       // tells recordExpiries that another version is in force
	refill  atomic.Bool         // whether the store lacks the history of the copy
	turn    chan struct{}       // holds one element while somebody reads the store, and may swap
	loaded  chan struct{}       // closed after the first version
	calls   chan func()         // functions for the goroutine of serve, which alone swaps versions and calls subscribers
	subs    []*func(Transition) // used by that goroutine alone
}

// NewWatcher returns a watcher of store. Close closes the store, too. Until the store has answered
// or a version of the copy is in force, the zero Version is in force.
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

// Loaded returns a channel that is closed when the store has answered for the first time.
func (w *Watcher) Loaded() <-chan struct{} { return w.loaded }

// Store returns the store that is watched, to read older versions.
func (w *Watcher) Store() VersionStore { return w.store }

// Version returns the version with a number: the one in force, or one that it reads from the store.
// Its error is that of the store. Version 0 has no rules.
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

// Subscribe calls f with the version in force, as a transition from that version to itself, and
// then after each transition, until cancel returns. The transition has happened: Latest returns To.
// Subscribers are called one after the other, in the order of their subscription, and never
// concurrently. They must call neither Update, Rollback, Subscribe, Close nor cancel.
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

// serve calls the functions that do hands over, one after the other, until Close.
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

// read waits for the turn, and refreshes.
func (w *Watcher) read() error {
	if err := w.begin(w.ctx); err != nil {
		return err
	}
	defer w.end()
	ctx, cancel := context.WithTimeout(w.ctx, readTimeout)
	defer cancel()
	return w.refresh(ctx)
}

// watch has the store wake poll at each new version. When the store cannot announce versions, watch
// tries again after a pause.
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

// begin waits for the turn to read the store and to swap versions. end gives the turn to the next
// caller of begin.
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
// store that has lost it. The caller must have the turn.
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

// follow puts newest, a version of the store, in force, unless it is in force already.
func (w *Watcher) follow(ctx context.Context, newest *Version) error {
	known := w.Latest()
	t := Transition{From: known, To: newest}
	switch {
	case !w.isLoaded():
		t.Incomplete = newest.Number > 0 // this node may have run for long, and have missed actions
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

// missed returns the actions of the versions after known up to newest. incomplete reports that some
// may be missing.
func (w *Watcher) missed(ctx context.Context, known, newest *Version) (actions []Action, incomplete bool, err error) {
	between := newest.Number - known.Number - 1
	if between < 0 || between > mostMissed {
		return newest.Actions, true, nil
	}
	// known itself is read too: the store may have lost it, and have another version of that number.
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

// putInForce puts a version in force, and calls the subscribers. Only the goroutine of serve calls
// it.
func (w *Watcher) putInForce(t Transition) {
	w.latest.Store(t.To)
	w.recent.note(t.From, t.To)
	for _, f := range w.subs {
		(*f)(t)
	}
	signal(w.changed)
}

// answered notes that the store has answered, and has the version in force. Only the goroutine of
// serve calls it.
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

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
