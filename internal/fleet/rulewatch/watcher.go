// Package rulewatch finds the store in which the rules of a configuration are, and watches it. A
// watcher outlives the configuration.
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

// An Observer is told what happens to stores of rules, and to the Redis servers that hold them. Its
// methods return at once.
type Observer interface {
	stores.Observer

	// RulesOptions returns options that say what to call when something happens to a store.
	RulesOptions(store string) rules.Options

	// RulesAtRisk says why a store may lose rules. eviction is the policy by which its Redis evicts
	// keys.
	RulesAtRisk(store, why, eviction string)
}

// watchers are the watchers in use, by Target.id.
var watchers = pool.New[string, *Watcher]()

// A Watcher watches one store of rules.
type Watcher struct {
	*rules.Watcher
	storage  *rulestore.Storage // the store, or the copy of it
	release  func()             // releases what the store uses
	endCheck func()             // ends checkSettings
}

// All returns all watchers.
func All() []*Watcher { return watchers.All() }

// Acquire returns the watcher of the store of t, and a function that releases it. If nobody has
// acquired that watcher before, observer is told what happens to the store.
func (t *Target) Acquire(observer Observer) (w *Watcher, release func()) {
	w, release = watchers.Acquire(t.id, func() *Watcher { return newWatcher(t, observer) })
	w.storage.Use(t.storage)
	return w, release
}

// Acquired returns the watcher of the store of t. It returns nil if nobody has acquired one.
func (t *Target) Acquired() *Watcher { return watchers.Get(t.id) }

// newWatcher returns a watcher of the store of t. The watcher does not validate changes. The admin API
// does so, because a rollback may restore rules that were valid once and are not now.
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

// Close closes the watcher. The pool calls it when the last app that uses the store has stopped.
func (w *Watcher) Close() {
	w.endCheck()
	_ = w.Watcher.Close() // an error while closing changes nothing
	w.release()
}

// checkSettings tells once by which settings Redis may lose rules. It waits until the store has
// answered for the first time. The returned function ends the check. If the user of Redis may not read
// the settings, there is no check.
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

// risks returns what is wrong with the settings s of a Redis that has rules and counts.
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
