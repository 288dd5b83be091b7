package fleetlimit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/certmagic"

	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
)

// The values of RuleStore.Name.
const (
	rulesInStorage  = "storage"
	rulesInRedis    = "redis"
	rulesInPostgres = "postgres"
)

// exampleDatabase is a URL of PostgreSQL for errors.
const exampleDatabase = "postgres://user:{env.PGPASSWORD}@db.example.com/rules"

// check refuses stores that do not exist, or that lack something. hasRedis says that counts are in
// Redis.
func (s *RuleStore) check(hasRedis bool) error {
	if s == nil {
		return nil
	}
	switch s.Name {
	case rulesInStorage, rulesInRedis:
		if s.URL != "" {
			return fmt.Errorf("%s has no URL: use `rules %s`", s.Name, s.Name)
		}
		if s.Name == rulesInRedis && !hasRedis {
			return errors.New("there is no redis: use `redis {` with its address in the global option rate_limit, or " +
				"`rules storage` or `rules postgres <url>`")
		}
		return nil
	case rulesInPostgres:
		if s.URL == "" {
			return fmt.Errorf("postgres has no URL: use `rules postgres %s`", exampleDatabase)
		}
		if !strings.HasPrefix(s.URL, "postgres://") && !strings.HasPrefix(s.URL, "postgresql://") &&
			!strings.HasPrefix(s.URL, "{") {
			return fmt.Errorf("postgres needs a URL: use one such as %s", exampleDatabase) // the text may have a password
		}
		return nil
	case "":
		return errors.New("there is no store: use storage, redis or postgres")
	}
	if strings.Contains(s.Name, "://") {
		return fmt.Errorf("a URL comes after the word: use `rules postgres <url>`")
	}
	return unknownWord("the store", s.Name, rulesInStorage, rulesInRedis, rulesInPostgres)
}

func (s *RuleStore) place() string {
	if s == nil {
		return ""
	}
	return s.Place
}

// A ruleStoreTarget is a store of rules that nothing has connected to yet.
type ruleStoreTarget struct {
	identity string // equal for equal stores; without secrets
	open     func(*ruleWatcher) (rules.Store, error)
	storage  certmagic.Storage // of this configuration
}

// resolve returns the store that s describes. redis has the counts, nil: they are in memory.
func (s *RuleStore) resolve(ctx caddy.Context, redis *redisTarget) (*ruleStoreTarget, error) {
	if err := s.check(redis != nil); err != nil {
		return nil, err
	}
	name := rulesInStorage
	switch {
	case s != nil:
		name = s.Name
	case redis != nil:
		name = rulesInRedis
	}
	switch name {
	case rulesInRedis:
		return &ruleStoreTarget{
			identity: name + " " + redis.identity + " " + redis.prefix,
			open: func(w *ruleWatcher) (rules.Store, error) {
				client, release := acquireClient(redis)
				w.release = release
				return rulestore.NewRedis(client.Client, redis.prefix), nil
			},
		}, nil
	case rulesInPostgres:
		url, err := replaceGlobal(s.URL, true)
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
	config, err := json.Marshal(storage) // modules have their configuration in exported fields
	if err != nil {
		config = nil
	}
	return &ruleStoreTarget{
		identity: fmt.Sprintf("%s %T %s", name, storage, digest(string(config))), storage: storage,
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
