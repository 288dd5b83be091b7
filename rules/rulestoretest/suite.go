// Package rulestoretest is the conformance suite of [rules.VersionStore]: every store passes Run
// and LargeDocument. A store on a server passes Crash, too.
package rulestoretest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/rules"
)

// patience is how long a store may take for anything but a large document.
const patience = 15 * time.Second

// A Fixture is a place for versions, which is empty at first.
type Fixture struct {
	// Open returns a store of that place, as one node has it. Stores that it returns share their
	// versions.
	Open func() rules.VersionStore

	// WatchesItself is set for stores that announce only what was written through the same store.
	WatchesItself bool

	// AddsOlder is set for stores that can add older versions to their history.
	AddsOlder bool
}

// Run tests stores, in parallel. fresh returns another fixture each time.
func Run(t *testing.T, fresh func(t *testing.T) Fixture) {
	for _, test := range []struct {
		name string
		run  func(*suite)
	}{
		{"Empty", (*suite).empty},
		{"WriteAndRead", (*suite).writeAndRead},
		{"Conflict", (*suite).conflict},
		{"WriteBack", (*suite).writeBack},
		{"Older", (*suite).older},
		{"NotFound", (*suite).notFound},
		{"History", (*suite).history},
		{"ManyChanges", (*suite).manyChanges},
		{"Watch", (*suite).watch},
		{"WatchEnds", (*suite).watchEnds},
		{"ConcurrentWriters", (*suite).concurrentWriters},
		{"Canceled", (*suite).canceled},
		{"Closed", (*suite).closed},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(&suite{T: t, Fixture: fresh(t)})
		})
	}
}

type suite struct {
	*testing.T
	Fixture
}

// open returns a store that is closed after the test.
func (s *suite) open() rules.VersionStore {
	s.Helper()
	store := s.Open()
	s.Cleanup(func() {
		if err := store.Close(); err != nil {
			s.Errorf("Close: %v", err)
		}
	})
	return store
}

// Version returns version n, with all that a version can have. Its document differs from those of
// other numbers.
func Version(n int64) *rules.Version {
	instant := time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC).Add(time.Duration(n) * time.Second)
	later := instant.AddDate(100, 0, 0) // nothing expires while a test runs
	entry := func(kind string) rules.Entry {
		return rules.Entry{
			ID: fmt.Sprintf("%s-%d", kind, n), ExpiresAt: &later, Reason: "launch day ☃ \"quoted\"", CreatedAt: instant,
			CreatedBy: "admin@192.0.2.1",
		}
	}
	key := rules.Key{Zone: "user", Text: "sk_live_<1>"}
	return &rules.Version{
		Number: n, Time: instant, Author: "admin@192.0.2.1", Note: fmt.Sprintf("change %d\nof many", n),
		Summary: fmt.Sprintf("zones.user.limit: %d/1m to <☃>", n), Lineage: "k3vq7m",
		Actions: []rules.Action{
			{Kind: rules.Reset, Key: key},
			{Kind: rules.AddQuota, Key: rules.Key{Zone: "user", Base64: "/wA="}, Endpoint: "/v1/*", Events: n},
		},
		Document: &rules.Document{
			Zones: map[string]*rules.ZoneChange{"user": {
				Limit: fmt.Sprintf("%d/1m", n), Tiers: map[string]string{"pro": "5/1s"}, DryRun: "5%",
				Compare:   &rules.Comparison{Keys: "10%", Limit: "3/1s", Algorithm: "sliding_window 6"},
				Endpoints: map[string]*rules.Endpoint{"POST /v1/*": {Limit: "1/1s", Tiers: map[string]string{"pro": "2/1s"}}},
			}},
			Overrides: []*rules.Override{
				{Entry: entry("o"), Key: key, Multiplier: 2.5},
				{Entry: entry("p"), Key: rules.Key{Zone: "user", Base64: "/wA="}, Endpoint: "/v1/*", Limit: "9/1s"},
			},
			Tiers: []*rules.TierAssignment{{Entry: entry("t"), Key: key, Tier: "pro"}},
			Access: []*rules.AccessEntry{
				{Entry: entry("a"), Action: rules.Deny, Address: "192.0.2.0/24"},
				{Entry: entry("b"), Action: rules.Allow, Key: &key},
			},
			Emergency: &rules.Emergency{Limit: "10/1s", ExpiresAt: &later, Reason: "attack", StartedBy: "alice"},
		},
	}
}

