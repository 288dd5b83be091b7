package redisstore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/redisstore"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// A fleet enforces 100 requests per minute and user, with bursts of 20.
func ExampleNew() {
	client := redisconn.New(redisconn.Options{Addresses: []string{"localhost:6379"}})
	defer client.Close()
	store := redisstore.New(client, "rl")
	rule, err := limiter.NewRule(limiter.Rule{
		ID: 1, Limit: limiter.Limit{Events: 100, Window: time.Minute, Burst: 20},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	takes := []limiter.Take{{Rule: rule, Key: []byte("alice"), Cost: 1}}
	if err := store.Take(context.Background(), limiter.At(time.Now()), takes); err != nil {
		fmt.Println("Redis cannot be reached:", err)
		return
	}
	fmt.Println(takes[0].Decision.OK, takes[0].Decision.Remaining)
}

// A rule that Redis cannot count exactly is refused before it is used.
func ExampleCheck() {
	rule, err := limiter.NewRule(limiter.Rule{
		ID: 1, Limit: limiter.Limit{Events: 7, Window: limiter.MaxWindow},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(redisstore.Check(rule) != nil)
	// Output: true
}
