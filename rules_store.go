package fleetlimit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/certmagic"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
)

// A ruleStoreTarget is a store of rules that nothing has connected to yet.
type ruleStoreTarget struct {
	identity string // equal for equal stores; without secrets
	open     func(*ruleWatcher) (rules.Store, error)
	storage  certmagic.Storage // of this configuration
}

// resolveRuleStore returns the store that s describes; nil: the default. redis has the counts, nil: they
// are in memory.
func resolveRuleStore(s *config.RuleStore, ctx caddy.Context, redis *redisTarget) (*ruleStoreTarget, error) {
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
			identity: name + " " + redis.identity + " " + redis.prefix,
			open: func(w *ruleWatcher) (rules.Store, error) {
				client, release := acquireClient(redis)
				w.release = release
				return rulestore.NewRedis(client.Client, redis.prefix), nil
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
		return &ruleStoreTarget{identity: name + " " + digest(url), open: func(*ruleWatcher) (rules.Store, error) {
			return rulestore.OpenPostgres(url)
		}}, nil
	}
	storage := ctx.Storage()
	text, err := json.Marshal(storage) // modules have their configuration in exported fields
	if err != nil {
		text = nil
	}
	return &ruleStoreTarget{
		identity: fmt.Sprintf("%s %T %s", name, storage, digest(string(text))), storage: storage,
		open: func(w *ruleWatcher) (rules.Store, error) {
			w.storage = rulestore.NewStorage(storage)
			return w.storage, nil
		},
	}, nil
}

// digest returns a text that is equal for equal texts and shows nothing of them.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
