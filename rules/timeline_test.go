package rules

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// lines returns what a timeline has, the newest first.
func (t *Timeline) lines(began time.Time) (all []string) {
	for i := range t.Touches {
		e := &t.Touches[i]
		line := fmt.Sprintf("%s %s %s", e.Time.Sub(began).Round(time.Second), e.What, e.Did)
		for _, more := range []string{e.Entry, e.Key.Text, e.Text, e.Version.Author, e.Reason} {
			if more != "" {
				line += ", " + more
			}
		}
		all = append(all, line)
	}
	return all
}

// aHistory writes versions about two keys of a zone, and of another zone.
func aHistory(t *testing.T, w *Watcher) {
	t.Helper()
	hour, k := time.Now().Add(time.Hour), Key{Zone: "user", Text: "k"}
	other := Key{Zone: "user", Text: "other"}
	change := func(author, note string, f func(*Document)) {
		t.Helper()
		c := Change{Author: author, Note: note}
		if f != nil {
			c.Apply = func(d *Document) error { f(d); return nil }
		} else {
			c.Actions = []Action{{Kind: Reset, Key: k}, {Kind: AddQuota, Key: other, Events: 500}}
		}
		if _, err := w.Update(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
	}
	change("alice", "prices", func(d *Document) { d.Zones = map[string]*ZoneChange{"user": {Limit: "50/1m"}, "b": {Limit: "1/1m"}} })
	change("bob", "launch", func(d *Document) {
		d.Overrides = []*Override{{Entry: Entry{ID: "o", ExpiresAt: &hour, Reason: "launch"}, Key: k, Limit: "9/1m"}, {Entry: Entry{ID: "p"}, Key: other, Multiplier: 2}}
	})
	change("bob", "", nil)
	change("carol", "flood", func(d *Document) {
		d.Zones["user"] = &ZoneChange{Limit: "60/1m"}
		d.Tiers = []*TierAssignment{{Entry: Entry{ID: "t"}, Key: k, Tier: "pro"}}
		d.Access = []*AccessEntry{{Entry: Entry{ID: "a"}, Action: Deny, Address: "192.0.2.0/24"}}
	})
	change("carol", "over", func(d *Document) {
		d.Tiers, d.Overrides[1] = nil, &Override{Entry: Entry{ID: "p"}, Key: other, Multiplier: 3}
		d.Emergency = &Emergency{Limit: "10/1s", ExpiresAt: &hour}
	})
	change("dave", "not about the zone", func(d *Document) { d.Zones["b"] = &ZoneChange{Limit: "2/1m"} })
}

func TestTimeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		store := new(fakeStore)
		w := watcher(t, store, Options{})
		aHistory(t, w)
		pass(time.Hour)
		late := watcher(t, store, Options{}) // it reads all from the store
		pass(time.Second)
		ofKey := &Subject{Zone: "user", Is: func(k Key, _ string) bool { return k.Text == "k" }, At: func(string) bool { return false }}
		for _, tc := range []struct {
			what string
			of   *Subject
			want []string
		}{
			{"the key", ofKey, []string{
				"1h0m0s override expired, o, k, 9/1m, expiry, launch", "1h0m0s emergency expired, 10/1s, expiry",
				"4m0s tier ended, t, k, pro, carol, over", "4m0s emergency made, 10/1s, carol",
				"3m0s limit changed, limit 50/1m to 60/1m, carol, flood", "3m0s tier made, t, k, pro, carol",
				"2m0s reset , k, bob",
				"1m0s override made, o, k, 9/1m until 2000-01-01T01:00:00Z, bob, launch",
				"0s limit made, limit 50/1m, alice, prices",
			}},
			{"the zone", &Subject{Zone: "user"}, []string{
				"1h0m0s override expired, o, k, 9/1m, expiry, launch", "1h0m0s emergency expired, 10/1s, expiry",
				"4m0s override changed, p, other, x3, carol", "4m0s tier ended, t, k, pro, carol, over", "4m0s emergency made, 10/1s, carol",
				"3m0s limit changed, limit 50/1m to 60/1m, carol, flood", "3m0s tier made, t, k, pro, carol",
				"3m0s access made, a, deny 192.0.2.0/24, carol",
				"2m0s reset , k, bob", "2m0s add_quota , other, 500 events, bob",
				"1m0s override made, o, k, 9/1m until 2000-01-01T01:00:00Z, bob, launch", "1m0s override made, p, other, x2, bob",
				"0s limit made, limit 50/1m, alice, prices",
			}},
		} {
			for _, w := range []*Watcher{w, late} {
				timeline, err := w.Timeline(t.Context(), tc.of, 100)
				if err != nil || timeline.Oldest != 1 || timeline.More {
					t.Fatalf("timeline of %s = %+v, %v", tc.what, timeline, err)
				}
				if got := timeline.lines(began); !slices.Equal(got, tc.want) {
					t.Errorf("timeline of %s =\n%q\nwant\n%q", tc.what, got, tc.want)
				}
			}
		}
	})
}

