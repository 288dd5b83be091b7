package rulestore_test

import (
	"testing"

	"github.com/caddyserver/certmagic"

	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
	"github.com/fleetlimit/fleetlimit/rules/rulestoretest"
)

func TestStorage(t *testing.T) {
	t.Parallel()
	rulestoretest.Run(t, func(t *testing.T) rulestoretest.Fixture {
		dir := t.TempDir()
		return rulestoretest.Fixture{
			Open:          func() rules.Store { return rulestore.NewStorage(&certmagic.FileStorage{Path: dir}) },
			WatchesItself: true,
		}
	})
}