// equal fails the test unless a version is the wanted one.
func (s *suite) equal(what string, got, want *rules.Version) {
	s.Helper()
	if got == nil {
		s.Fatalf("%s = nil, want version %d", what, want.Number)
	}
	g, w := *got, *want
	if !g.Time.Equal(w.Time) {
		s.Errorf("%s has the time %v, want %v", what, g.Time, w.Time)
	}
	g.Time = w.Time
	if !reflect.DeepEqual(&g, &w) {
		s.Errorf("%s = %+v, want %+v", what, g, w)
	}
}

func (s *suite) write(store rules.VersionStore, v *rules.Version, after int64) {
	s.Helper()
	if err := store.Write(s.Context(), v, after); err != nil {
		s.Fatalf("writing version %d: %v", v.Number, err)
	}
}

func (s *suite) latest(store rules.VersionStore) *rules.Version {
	s.Helper()
	v, err := store.Latest(s.Context())
	if err != nil {
		s.Fatalf("Latest: %v", err)
	}
	return v
}

// mustHave fails the test unless a store returns want by its number.
func (s *suite) mustHave(store rules.VersionStore, want *rules.Version) {
	s.Helper()
	got, err := store.Version(s.Context(), want.Number)
	if err != nil {
		s.Fatalf("version %d: %v", want.Number, err)
	}
	s.equal("the version", got, want)
}

// hasNumbers fails the test unless the history of a store has versions of these numbers.
func (s *suite) hasNumbers(store rules.VersionStore, want ...int64) (history []*rules.Version) {
	s.Helper()
	history, err := store.History(s.Context(), 0, 10)
	if err != nil || !slices.Equal(numbers(history), want) {
		s.Fatalf("the history = %v, %v, want %v", numbers(history), err, want)
	}
	return history
}

func (s *suite) empty() {
	store := s.open()
	if store.Name() == "" {
		s.Error("the store has no name")
	}
	s.equal("the newest version", s.latest(store), &rules.Version{Document: new(rules.Document)})
	s.hasNumbers(store)
}

func (s *suite) writeAndRead() {
	one, other := s.open(), s.open()
	bare := &rules.Version{Number: 2, Time: Version(2).Time, Document: new(rules.Document)}
	actions := &rules.Version{Number: 3, Time: Version(3).Time, Actions: Version(3).Actions, Document: bare.Document}
	same := Version(4) // a document that was there before
	same.Document = Version(1).Document
	for _, v := range []*rules.Version{Version(1), bare, actions, same} {
		s.write(one, v, v.Number-1)
		s.equal("the newest version", s.latest(one), v)
		s.equal("the newest version at the other store", s.latest(other), v)
		for _, store := range []rules.VersionStore{one, other, s.open()} {
			s.mustHave(store, v)
		}
	}
	s.mustHave(s.open(), Version(1))
}

func (s *suite) conflict() {
	one, other := s.open(), s.open()
	s.write(one, Version(1), 0)
	s.write(other, Version(2), 1)
	for _, wrong := range []struct{ number, after int64 }{{1, 0}, {2, 1}, {4, 3}, {3, 0}, {9, 8}} {
		v := Version(wrong.number)
		v.Author = "mallory"
		for _, store := range []rules.VersionStore{one, other} {
			if err := store.Write(s.Context(), v, wrong.after); !errors.Is(err, rules.ErrConflict) {
				s.Errorf("writing version %d after %d = %v, want ErrConflict", wrong.number, wrong.after, err)
			}
		}
	}
	s.equal("the newest version", s.latest(one), Version(2))
	s.equal("the version in the history", s.hasNumbers(one, 2, 1)[1], Version(1).WithoutDocument())
}

func (s *suite) notFound() {
	store := s.open()
	for _, number := range []int64{-1, 0, 1} {
		if v, err := store.Version(s.Context(), number); !errors.Is(err, rules.ErrNotFound) {
			s.Errorf("version %d of an empty store = %v, %v, want ErrNotFound", number, v, err)
		}
	}
	s.write(store, Version(1), 0)
	s.write(store, Version(3), 1)
	for _, number := range []int64{-1, 0, 2, 4, 1 << 60} {
		if v, err := store.Version(s.Context(), number); !errors.Is(err, rules.ErrNotFound) {
			s.Errorf("version %d = %v, %v, want ErrNotFound", number, v, err)
		}
	}
}

func numbers(history []*rules.Version) (all []int64) {
	for _, v := range history {
		all = append(all, v.Number)
	}
	return all
}

