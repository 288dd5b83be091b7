package rules

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// expiring returns a change that adds an override, which expires after d.
func expiring(id string, d time.Duration) Change {
	return Change{Author: "me", Apply: func(doc *Document) error {
		at := time.Now().Add(d)
		doc.Overrides = append(doc.Overrides, &Override{
			Entry: Entry{ID: id, ExpiresAt: &at}, Key: Key{Zone: "z", Text: "k"}, Limit: "5/1m",
		})
		return nil
	}}
}

// The expiry of an override is a version, which one of the nodes writes soon after it.
func TestExpiryIsAVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(fakeStore)
		nodes := []*Watcher{watcher(t, store, Options{}), watcher(t, store, Options{}), watcher(t, store, Options{})}
		if _, err := nodes[0].Update(t.Context(), expiring("launch", time.Hour)); err != nil {
			t.Fatal(err)
		}
		if _, err := nodes[0].Update(t.Context(), expiring("later", 3*time.Hour)); err != nil {
			t.Fatal(err)
		}
		pass(time.Hour - time.Millisecond)
		wantLatest(t, nodes[1], 2)
		pass(expirySpread)
		for _, w := range nodes {
			wantLatest(t, w, 3)
		}
		v := nodes[1].Latest()
		if v.Author != ExpiryAuthor || !strings.HasPrefix(v.Summary, "overrides.launch expired: ") || len(v.Document.Overrides) != 1 {
			t.Errorf("the version = %+v, want one of the expiry that keeps the other override", v)
		}
		pass(time.Hour)
		if n := store.written(); n != 3 {
			t.Errorf("writes = %d, want 3", n)
		}
		pass(2 * time.Hour)
		wantLatest(t, nodes[2], 4)
	})
}

// Entries that expire one after the other are removed by few versions.
func TestExpiriesAreBatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(fakeStore)
		w := watcher(t, store, Options{})
		for i := range 600 {
			at := time.Now().Add(time.Duration(i) * 100 * time.Millisecond)
			c := Change{Apply: func(d *Document) error {
				d.Access = append(d.Access, &AccessEntry{Entry: Entry{ID: NewID(), ExpiresAt: &at}, Action: Deny, Address: "192.0.2.1"})
				return nil
			}}
			if _, err := w.Update(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		pass(3 * time.Minute)
		if n := store.written() - 600; n < 2 || n > 4 || len(w.Latest().Document.Access) != 0 {
			t.Errorf("%d versions for a minute of expiries leave %d entries, want 2 to 4 and none", n, len(w.Latest().Document.Access))
		}
	})
}

// A store that cannot be written is tried again, without hurry.
func TestExpiryWhileTheStoreIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{mute: true}
		w := watcher(t, store, Options{})
		if _, err := w.Update(t.Context(), expiring("launch", time.Minute)); err != nil {
			t.Fatal(err)
		}
		store.set(func() { store.err, store.reads = errNothingExpired, 0 })
		pass(10 * time.Minute)
		if _, _, reads := store.state(); reads > 200 {
			t.Errorf("reads in ten minutes = %d, want at most 200", reads)
		}
		store.set(func() { store.err = nil })
		pass(time.Minute)
		wantLatest(t, w, 2)
	})
}

func TestSummary(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	later, over := now.Add(time.Hour), now.Add(-time.Second)
	for _, tc := range []struct {
		name     string
		from, to *Document
		want     string
	}{
		{"nothing", new(Document), new(Document), ""},
		{"limit", document("100/1m"), document("50/1m"), "zones.z.limit: 100/1m to 50/1m"},
		{"zone", new(Document), document("50/1m"), "zones.z added: limit 50/1m"},
		{"override", new(Document),
			&Document{Overrides: []*Override{{Entry: Entry{ID: "o", ExpiresAt: &later, Reason: "r"}, Key: Key{Zone: "z", Text: "k"}, Multiplier: 2}}},
			"overrides.o added: expires_at 2026-03-01T13:00:00Z, multiplier 2, zone z"},
		{"removed", &Document{Tiers: []*TierAssignment{{Entry: Entry{ID: "t"}, Key: Key{Zone: "z", Text: "k"}, Tier: "pro"}}},
			new(Document), "tiers.t removed: tier pro, zone z"},
		{"expired", &Document{Emergency: &Emergency{Limit: "1/1s", ExpiresAt: &over, StartedBy: "me"}},
			new(Document), "emergency expired: expires_at 2026-03-01T11:59:59Z, limit 1/1s"},
		{"many", new(Document), &Document{Access: []*AccessEntry{
			{Entry: Entry{ID: "a"}, Action: Deny, Address: "192.0.2.1"}, {Entry: Entry{ID: "b"}, Action: Deny, Address: "192.0.2.2"},
			{Entry: Entry{ID: "c"}, Action: Deny, Address: "192.0.2.3"}, {Entry: Entry{ID: "d"}, Action: Deny, Address: "192.0.2.4"},
			{Entry: Entry{ID: "e"}, Action: Deny, Address: strings.Repeat("5", 200)}, {Entry: Entry{ID: "f"}}, {Entry: Entry{ID: "g"}},
		}}, "access.a added: action deny, address 192.0.2.1; access.b added: action deny, address 192.0.2.2; " +
			"access.c added: action deny, address 192.0.2.3; access.d added: action deny, address 192.0.2.4; " +
			"access.e added: action deny, address " + strings.Repeat("5", 99) + "...; and 2 more"},
	} {
		if got := summarize(Diff(tc.from, tc.to), now); got != tc.want {
			t.Errorf("%s: summary = %q, want %q", tc.name, got, tc.want)
		}
	}
}
