package rules

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestVersionIsInForceWhenUpdateReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(fakeStore)
		w := watcher(t, store, Options{})
		wantLatest(t, w, 0)
		var calls []string
		for _, name := range []string{"a", "b"} {
			w.Subscribe(func(tr Transition) {
				if w.Latest() != tr.To {
					t.Errorf("subscriber %s is called before the version is in force", name)
				}
				calls = append(calls, fmt.Sprintf("%s%d-%d", name, tr.From.Number, tr.To.Number))
			})
		}
		actions := []Action{{Kind: Reset, Key: Key{Zone: "z", Text: "k"}}}
		v, err := w.Update(t.Context(), Change{Author: "me", Note: "why", Actions: actions})
		if err != nil {
			t.Fatal(err)
		}
		if w.Latest() != v.Version || v.Number != 1 || v.Author != "me" || v.Note != "why" || !v.Time.Equal(time.Now()) {
			t.Errorf("the version in force = %+v, want the written one", w.Latest())
		}
		if want := []string{"a0-0", "b0-0", "a0-1", "b0-1"}; !slices.Equal(calls, want) {
			t.Errorf("calls = %v, want %v", calls, want)
		}
		pass(time.Minute)
		if len(calls) != 4 || store.writes != 1 {
			t.Errorf("calls = %v after %d writes, want no more", calls, store.writes)
		}
	})
}

func TestConcurrentUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const writers = 50
		store := new(fakeStore)
		nodes := []*Watcher{watcher(t, store, Options{}), watcher(t, store, Options{}), watcher(t, store, Options{})}
		var running sync.WaitGroup
		for i := range writers {
			running.Go(func() {
				_, err := nodes[i%len(nodes)].Update(t.Context(), Change{Apply: func(d *Document) error {
					d.Overrides = append(d.Overrides, &Override{Entry: Entry{ID: fmt.Sprint(i)}})
					return nil
				}})
				if err != nil {
					t.Errorf("Update: %v", err)
				}
			})
		}
		running.Wait()
		synctest.Wait()
		seen := map[string]bool{}
		for _, o := range nodes[0].Latest().Document.Overrides {
			seen[o.ID] = true
		}
		if len(seen) != writers {
			t.Errorf("overrides of %d writers, want %d", len(seen), writers)
		}
		for _, w := range nodes {
			wantLatest(t, w, writers)
		}
	})
}

func TestExpectedVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(fakeStore)
		w, other := watcher(t, store, Options{}), watcher(t, store, Options{})
		c := setLimit("1")
		c.Expected = new(int64)
		if _, err := w.Update(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Update(t.Context(), c); !errors.Is(err, ErrConflict) {
			t.Errorf("a second Update of version 0 = %v, want ErrConflict", err)
		}
		// Somebody else writes between the read and the write.
		c.Expected = new(int64(1))
		apply := c.Apply
		c.Apply = func(d *Document) error {
			if len(store.versions) == 1 {
				store.put(2)
			}
			return apply(d)
		}
		if _, err := w.Update(t.Context(), c); !errors.Is(err, ErrConflict) {
			t.Errorf("Update of version 1 = %v, want ErrConflict", err)
		}
		if len(store.versions) != 2 {
			t.Errorf("versions = %d, want 2", len(store.versions))
		}
	})
}

func TestRefusedUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(fakeStore)
		wrong := errors.New("wrong")
		w := watcher(t, store, Options{})
		refuse := Change{Apply: func(*Document) error { return wrong }}
		if _, err := w.Update(t.Context(), refuse); !errors.Is(err, wrong) || errors.Is(err, ErrUnavailable) {
			t.Errorf("a change that fails: %v, want the reason", err)
		}
		try := setLimit("1")
		try.DryRun = true
		v, err := w.Update(t.Context(), try)
		if err != nil || v.Number != 1 || v.Document.Zones["z"].Limit != "1" {
			t.Errorf("a dry run = %+v, %v, want version 1", v, err)
		}
		wantLatest(t, w, 0)
		if store.writes > 0 {
			t.Errorf("writes = %d, want none", store.writes)
		}
	})
}

func TestLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{lost: errors.New("connection reset")}
		w := watcher(t, store, Options{})
		if v, err := w.Update(t.Context(), setLimit("1")); err != nil || w.Latest() != v.Version {
			t.Errorf("Update = %v, %v, want the version, which the store has", v, err)
		}
	})
}

func TestRollback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(fakeStore)
		w := watcher(t, store, Options{})
		for n := range 5 {
			if _, err := w.Update(t.Context(), setLimit(fmt.Sprint(n+1))); err != nil {
				t.Fatal(err)
			}
		}
		for number := range int64(5) {
			v, err := w.Rollback(t.Context(), number, Change{Author: "me"})
			if err != nil {
				t.Fatal(err)
			}
			want := document(fmt.Sprint(number))
			if number == 0 {
				want = new(Document)
			}
			if w.Latest() != v.Version || !reflect.DeepEqual(v.Document, want) {
				t.Errorf("the document in force = %+v, want %+v", v.Document, want)
			}
			if want := fmt.Sprintf("rollback to version %d", number); v.Note != want || v.Author != "me" {
				t.Errorf("the version = %+v, want the note %q", v, want)
			}
		}
		if _, err := w.Rollback(t.Context(), 99, Change{}); !errors.Is(err, ErrNotFound) {
			t.Errorf("rollback to version 99 = %v, want ErrNotFound", err)
		}
	})
}
