//go:build !race

package rulestore_test

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/rules/rulestoretest"
	"github.com/fleetlimit/fleetlimit/test/pgtest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestLoadLargeDocument has documents of 25 MB.
func TestLoadLargeDocument(t *testing.T) {
	t.Run("storage", func(t *testing.T) {
		t.Parallel()
		rulestoretest.LargeDocument(t, onFiles(t.TempDir()))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.NewServer(t)
		rulestoretest.LargeDocument(t, onRedis(t, redisconn.Options{Addresses: []string{server.Addr}}))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		rulestoretest.LargeDocument(t, postgresFixture(t, pgtest.Shared(t)))
	})
}
