package rulewatch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/caddyserver/certmagic"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/fleet/stores"
	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
)

// A Target says in which store the rules of a configuration are. It has not connected to the store.
type Target struct {
	id       string         // equal for equal stores; has no secrets
	name     string         // name of the kind of the store
	redis    *stores.Target // nil if the rules are not in Redis
	open     func(*Watcher, Observer) rules.VersionStore
	storage  certmagic.Storage // the storage of this configuration
	copyName string            // name of the copy of the rules in storage; "" if the store itself is storage
	durable  bool              // the store does not lose data by itself
}

// Resolve returns the store that s describes, or the default store if s is nil. redis is the target of
// the counts, or nil if they are in memory. storage is the storage of the configuration.
func Resolve(s *config.RuleStore, storage certmagic.Storage, redis *stores.Target) (*Target, error) {
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
		return &Target{
			id: name + " " + redis.ID(), name: name, redis: redis, storage: storage,
			copyName: digest(redis.Place())[:16],
			open: func(w *Watcher, observer Observer) rules.VersionStore {
				client, release := redis.Connect(observer)
				w.release = release
				return rulestore.NewRedis(client, redis.Prefix())
			},
		}, nil
	case config.RulesInPostgres:
		url, err := s.ResolveURL()
		if err != nil {
			return nil, err
		}
		checked, err := rulestore.OpenPostgres(url) // OpenPostgres does not connect
		if err != nil {
			return nil, err
		}
		defer checked.Close() // it has no connection that could fail to close
		return &Target{
			id: name + " " + digest(url), name: name, storage: storage,
			copyName: digest(checked.Place())[:16], durable: true,
			open: func(*Watcher, Observer) rules.VersionStore {
				store, _ := rulestore.OpenPostgres(url) // Resolve has checked the URL
				return store
			},
		}, nil
	}
	text, err := json.Marshal(storage) // modules of storage have their configuration in exported fields
	if err != nil {
		text = nil
	}
	return &Target{
		id: fmt.Sprintf("%s %T %s", name, storage, digest(string(text))), name: name, storage: storage,
		open: func(w *Watcher, _ Observer) rules.VersionStore {
			w.storage = rulestore.NewStorage(storage)
			return w.storage
		},
	}, nil
}

// String describes the store, without secrets.
func (t *Target) String() string {
	if t.redis != nil {
		return t.redis.String()
	}
	return t.name
}

// sameRules reports whether both targets have one store. Their ways to connect to a Redis may differ.
func (t *Target) sameRules(other *Target) bool {
	if t.redis != nil && other.redis != nil {
		return t.redis.SameCounts(other.redis)
	}
	return t.id == other.id
}

// LeftBehind returns a text that says which rules of version v of old are not at t. It returns "" if t
// has them all.
func (t *Target) LeftBehind(old *Target, v *rules.Version) string {
	if v.Document.Empty() || old.sameRules(t) {
		return ""
	}
	return fmt.Sprintf("version %d of the rules in %v, unless they are in %v too: use `caddy rate-limit rules get` before the "+
		"reload and `caddy rate-limit rules put` after it", v.Number, old, t)
}

// digest returns a text that is equal for equal texts, and does not reveal them.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
