package rulewatch

import (
	"path/filepath"
	"testing"

	"github.com/caddyserver/certmagic"

	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/rules"
)

// A silentObserver ignores what it is told. It has no methods for stores in Redis.
type silentObserver struct{ Observer }

func (silentObserver) RulesOptions(string) rules.Options { return rules.Options{} }

// A reload gives a watcher the storage of the new configuration.
func TestAcquireUsesNewestStorage(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	var acquired []*Watcher
	for _, dir := range dirs {
		target, err := Resolve(nil, &certmagic.FileStorage{Path: "configured"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		target.storage = &certmagic.FileStorage{Path: dir} // unlike the configured one, it shows which storage is used
		w, release := target.Acquire(silentObserver{})
		defer release()
		if target.Acquired() != w {
			t.Error("another watcher is acquired")
		}
		acquired = append(acquired, w)
	}
	if acquired[0] != acquired[1] || len(All()) != 1 {
		t.Errorf("watchers = %p and %p, want one", acquired[0], acquired[1])
	}
	change := rules.Change{Apply: func(*rules.Document) error { return nil }}
	if _, err := acquired[1].Update(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	for i, dir := range dirs {
		if files, _ := filepath.Glob(dir + "/rate_limit/rules/*"); (len(files) > 0) != (i == 1) {
			t.Errorf("the storage of configuration %d has the files %v", i+1, files)
		}
	}
}

// TestRisks has settings of Redis by which it may lose rules or counts.
func TestRisks(t *testing.T) {
	for _, tc := range []struct {
		appendOnly bool
		eviction   string
		risks      int
	}{
		{true, "noeviction", 0}, {true, "", 0}, {true, "volatile-ttl", 1}, {true, "volatile-lru", 1}, {true, "allkeys-lru", 1},
		{false, "noeviction", 1}, {false, "allkeys-random", 2},
	} {
		if got := risks(redisconn.Settings{AppendOnly: tc.appendOnly, Eviction: tc.eviction}); len(got) != tc.risks {
			t.Errorf("risks with %+v = %q, want %d", tc, got, tc.risks)
		}
	}
}
