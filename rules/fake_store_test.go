package rules

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A fakeStore keeps versions in memory, and fails when a test wants it to.
type fakeStore struct {
	mu       sync.Mutex
	versions []*Version // the oldest first
	writes   int
	reads    int
	watches  int
	err      error // of reads and writes
	watchErr error
	lost     error // of writes that were done
	mute     bool  // announces nothing
	watchers []func()
	closed   bool
}

func (s *fakeStore) Name() string { return "fake" }

func (s *fakeStore) Latest(context.Context) (*Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if len(s.versions) == 0 {
		return &Version{Document: new(Document)}, s.err
	}
	return s.versions[len(s.versions)-1], s.err
}

func (s *fakeStore) Version(_ context.Context, number int64) (*Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.versions {
		if v.Number == number {
			return v, s.err
		}
	}
	return nil, ErrNotFound
}

func (s *fakeStore) History(_ context.Context, before int64, limit int) (all []*Version, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range slices.Backward(s.versions) {
		if (before <= 0 || v.Number < before) && len(all) < limit {
			c := *v
			c.Document = nil
			all = append(all, &c)
		}
	}
	return all, s.err
}

func (s *fakeStore) Write(_ context.Context, v *Version, after int64) error {
	s.mu.Lock()
	if s.err != nil {
		defer s.mu.Unlock()
		return s.err
	}
	newest := int64(0)
	if len(s.versions) > 0 {
		newest = s.versions[len(s.versions)-1].Number
	}
	place, found := slices.BinarySearchFunc(s.versions, v.Number, func(v *Version, n int64) int { return cmp.Compare(v.Number, n) })
	if newest != after || found {
		defer s.mu.Unlock()
		return ErrConflict
	}
	s.writes++
	s.versions = slices.Insert(slices.Clone(s.versions), place, v)
	watchers, lost := s.watchers, s.lost
	if s.mute {
		watchers = nil
	}
	s.mu.Unlock()
	for _, changed := range watchers {
		changed()
	}
	return lost
}

func (s *fakeStore) Watch(ctx context.Context, changed func()) error {
	s.mu.Lock()
	s.watches++
	err := s.watchErr
	if err == nil {
		s.watchers = append(s.watchers, changed)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	changed()
	<-ctx.Done()
	return ctx.Err()
}

func (s *fakeStore) Clear(context.Context) error {
	s.set(func() { s.versions = nil })
	return nil
}

func (s *fakeStore) Close() error {
	s.closed = true
	return nil
}

// set changes the store as something outside would.
func (s *fakeStore) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// state returns the versions, and how many writes and reads there were.
func (s *fakeStore) state() (versions []*Version, writes, reads int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.versions), s.writes, s.reads
}

func (s *fakeStore) kept() []*Version {
	versions, _, _ := s.state()
	return versions
}

func (s *fakeStore) written() int {
	_, writes, _ := s.state()
	return writes
}

// put writes version number with an action that names it.
func (s *fakeStore) put(number int64) {
	s.set(func() { s.versions = append(s.versions, version(number)) })
}

func version(number int64) *Version {
	return &Version{
		Number: number, Time: time.Unix(number, 0), Document: document(fmt.Sprint(number)),
		Actions: []Action{{Kind: Reset, Events: number}},
	}
}

// document has a text in it.
func document(text string) *Document {
	return &Document{Zones: map[string]*ZoneChange{"z": {Limit: text}}}
}

// setLimit returns a change of the text.
func setLimit(text string) Change {
	return Change{Author: "me", Apply: func(d *Document) error {
		*d = *document(text)
		return nil
	}}
}

// watcher starts a watcher, which ends with the test, and waits until it is idle.
func watcher(t *testing.T, store VersionStore, options Options) *Watcher {
	w := NewWatcher(store, options)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	synctest.Wait()
	return w
}

// pass lets time pass, and waits until all is idle.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// transitions collects the transitions of a watcher, without the first one.
func transitions(w *Watcher) *[]Transition {
	all := new([]Transition)
	w.Subscribe(func(t Transition) { *all = append(*all, t) })
	*all = nil
	return all
}

func wantLatest(t *testing.T, w *Watcher, number int64) {
	t.Helper()
	if got := w.Latest().Number; got != number {
		t.Errorf("the version in force = %d, want %d", got, number)
	}
}