// A node does not read the documents of versions that have come into force on it.
func TestTimelineFromMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(fakeStore)
		w := watcher(t, store, Options{})
		aHistory(t, w)
		before, err := w.Timeline(t.Context(), &Subject{Zone: "user"}, 100)
		store.set(func() {
			for i, v := range store.versions {
				store.versions[i] = v.WithoutDocument()
			}
		})
		after, lost := w.Timeline(t.Context(), &Subject{Zone: "user"}, 100)
		if err != nil || lost != nil || len(before.Touches) == 0 || len(after.Touches) != len(before.Touches) {
			t.Errorf("touches = %d, %v; without the documents in the store %d, %v", len(before.Touches), err, len(after.Touches), lost)
		}
	})
}

// A change of many entries is not remembered.
func TestRecentChangesAreBounded(t *testing.T) {
	var r recentChanges
	small, large := &Document{Access: []*AccessEntry{{}}}, &Document{Access: make([]*AccessEntry, largestRecent+1)}
	for i := range large.Access {
		large.Access[i] = new(AccessEntry)
	}
	v := func(number int64, d *Document) *Version { return &Version{Number: number, Document: d} }
	for i := range int64(mostRecent + 10) {
		r.note(v(i, new(Document)), v(i+1, small))
	}
	r.note(v(mostRecent+10, small), v(mostRecent+11, large))
	if len(r.byNumber) != mostRecent || r.changeOf(v(mostRecent+11, nil)) != nil || r.changeOf(v(mostRecent+10, nil)) == nil || r.changeOf(v(10, nil)) != nil {
		t.Errorf("changes = %d, want %d, the newest small ones", len(r.byNumber), mostRecent)
	}
}

// A timeline says how far back it goes.
func TestTimelineEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(fakeStore)
		w := watcher(t, store, Options{})
		if timeline, err := w.Timeline(t.Context(), &Subject{Zone: "user"}, 100); err != nil || timeline.Oldest != 0 {
			t.Errorf("timeline without versions = %+v, %v", timeline, err)
		}
		aHistory(t, w)
		w = watcher(t, store, Options{}) // it has seen none of the versions
		pass(time.Second)
		if timeline, err := w.Timeline(t.Context(), &Subject{Zone: "user"}, 3); err != nil || timeline.Oldest != 4 || !timeline.More {
			t.Errorf("timeline of three versions = %+v, %v, want one back to version 4", timeline, err)
		}
		store.set(func() { store.versions = store.versions[2:] }) // as a store that keeps few
		if timeline, err := w.Timeline(t.Context(), &Subject{Zone: "user"}, 100); err != nil || timeline.Oldest != 3 || timeline.More {
			t.Errorf("timeline of what is kept = %+v, %v, want one back to version 3", timeline, err)
		}
		over, end := context.WithCancel(t.Context())
		end()
		if timeline, err := w.Timeline(over, &Subject{Zone: "user"}, 100); err != nil || timeline.Oldest != 0 || !timeline.More {
			t.Errorf("timeline without time = %+v, %v, want one that is not complete", timeline, err)
		}
	})
}

// A timeline shows that an override has expired even before a version records it.
func TestTimelineOfExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watcher(t, new(fakeStore), Options{})
		if _, err := w.Update(t.Context(), expiring("launch", time.Hour)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // of the bubble
		v := w.Latest()
		if timeline := (&Subject{Zone: "z"}).expired(v, time.Now()); v.Number != 1 || len(timeline) != 1 || timeline[0].Did != Expired {
			t.Errorf("version %d with %+v, want the expiry of version 1", v.Number, timeline)
		}
	})
}
