package redisconn_test

import (
	"context"
	"fmt"

	"github.com/fleetlimit/fleetlimit/redisconn"
)

var increment = redisconn.NewScript(`return redis.call('INCRBY', KEYS[1], ARGV[1])`)

// A script runs on the primary of a key. Do waits for the answer, for 50 ms by default.
func ExampleNew() {
	client := redisconn.New(redisconn.Options{Addresses: []string{"localhost:6379"}})
	defer client.Close()
	call := redisconn.Call{Script: increment, Keys: []string{"visits"}, Args: []any{1}}
	client.Do(context.Background(), &call)
	fmt.Println(call.Reply, call.Err)
}

// Start does not wait: it calls a function with the answer.
func ExampleClient_Start() {
	client := redisconn.New(redisconn.Options{
		Mode: redisconn.Cluster, Addresses: []string{"node1:6379", "node2:6379"},
	})
	defer client.Close()
	call := &redisconn.Call{Script: increment, Keys: []string{"visits"}, Args: []any{1}}
	done := make(chan struct{})
	client.Start(call, func() { close(done) })
	<-done
	fmt.Println(call.Reply, call.Err)
}