func (s *suite) history() {
	store := s.open()
	const last = 12
	for n := int64(1); n <= last; n++ {
		s.write(store, Version(n), n-1)
	}
	for _, test := range []struct {
		before int64
		limit  int
		want   []int64
	}{
		{0, 3, []int64{12, 11, 10}},
		{11, 3, []int64{10, 9, 8}},
		{3, 10, []int64{2, 1}},
		{1, 10, nil},
		{100, 2, []int64{12, 11}},
		{0, 0, nil},
	} {
		history, err := s.open().History(s.Context(), test.before, test.limit)
		if err != nil || !slices.Equal(numbers(history), test.want) {
			s.Errorf("History(%d, %d) = %v, %v, want %v", test.before, test.limit, numbers(history), err, test.want)
		}
		for _, v := range history {
			s.equal("the version in the history", v, Version(v.Number).WithoutDocument())
		}
	}
}

// watching watches a store until stop or the end of the test. changed gets an element for each
// call.
func (s *suite) watching(store rules.VersionStore) (changed chan struct{}, stop func()) {
	s.Helper()
	changed = make(chan struct{}, 1000)
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := store.Watch(ctx, func() { changed <- struct{}{} }); ctx.Err() == nil {
			s.Errorf("Watch ended with %v", err)
		}
	}()
	stop = func() {
		cancel()
		s.await(ended, "its context is over")
	}
	s.Cleanup(stop)
	s.await(changed, "of the begin")
	return changed, stop
}

func (s *suite) await(changed <-chan struct{}, what string) {
	s.Helper()
	select {
	case <-changed:
	case <-time.After(patience):
		s.Fatalf("Watch has not called or ended because %s", what)
	}
}

func (s *suite) watch() {
	writer := s.open()
	watchers := []rules.VersionStore{writer, writer}
	if !s.WatchesItself {
		watchers = append(watchers, s.open(), s.open())
	}
	var all []chan struct{}
	for _, store := range watchers {
		changed, _ := s.watching(store)
		all = append(all, changed)
	}
	for n := int64(1); n <= 3; n++ {
		for _, changed := range all {
			for len(changed) > 0 {
				<-changed
			}
		}
		s.write(writer, Version(n), n-1)
		for i, changed := range all {
			s.await(changed, fmt.Sprintf("of version %d", n))
			if v := s.latest(watchers[i]); v.Number != n {
				s.Errorf("the newest version after a call = %d, want %d", v.Number, n)
			}
		}
	}
}

func (s *suite) watchEnds() {
	_, stop := s.watching(s.open())
	stop()
}

// concurrentWriters has writers on three nodes add an override each.
func (s *suite) concurrentWriters() {
	const writers = 30
	stores := make([]rules.VersionStore, 3)
	for i := range stores {
		stores[i] = s.open()
	}
	var running sync.WaitGroup
	var conflicts atomic.Int64
	for i := range writers {
		running.Go(func() {
			store, id := stores[i%len(stores)], fmt.Sprint(i)
			for most := 10 * time.Millisecond; ; most += 10 * time.Millisecond {
				v, err := store.Latest(s.Context())
				if err != nil {
					s.Errorf("Latest: %v", err)
					return
				}
				document := v.Document.Clone()
				document.Overrides = append(document.Overrides, &rules.Override{
					Entry: rules.Entry{ID: id}, Key: rules.Key{Zone: "z", Text: id}, Limit: "1/1s",
				})
				err = store.Write(s.Context(), &rules.Version{Number: v.Number + 1, Author: id, Document: document}, v.Number)
				switch {
				case err == nil:
					return
				case errors.Is(err, rules.ErrConflict):
					conflicts.Add(1)
					time.Sleep(rand.N(most)) // as a Watcher does
				default:
					s.Errorf("Write: %v", err)
					return
				}
			}
		})
	}
	running.Wait()
	v := s.latest(s.open())
	seen := map[string]bool{}
	for _, o := range v.Document.Overrides {
		seen[o.ID] = true
	}
	if v.Number != writers || len(v.Document.Overrides) != writers || len(seen) != writers {
		s.Errorf("version %d has %d overrides of %d writers, want %d; %d conflicts",
			v.Number, len(v.Document.Overrides), len(seen), writers, conflicts.Load())
	}
}

func (s *suite) canceled() {
	store := s.open()
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	if err := store.Write(ctx, Version(1), 0); err == nil || errors.Is(err, rules.ErrConflict) {
		s.Errorf("Write with a canceled context = %v, want another error", err)
	}
	if _, err := store.Latest(ctx); err == nil {
		s.Error("Latest with a canceled context = nil, want an error")
	}
	s.write(store, Version(1), 0)
}

func (s *suite) closed() {
	store := s.Open()
	_, stop := s.watching(store)
	stop()
	s.write(store, Version(1), 0)
	if err := store.Close(); err != nil {
		s.Fatalf("Close: %v", err)
	}
	s.equal("the newest version at another store", s.latest(s.open()), Version(1))
}
