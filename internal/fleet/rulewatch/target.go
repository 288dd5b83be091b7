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

// A Target is a store of rules that nothing has connected to yet.
type Target struct {
	id       string         // equal for equal stores; without secrets
	name     string         // of the kind of store
	redis    *stores.Target // nil: the rules are not in Redis
	open     func(*Watcher, Observer) rules.Store
	storage  certmagic.Storage // of this configuration
	copyName string            // of the copy in storage. It stays when a password changes; "": the rules are there
	durable  bool              // the store loses nothing by itself
}

// Resolve returns the store that s describes; nil: the default. redis has the counts, nil: they are
// in memory. storage is that of the configuration.
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
			open: func(w *Watcher, observer Observer) rules.Store {
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
		checked, err := rulestore.OpenPostgres(url) // it does not connect
		if err != nil {
			return nil, err
		}
		defer checked.Close() // it has nothing that could fail
		return &Target{
			id: name + " " + digest(url), name: name, storage: storage,
			copyName: digest(checked.Place())[:16], durable: true,
			open: func(*Watcher, Observer) rules.Store {
				store, _ := rulestore.OpenPostgres(url) // it was checked
				return store
			},
		}, nil
	}
	text, err := json.Marshal(storage) // modules have their configuration in exported fields
	if err != nil {
		text = nil
	}
	return &Target{
		id: fmt.Sprintf("%s %T %s", name, storage, digest(string(text))), name: name, storage: storage,
		open: func(w *Watcher, _ Observer) rules.Store {
			w.storage = rulestore.NewStorage(storage)
			return w.storage
		},
	}, nil
}

// String describes where the rules are, without secrets.
func (t *Target) String() string {
	if t.redis != nil {
		return t.redis.String()
	}
	return t.name
}

// sameRules reports whether the same rules are at both targets. The same Redis may be connected to
// in another way.
func (t *Target) sameRules(other *Target) bool {
	if t.redis != nil && other.redis != nil {
		return t.redis.SameCounts(other.redis)
	}
	return t.id == other.id
}

// LeftBehind says which rules of a version of old are not at t; "": none.
func (t *Target) LeftBehind(old *Target, v *rules.Version) string {
	if v.Document.Empty() || old.sameRules(t) {
		return ""
	}
	return fmt.Sprintf("version %d of the rules in %v, unless they are in %v too: use `caddy rate-limit rules get` before the "+
		"reload and `caddy rate-limit rules put` after it", v.Number, old, t)
}

// digest returns a text that is equal for equal texts and shows nothing of them.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
