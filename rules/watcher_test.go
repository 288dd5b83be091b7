package rules

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestCanceledSubscriptionIsNotCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(fakeStore)
		w := watcher(t, store, Options{})
		a, b, c := 0, 0, 0
		w.Subscribe(func(Transition) { a++ })
		cancel := w.Subscribe(func(Transition) { b++ })
		w.Subscribe(func(Transition) { c++ })
		cancel()
		cancel()
		if _, err := w.Update(t.Context(), setLimit("1")); err != nil {
			t.Fatal(err)
		}
		if a != 2 || b != 1 || c != 2 {
			t.Errorf("calls = %d, %d, %d, want 2, 1, 2", a, b, c)
		}
		if err := w.Close(); err != nil || !store.closed {
			t.Errorf("Close = %v, closed = %v", err, store.closed)
		}
		cancel() // must not hang
		if _, err := w.Update(t.Context(), setLimit("2")); !errors.Is(err, ErrUnavailable) {
			t.Errorf("Update after Close = %v, want ErrUnavailable", err)
		}
	})
}

func TestAnnouncementsAndPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(fakeStore)
		one, other := watcher(t, store, Options{}), watcher(t, store, Options{})
		if _, err := one.Update(t.Context(), setLimit("1")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		wantLatest(t, other, 1)

		store.set(func() { store.mute = true })
		if _, err := one.Update(t.Context(), setLimit("2")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		wantLatest(t, other, 1)
		pass(defaultPoll)
		wantLatest(t, other, 2)
	})
}

// TestWatchBeginsAgain has a store that cannot announce for an hour.
func TestWatchBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{watchErr: errors.New("no channels")}
		w := watcher(t, store, Options{})
		attempts := func() (n int) {
			store.set(func() { n = store.watches })
			return n
		}
		pass(10 * time.Second)
		if n := attempts(); n < 4 {
			t.Errorf("attempts in 10 s = %d, want 4 or more", n)
		}
		pass(time.Hour)
		if n := attempts(); n > 800 {
			t.Errorf("attempts in an hour = %d, want at most 800", n)
		}
		store.set(func() { store.watchErr = nil })
		pass(15 * time.Second)
		other := watcher(t, store, Options{})
		if _, err := other.Update(t.Context(), setLimit("1")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		wantLatest(t, w, 1)
	})
}

func TestOutageOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{mute: true}
		down := errors.New("down")
		var events []string
		w := watcher(t, store, Options{
			OnFailure:  func(err error) { events = append(events, err.Error()) },
			OnRecovery: func() { events = append(events, "recovered") },
		})
		if _, err := w.Update(t.Context(), setLimit("1")); err != nil {
			t.Fatal(err)
		}
		store.set(func() { store.err = down })
		pass(2*defaultPoll + time.Second)
		if f := w.Failing(); len(events) > 0 || w.FailedPolls() != 2 || f.Polls != 2 || !errors.Is(f.Err, down) {
			t.Errorf("events after %d failed polls, %+v, = %q, want none after 2", w.FailedPolls(), f, events)
		}
		store.set(func() { store.err = nil })
		pass(defaultPoll)
		if f := w.Failing(); f != (Failing{}) || w.FailedPolls() != 2 {
			t.Errorf("failing after a good poll = %+v, of %d in all, want none of 2", f, w.FailedPolls())
		}
		store.set(func() { store.err = down })
		pass(10 * defaultPoll)
		if want := []string{"rules: the store cannot be reached: fake: down"}; !slices.Equal(events, want) {
			t.Errorf("events = %q, want %q", events, want)
		}
		if got, f := w.FailedPolls(), w.Failing(); got != 12 || f.Polls != 10 {
			t.Errorf("failed polls = %d, since the last good one %d, want 12 and 10", got, f.Polls)
		}
		wantLatest(t, w, 1)
		if _, err := w.Update(t.Context(), setLimit("2")); !errors.Is(err, ErrUnavailable) || !errors.Is(err, down) {
			t.Errorf("Update = %v, want ErrUnavailable with the reason", err)
		}
		store.set(func() { store.err = nil })
		store.put(2)
		pass(defaultPoll)
		wantLatest(t, w, 2)
		if len(events) != 2 || events[1] != "recovered" {
			t.Errorf("events = %q, want one recovery", events)
		}
	})
}

func TestFirstAnswerClosesLoaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{err: errors.New("down")}
		store.put(7)
		w := watcher(t, store, Options{})
		got := transitions(w)
		select {
		case <-w.Loaded():
			t.Error("Loaded is closed without an answer")
		default:
		}
		store.set(func() { store.err = nil })
		<-w.Loaded()
		synctest.Wait()
		wantLatest(t, w, 7)
		if len(*got) != 1 || !(*got)[0].Incomplete || (*got)[0].From.Number != 0 {
			t.Errorf("transitions = %+v, want an incomplete one from version 0", *got)
		}
	})
}

func TestMissedVersions(t *testing.T) {
	tests := map[string]struct {
		known  []int64 // in the store at first
		change func(*fakeStore)

		to         int64
		actions    []int64
		incomplete bool
	}{
		"the next":        {[]int64{1}, func(s *fakeStore) { s.put(2) }, 2, []int64{2}, false},
		"some":            {[]int64{1, 2}, func(s *fakeStore) { s.put(3); s.put(4); s.put(5) }, 5, []int64{3, 4, 5}, false},
		"since the first": {nil, func(s *fakeStore) { s.put(1); s.put(2) }, 2, []int64{1, 2}, false},
		"not kept": {[]int64{1, 2}, func(s *fakeStore) {
			s.put(5)
			s.put(6)
			s.set(func() { s.versions = s.versions[2:] })
		}, 6, []int64{5, 6}, true},
		"the first not kept": {nil, func(s *fakeStore) { s.put(5); s.put(6) }, 6, []int64{5, 6}, true},
		"very many":          {[]int64{1}, func(s *fakeStore) { s.put(5000) }, 5000, []int64{5000}, true},
		"another of the number": {[]int64{1}, func(s *fakeStore) {
			s.set(func() { s.versions = []*Version{{Number: 1, Author: "another", Document: new(Document)}} })
		}, 1, nil, true},
		"another below": {[]int64{1}, func(s *fakeStore) {
			s.set(func() { s.versions = []*Version{{Number: 1, Author: "another", Document: new(Document)}} })
			s.put(2)
		}, 2, []int64{2}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(fakeStore)
				for _, n := range test.known {
					store.put(n)
				}
				w := watcher(t, store, Options{})
				got := transitions(w)
				test.change(store)
				pass(defaultPoll)
				wantLatest(t, w, test.to)
				if len(*got) != 1 {
					t.Fatalf("transitions = %+v, want one", *got)
				}
				var actions []int64
				for _, a := range (*got)[0].Actions {
					actions = append(actions, a.Events)
				}
				if !slices.Equal(actions, test.actions) || (*got)[0].Incomplete != test.incomplete {
					t.Errorf("actions = %v, incomplete = %v, want %v, %v",
						actions, (*got)[0].Incomplete, test.actions, test.incomplete)
				}
			})
		})
	}
}

// TestStoreThatLostItsVersions has nodes that know different versions. The newest one is written
// back, and nobody overwrites it.
func TestStoreThatLostItsVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nodes = 5
		store := new(fakeStore)
		var watchers []*Watcher
		var repairs atomic.Int64
		for n := range int64(nodes) { // node n knows version n + 1
			store.put(n + 1) // the others learn of it when they poll
			watchers = append(watchers, watcher(t, store, Options{OnRepair: func(*Version, int64) { repairs.Add(1) }}))
		}
		newest := store.versions[nodes-1]
		store.set(func() { store.versions, store.writes = nil, 0 })
		pass(2 * defaultPoll)
		if got := store.versions[len(store.versions)-1]; got != newest {
			t.Errorf("the newest version = %+v, want %+v", got, newest)
		}
		if store.writes > nodes || int(repairs.Load()) != store.writes {
			t.Errorf("writes = %d, reported = %d, want at most one of each node", store.writes, repairs.Load())
		}
		for _, w := range watchers {
			wantLatest(t, w, nodes)
		}
		writes := store.writes
		pass(time.Minute)
		if store.writes != writes {
			t.Errorf("writes later = %d, want none", store.writes-writes)
		}
	})
}

// TestUpdateRepairsFirst changes the rules when the store has just lost them.
func TestUpdateRepairsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(fakeStore)
		store.put(8)
		w := watcher(t, store, Options{})
		store.set(func() { store.versions = nil })
		if _, err := w.Update(t.Context(), setLimit("9")); err != nil {
			t.Fatal(err)
		}
		if len(store.versions) != 2 || store.versions[0].Number != 8 || store.versions[1].Number != 9 {
			t.Errorf("versions in the store = %v, want 8 and 9", store.versions)
		}
	})
}
