// Package rulewatch knows where the rules of a configuration are kept, and watches them. Watchers
// outlive configurations.
package rulewatch

import (
	"context"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/fleet/pool"
	"github.com/fleetlimit/fleetlimit/internal/fleet/stores"
	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
)

// An Observer is told what happens to the stores of rules, and to the Redis servers that they are
// in. Its methods return at once.
type Observer interface {
	stores.Observer

	// RulesOptions returns options that say what to call when something happens to a store.
	RulesOptions(store string) rules.Options

	// RulesAtRisk says why a store may lose rules, by the way in which its Redis evicts keys.
	RulesAtRisk(store, why, eviction string)
}

// watchers are by Target.id.
var watchers = pool.New[string, *Watcher]()

// A Watcher is the watcher of a store of rules.
type Watcher struct {
	*rules.Watcher
	storage  *rulestore.Storage // the store, or the copy of it
	release  func()             // of what the store uses
	endCheck func()             // of the settings of Redis
}

// All returns all watchers.
func All() []*Watcher { return watchers.All() }

// Acquire returns the watcher of the store, and a function that releases it. The observer is told
// what happens if nobody has acquired it before.
func (t *Target) Acquire(observer Observer) (w *Watcher, release func()) {
	w, release = watchers.Acquire(t.id, func() *Watcher { return newWatcher(t, observer) })
	w.storage.Use(t.storage)
	return w, release
}

// Acquired returns the watcher of the store, nil if nobody has acquired it.
func (t *Target) Acquired() *Watcher { return watchers.Get(t.id) }

// newWatcher returns a watcher of the store of t. The admin API validates changes: a rollback
// restores what was valid once.
func newWatcher(t *Target, observer Observer) *Watcher {
	w := &Watcher{release: func() {}, endCheck: func() {}}
	store := t.open(w, observer)
	options := observer.RulesOptions(store.Name())
	if t.copyName != "" {
		w.storage = rulestore.NewCopy(t.storage, t.copyName)
		options.Copy, options.Durable = w.storage, t.durable
	}
	w.Watcher = rules.NewWatcher(store, options)
	if redis, inRedis := store.(*rulestore.Redis); inRedis {
		w.endCheck = w.checkSettings(redis, func(why, eviction string) { observer.RulesAtRisk(store.Name(), why, eviction) })
	}
	return w
}

// Close closes the watcher when the last app that uses the store has stopped.
func (w *Watcher) Close() {
	w.endCheck()
	_ = w.Watcher.Close() // a store that does not close well is left
	w.release()
}

// checkSettings tells once about settings by which Redis loses rules. It waits for the first answer
// of Redis, until end is called. A Redis whose user may not read them is not checked.
func (w *Watcher) checkSettings(redis *rulestore.Redis, atRisk func(why, eviction string)) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-w.Loaded():
		case <-ctx.Done():
			return
		}
		settings, err := redis.Settings(ctx)
		if err != nil {
			return
		}
		for _, why := range risks(settings) {
			atRisk(why, settings.Eviction)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// risks returns what is wrong with the settings of a Redis that keeps rules and counts.
func risks(s redisconn.Settings) (all []string) {
	if !s.AppendOnly {
		all = append(all, "Redis may lose the newest rules when it stops: use appendonly yes in its configuration")
	}
	switch kept, _, _ := strings.Cut(s.Eviction, "-"); kept {
	case "allkeys":
		all = append(all, "Redis may evict the rules, and counts, so that who makes up keys resets limits: use maxmemory-policy noeviction")
	case "volatile":
		all = append(all, "Redis may evict counts, so that who makes up keys resets limits: use maxmemory-policy noeviction")
	}
	return all
}
