package rules

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// numbered returns versions of a lineage with the numbers from first to last.
func numbered(lineage string, first, last int64) (all []*Version) {
	for n := first; n <= last; n++ {
		v := version(n)
		v.Lineage = lineage
		all = append(all, v)
	}
	return all
}

func wantVersions(t *testing.T, what string, s *fakeStore, want []*Version) {
	t.Helper()
	s.set(func() {
		if !slices.EqualFunc(s.versions, want, (*Version).equals) {
			t.Errorf("%s has %d versions, want %d of the same", what, len(s.versions), len(want))
		}
	})
}

// An empty store gets back all versions in the copy of the node that starts first.
func TestEmptyStoreIsRefilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := numbered("a", 1, 9)
		store, kept := new(fakeStore), &fakeStore{versions: all}
		var events []string
		w := watcher(t, store, Options{
			Copy:          kept,
			OnCopyInForce: func(v *Version) { events = append(events, fmt.Sprint("copy ", v.Number)) },
			OnRepair:      func(v *Version, newest int64) { events = append(events, fmt.Sprint("repair ", v.Number, newest)) },
			OnRefill:      func(n int) { events = append(events, fmt.Sprint("refill ", n)) },
		})
		pass(time.Second)
		<-w.Loaded()
		wantLatest(t, w, 9)
		wantVersions(t, "the store", store, all)
		wantVersions(t, "the copy", kept, all)
		if want := []string{"copy 9", "repair 9 0", "refill 8"}; !slices.Equal(events, want) {
			t.Errorf("events = %q, want %q", events, want)
		}
	})
}

// What is written to a store, by this node or another, is soon in the copy.
func TestCopyFollowsTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, kept := &fakeStore{versions: numbered("a", 1, 3)}, new(fakeStore)
		w := watcher(t, store, Options{Copy: kept})
		pass(time.Second)
		wantVersions(t, "the copy", kept, store.kept())
		if _, err := w.Update(t.Context(), setLimit("x")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		wantVersions(t, "the copy", kept, store.kept())
		later := numbered("a", 1, 8)[2:]
		later[1] = w.Latest() // that is 4
		store.set(func() { store.versions = later })
		pass(defaultPoll)
		if all := kept.kept(); len(all) != 8 || all[7].Number != 8 {
			t.Errorf("the copy has %d versions, want 8 up to 8", len(all))
		}
	})
}

// A copy that cannot be written is reported once, and written when it can be.
func TestCopyThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("full")
		store, kept := &fakeStore{versions: numbered("a", 1, 3)}, &fakeStore{err: full}
		failures := 0
		watcher(t, store, Options{Copy: kept, OnCopyFailure: func(err error) {
			failures++
			if !errors.Is(err, full) {
				t.Errorf("failure = %v, want %v", err, full)
			}
		}})
		pass(10 * copyRetry)
		if failures != 1 {
			t.Errorf("failures = %d, want 1", failures)
		}
		kept.set(func() { kept.err = nil })
		pass(copyRetry)
		wantVersions(t, "the copy", kept, store.kept())
	})
}

// While the store does not answer, the copy is in force from the start.
func TestCopyIsInForceUntilTheStoreAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{err: errors.New("down"), versions: numbered("a", 1, 9)}
		w := watcher(t, store, Options{Copy: &fakeStore{versions: numbered("a", 1, 7)}})
		wantLatest(t, w, 0)
		pass(copyHeadStart)
		wantLatest(t, w, 7)
		if w.isLoaded() {
			t.Error("Loaded is closed without an answer of the store")
		}
		store.set(func() { store.err = nil })
		pass(defaultPoll)
		wantLatest(t, w, 9)
	})
}

// Rules that were made anew in an empty store are in force at all nodes, whatever numbers they
// know: nobody writes older rules over them.
func TestRulesMadeAnew(t *testing.T) {
	for name, made := range map[string]int64{"lower": 5, "equal": 9, "higher": 12} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &fakeStore{versions: numbered("old", 1, 9)}
				kept := new(fakeStore)
				var from, to int64
				options := Options{Copy: kept, OnNewLineage: func(known, made *Version) { from, to = known.Number, made.Number }}
				running := watcher(t, store, options)
				pass(time.Second)
				wantLatest(t, running, 9)
				got := transitions(running)
				anew := numbered("new", 1, made)
				store.set(func() { store.versions, store.writes = anew, 0 })
				pass(defaultPoll)
				started := watcher(t, store, Options{Copy: &fakeStore{versions: numbered("old", 1, 9)}})
				pass(defaultPoll)
				wantLatest(t, running, made)
				wantLatest(t, started, made)
				wantVersions(t, "the store", store, anew)
				wantVersions(t, "the copy", kept, anew)
				if n := store.written(); n != 0 || from != 9 || to != made {
					t.Errorf("%d writes, reported from %d to %d; want none, from 9 to %d", n, from, to, made)
				}
				if len(*got) != 1 || !(*got)[0].Incomplete {
					t.Errorf("transitions = %+v, want an incomplete one", *got)
				}
			})
		})
	}
}

// The first version makes a lineage, and the next ones have it.
func TestLineage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(fakeStore)
		one, other := watcher(t, store, Options{}), watcher(t, store, Options{})
		for _, w := range []*Watcher{one, other, one} {
			if _, err := w.Update(t.Context(), setLimit("x")); err != nil {
				t.Fatal(err)
			}
		}
		all := store.kept()
		first := all[0].Lineage
		if first == "" || all[1].Lineage != first || all[2].Lineage != first {
			t.Errorf("lineages = %q, %q, %q, want one", first, all[1].Lineage, all[2].Lineage)
		}
		store = new(fakeStore)
		if _, err := watcher(t, store, Options{}).Update(t.Context(), setLimit("x")); err != nil {
			t.Fatal(err)
		}
		if got := store.kept()[0]; got.Lineage == first || got.Number != 1 {
			t.Errorf("the first version of an empty store = %+v, want version 1 of another lineage", got)
		}
	})
}

// Older versions of another lineage than the newest version are not copied, because they are
// versions of other rules.
func TestCopyHasOneLineage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mixed := append(numbered("old", 1, 3), numbered("new", 4, 6)...)
		kept := new(fakeStore)
		watcher(t, &fakeStore{versions: mixed}, Options{Copy: kept})
		pass(time.Second)
		wantVersions(t, "the copy", kept, mixed[3:])
	})
}
