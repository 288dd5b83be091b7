package lease_test

import (
	"context"
	"fmt"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/limiter/leasetest"
)

// The clock of the examples stands still. Others use lease.Store.Now.
var (
	now     = limiter.At(time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC))
	options = lease.Options{Timeout: time.Second, Clock: func() limiter.Instant { return now }}
)

// A ledgerLender grants leases on one key from a ledger in memory, where a fleet has a Redis.
type ledgerLender struct {
	limiter.Lender // is nil, because the examples need Lend and Refusal only
	ledger         *leasetest.Ledger
}

func (l ledgerLender) Refusal([]byte) error { return nil }

func (l ledgerLender) Lend(requests []limiter.LeaseRequest, _ func(), done func(error)) {
	leasetest.Lend(1, now, []*leasetest.Ledger{l.ledger}, requests)
	done(nil)
}

// takeOne takes one event of a key and prints the decision.
func takeOne(store *lease.Store, rule *limiter.Rule) {
	takes := []limiter.Take{{Rule: rule, Key: []byte("alice"), Cost: 1}}
	if err := store.Take(context.Background(), now, takes); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ok", takes[0].Decision.OK, "from", takes[0].Decision.Source)
}

// The first take waits for the lender. The second take shows that the key is in use, so its request
// also asks for a lease. The third take spends that lease.
func ExampleNew() {
	algorithm := limiter.Algorithm{Kind: limiter.FixedWindow}
	store := lease.New(ledgerLender{ledger: leasetest.NewLedger(algorithm)}, options)
	defer store.Close()
	rule, err := limiter.NewRule(limiter.Rule{
		Zone: store.Open("api"), Algorithm: algorithm, Limit: limiter.Limit{Events: 1000, Window: time.Hour},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		takeOne(store, rule)
	}
	// Output:
	// ok true from store
	// ok true from store
	// ok true from lease
}

// A denial is remembered until the lender's retry instant, so a flood on an exhausted key does not
// reach the lender.
func ExampleNew_rememberedDenial() {
	algorithm := limiter.Algorithm{Kind: limiter.SlidingWindowLog}
	store := lease.New(ledgerLender{ledger: leasetest.NewLedger(algorithm)}, options)
	defer store.Close()
	rule, err := limiter.NewRule(limiter.Rule{
		Zone: store.Open("api"), Algorithm: algorithm, Limit: limiter.Limit{Events: 1, Window: time.Hour},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		takeOne(store, rule)
	}
	// Output:
	// ok true from store
	// ok false from store
	// ok false from remembered_denial
}
