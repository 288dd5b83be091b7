package rulestore_test

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
	"github.com/fleetlimit/fleetlimit/rules/rulestoretest"
	"github.com/fleetlimit/fleetlimit/test/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// openPostgres returns a store that is closed after the test.
func openPostgres(t *testing.T, url string) *rulestore.Postgres {
	t.Helper()
	store, err := rulestore.OpenPostgres(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	rulestoretest.Run(t, func(t *testing.T) rulestoretest.Fixture {
		url := server.URL(server.Database(t))
		return rulestoretest.Fixture{Open: func() rules.Store { return openPostgres(t, url) }}
	})
}
