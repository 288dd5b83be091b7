package rulestore_test

import (
	"fmt"
	"testing"

	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestoretest"
	"github.com/fleetlimit/fleetlimit/test/pgtest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// BenchmarkChange changes one of 100,000 overrides, and waits until another node has that in force.
func BenchmarkChange(b *testing.B) {
	for _, store := range []struct {
		name string
		open func(b *testing.B) func() rules.VersionStore
	}{
		{"storage", func(b *testing.B) func() rules.VersionStore {
			one := newStorage(b.TempDir()) // which announces to itself alone
			return func() rules.VersionStore { return one }
		}},
		{"redis", func(b *testing.B) func() rules.VersionStore {
			server := redistest.NewServer(b)
			return func() rules.VersionStore {
				return newRedis(b, redisconn.Options{Addresses: []string{server.Addr}}, "rl")
			}
		}},
		{"postgres", func(b *testing.B) func() rules.VersionStore { return postgresFixture(b, pgtest.Shared(b)).Open }},
	} {
		b.Run("store="+store.name, func(b *testing.B) { benchmarkChange(b, store.open(b)) })
	}
}

func benchmarkChange(b *testing.B, open func() rules.VersionStore) {
	var nodes [2]*rules.Watcher
	arrived := make(chan int64, 1000)
	for i := range nodes {
		nodes[i] = rules.NewWatcher(open(), rules.Options{})
		defer nodes[i].Close()
		<-nodes[i].Loaded()
	}
	nodes[1].Subscribe(func(t rules.Transition) { arrived <- t.To.Number })
	change := func(apply func(*rules.Document)) {
		v, err := nodes[0].Update(b.Context(), rules.Change{Author: "me", Apply: func(d *rules.Document) error {
			apply(d)
			return nil
		}})
		if err != nil {
			b.Fatal(err)
		}
		for <-arrived != v.Number {
		}
	}
	change(func(d *rules.Document) {
		*d = *rulestoretest.Version(1).Document
		for i := range 100_000 {
			o := *d.Overrides[0]
			o.ID, o.Text = fmt.Sprint(i), fmt.Sprintf("sk_live_%016x", i*7919)
			d.Overrides = append(d.Overrides, &o)
		}
	})
	n := 0
	for b.Loop() {
		n++
		change(func(d *rules.Document) {
			place := 2 + n*7919%100_000
			o := *d.Overrides[place]
			o.Reason = fmt.Sprint("change ", n)
			d.Overrides[place] = &o
		})
	}
}
