package memstore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/memstore"
)

func ExampleNew() {
	store := memstore.New(memstore.Options{})
	defer store.Close()
	rule, err := limiter.NewRule(limiter.Rule{
		Zone:  store.Open("api"),
		Limit: limiter.Limit{Events: 2, Window: time.Minute},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	now := limiter.At(time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC))
	takes := []limiter.Take{{Rule: rule, Key: []byte("alice"), Cost: 1}}
	for range 3 {
		if err := store.Take(context.Background(), now, takes); err != nil {
			fmt.Println(err)
			return
		}
		d := takes[0].Decision
		fmt.Printf("ok %t, %d left, retry in %d s\n", d.OK, d.Remaining, d.RetryAt.SecondsUntil(now))
	}
	// Output:
	// ok true, 1 left, retry in 0 s
	// ok true, 0 left, retry in 0 s
	// ok false, 0 left, retry in 30 s
}

// A take of several rules is all or nothing: bob's key is exhausted, so the tenant's is not
// charged.
func ExampleNew_severalRules() {
	store := memstore.New(memstore.Options{})
	defer store.Close()
	newRule := func(zone string, events int64) *limiter.Rule {
		rule, err := limiter.NewRule(limiter.Rule{
			Zone:  store.Open(zone),
			Limit: limiter.Limit{Events: events, Window: time.Hour},
		})
		if err != nil {
			panic(err)
		}
		return rule
	}
	takes := []limiter.Take{
		{Rule: newRule("users", 1), Key: []byte("bob"), Cost: 1},
		{Rule: newRule("tenants", 100), Key: []byte("acme"), Cost: 1},
	}
	now := limiter.At(time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC))
	for range 2 {
		if err := store.Take(context.Background(), now, takes); err != nil {
			fmt.Println(err)
			return
		}
		for _, k := range takes {
			fmt.Printf("%s: ok %t, %d left\n", k.Rule.Zone.Name(), k.Decision.OK, k.Decision.Remaining)
		}
	}
	// Output:
	// users: ok true, 0 left
	// tenants: ok true, 99 left
	// users: ok false, 0 left
	// tenants: ok true, 99 left
}
