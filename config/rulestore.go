package config

import (
	"errors"
	"fmt"
	"strings"
)

// RuleStore is where the rules are, which operators change while traffic runs: a text, such as
// `storage` or `postgres postgres://db.example.com/rules`, or an object. All nodes with the same
// store have the same rules.
type RuleStore struct {
	// The kind of store: `storage` is Caddy's storage, `redis` the Redis that has the counts, and
	// `postgres` a PostgreSQL. Required.
	Name string `json:"store,omitempty"`

	// The URL of the PostgreSQL. It may contain global placeholders, such as `{env.PGPASSWORD}`.
	URL string `json:"url,omitempty"`

	// The file and line of the setting in the Caddyfile, for errors. The Caddyfile adapter sets it.
	Place string `json:"place,omitempty"`
}

// The values of RuleStore.Name.
const (
	RulesInStorage  = "storage"
	RulesInRedis    = "redis"
	RulesInPostgres = "postgres"
)

// exampleDatabase is a URL of PostgreSQL for errors.
const exampleDatabase = "postgres://user:{env.PGPASSWORD}@db.example.com/rules"

// Check refuses an unknown store, and one that lacks its URL or its Redis. hasRedis reports whether
// counts are in Redis.
func (s *RuleStore) Check(hasRedis bool) error {
	if s == nil {
		return nil
	}
	switch s.Name {
	case RulesInStorage, RulesInRedis:
		if s.URL != "" {
			return fmt.Errorf("%s has no URL: use `rules %s`", s.Name, s.Name)
		}
		if s.Name == RulesInRedis && !hasRedis {
			return errors.New("there is no redis: use `redis {` with its address in the global option rate_limit, or " +
				"`rules storage` or `rules postgres <url>`")
		}
		return nil
	case RulesInPostgres:
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
	return unknownWord("the store", s.Name)
}

// ResolveURL returns the URL with placeholders replaced.
func (s *RuleStore) ResolveURL() (string, error) { return replaceGlobal(s.URL, true) }
