package lease_test

import (
	"context"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/limiter/leasetest"
)

// TestAttended checks that nothing happens in an attended store by itself. Unused leases are
// returned when Attend is called. The only clock of the store is Options.Clock.
func TestAttended(t *testing.T) {
	at := now
	algorithm := limiter.Algorithm{Kind: limiter.FixedWindow}
	store := lease.New(ledgerLender{ledger: leasetest.NewLedger(algorithm)}, lease.Options{
		Clock: func() limiter.Instant { return at }, Attended: true,
	})
	defer store.Close()
	rule, err := limiter.NewRule(limiter.Rule{
		Zone: store.Open("api"), Algorithm: algorithm, Limit: limiter.Limit{Events: 1000, Window: time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		takes := []limiter.Take{{Rule: rule, Key: []byte("alice"), Cost: 1}}
		if err := store.Take(context.Background(), at, takes); err != nil {
			t.Fatal(err)
		}
		at += 1000
	}
	if stats := store.Stats(); stats.Granted == 0 || stats.Returned != 0 {
		t.Fatalf("granted, returned = %d, %d, want a lease that is out", stats.Granted, stats.Returned)
	}
	at += 60_000_000
	if stats := store.Stats(); stats.Returned != 0 {
		t.Errorf("returned = %d before Attend, want 0", stats.Returned)
	}
	store.Attend()
	if stats := store.Stats(); stats.Returned == 0 {
		t.Error("returned = 0 after Attend, want what was not spent")
	}
}
