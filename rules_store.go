package fleetlimit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/pool"
	"github.com/fleetlimit/fleetlimit/internal/stores"
	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
)

// rulePool has the watchers of the rules, which outlive configurations: ruleStoreTarget.identity ->
// *ruleWatcher.
var rulePool = pool.New[string, *ruleWatcher]()

// A ruleWatcher is the watcher of a store of rules.
type ruleWatcher struct {
	*rules.Watcher
	identity string
	storage  *rulestore.Storage // the store, or the copy of a Redis; nil: neither is in Caddy's storage
	release  func()             // of what the store uses; nil: nothing
	endCheck func()             // of the settings of Redis; nil: there is none
}

// Close closes the watcher when the last app that uses the store has stopped.
func (w *ruleWatcher) Close() {
	if w.endCheck != nil {
		w.endCheck()
	}
	_ = w.Watcher.Close() // a store that does not close well is left
	if w.release != nil {
		w.release()
	}
}

// newRuleWatcher returns a watcher of the store of t. logger returns that of the newest
// configuration. The admin API validates changes: a rollback restores what was valid once.
func newRuleWatcher(t *ruleStoreTarget, logger func() *zap.Logger) *ruleWatcher {
	w := &ruleWatcher{identity: t.identity}
	store := t.open(w)
	about := zap.String("store", store.Name())
	options := rules.Options{
		OnFailure: func(err error) {
			logger().Warn("the rules cannot be read, so the last known ones stay in force", about, zap.Error(err))
		},
		OnRecovery: func() { logger().Info("the rules can be read again", about) },
		OnRepair: func(restored *rules.Version, newest int64) {
			logger().Warn("the store had lost the newest version of the rules, which was written back", about,
				zap.Int64("version", restored.Number), zap.Int64("newest", newest))
		},
		OnNewLineage: func(known, made *rules.Version) {
			logger().Warn("the store has rules that were made anew, in place of those that were in force here", about,
				zap.Int64("version", made.Number), zap.String("author", made.Author), zap.Int64("known", known.Number))
		},
	}
	redis, inRedis := store.(*rulestore.Redis)
	if inRedis {
		w.storage = rulestore.NewCopy(t.storage, t.copyName)
		options.Copy = w.storage
		options.OnCopyInForce = func(v *rules.Version) {
			logger().Warn("the store has no rules or does not answer, so those of the copy in Caddy's storage are in force", about,
				zap.Int64("version", v.Number), zap.Time("time", v.Time))
		}
		options.OnRefill = func(versions int) {
			logger().Info("the history of the rules was written back from the copy in Caddy's storage", about,
				zap.Int("versions", versions))
		}
		options.OnCopyFailure = func(err error) {
			logger().Warn("the copy of the rules in Caddy's storage cannot be kept: use a storage that can be written", about,
				zap.Error(err))
		}
	}
	w.Watcher = rules.NewWatcher(store, options)
	if inRedis {
		w.endCheck = w.checkSettings(redis, func() *zap.Logger { return logger().With(about) })
	}
	return w
}

// checkSettings warns once about settings by which Redis loses rules. It waits for the first answer
// of Redis, until end is called. A Redis whose user may not read them is not checked.
func (w *ruleWatcher) checkSettings(redis *rulestore.Redis, logger func() *zap.Logger) (end func()) {
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
			logger().Debug("the settings of Redis cannot be read", zap.Error(err))
			return
		}
		for _, warning := range settingsWarnings(settings) {
			logger().Warn(warning, zap.String("maxmemory_policy", settings.Eviction))
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// settingsWarnings returns what is wrong with the settings of a Redis that keeps rules and counts.
func settingsWarnings(s redisconn.Settings) (warnings []string) {
	if !s.AppendOnly {
		warnings = append(warnings, "Redis may lose the newest rules when it stops: use appendonly yes in its configuration")
	}
	switch kept, _, _ := strings.Cut(s.Eviction, "-"); {
	case kept == "allkeys":
		warnings = append(warnings, "Redis may evict the rules, and counts of keys at their limit: use maxmemory-policy volatile-ttl")
	case kept == "volatile" && s.Eviction != "volatile-ttl":
		warnings = append(warnings, "Redis may evict counts of keys at their limit: use maxmemory-policy volatile-ttl")
	}
	return warnings
}

// A ruleStoreTarget is a store of rules that nothing has connected to yet.
type ruleStoreTarget struct {
	identity string // equal for equal stores; without secrets
	open     func(*ruleWatcher) rules.Store
	storage  certmagic.Storage // of this configuration
	copyName string            // of the copy of a Redis in storage. It stays when a password changes
}

// resolveRuleStore returns the store that s describes; nil: the default. redis has the counts, nil:
// they are in memory.
func resolveRuleStore(s *config.RuleStore, ctx caddy.Context, redis *stores.Target) (*ruleStoreTarget, error) {
	if err := s.Check(redis != nil); err != nil {
		return nil, err
	}
	name := config.RulesInStorage
	switch {
	case s != nil:
		name = s.Name
	case redis != nil:
		name = config.RulesInRedis
	}
	switch name {
	case config.RulesInRedis:
		return &ruleStoreTarget{
			identity: name + " " + redis.ID(), storage: ctx.Storage(),
			copyName: digest(redis.Place())[:16],
			open: func(w *ruleWatcher) rules.Store {
				client, release := redis.Connect(reports)
				w.release = release
				return rulestore.NewRedis(client, redis.Prefix())
			},
		}, nil
	case config.RulesInPostgres:
		url, err := s.ResolveURL()
		if err != nil {
			return nil, err
		}
		checked, err := rulestore.OpenPostgres(url) // it does not connect
		if err != nil {
			return nil, err
		}
		_ = checked.Close() // it has nothing that could fail
		return &ruleStoreTarget{identity: name + " " + digest(url), open: func(*ruleWatcher) rules.Store {
			store, _ := rulestore.OpenPostgres(url) // it was checked
			return store
		}}, nil
	}
	storage := ctx.Storage()
	text, err := json.Marshal(storage) // modules have their configuration in exported fields
	if err != nil {
		text = nil
	}
	return &ruleStoreTarget{
		identity: fmt.Sprintf("%s %T %s", name, storage, digest(string(text))), storage: storage,
		open: func(w *ruleWatcher) rules.Store {
			w.storage = rulestore.NewStorage(storage)
			return w.storage
		},
	}, nil
}

// digest returns a text that is equal for equal texts and shows nothing of them.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
