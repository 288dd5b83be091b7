package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/fleetlimit/fleetlimit/bench/report"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/limiter/redisstore"
	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// cost prints the processor time and the bytes on the network that a call costs Redis.
func cost(s *redistest.Server, o options) error {
	client := redisconn.New(redisconn.Options{Addresses: []string{s.Addr}, Timeout: 10 * time.Second})
	defer client.Close()
	store := redisstore.New(client, "rl")
	leases := lease.New(store, lease.Options{Nodes: func() int { return 4 }, Timeout: 10 * time.Second})
	defer leases.Close()

	fmt.Printf("### What a call costs Redis, %d callers, distinct keys\n\n", o.callers)
	report.Columns("call", "processor time", "bytes to Redis", "bytes from Redis")
	for _, v := range []*variant{
		{name: "a strict decision, one zone", take: takeStore(store, 1)},
		{name: "a strict decision, three zones of one key", take: takeStore(store, 3)},
		{name: "a lease request", take: takeLease(leases)},
	} {
		var before, after usage
		if err := before.read(s); err != nil {
			return err
		}
		for range o.rounds {
			if err := v.measure(s, o); err != nil {
				return err
			}
		}
		if err := after.read(s); err != nil {
			return err
		}
		calls := after.calls - before.calls
		report.Row(v.name, fmt.Sprintf("%.1f µs", (after.seconds-before.seconds)/float64(calls)*1e6),
			(after.in-before.in)/calls, (after.out-before.out)/calls)
	}
	fmt.Println()
	return nil
}

// usage is what a Redis has used since its start.
type usage struct {
	seconds        float64 // processor time
	calls, in, out int64   // number of scripts run, and bytes received and sent
}

func (u *usage) read(s *redistest.Server) (err error) {
	if u.calls, err = scriptCalls(s); err != nil {
		return err
	}
	info, err := s.Client().InfoMap(context.Background(), "cpu", "stats").Result()
	if err != nil {
		return err
	}
	u.seconds = 0
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(info["CPU"][name], 64)
		if err != nil {
			return err
		}
		u.seconds += seconds
	}
	if u.in, err = strconv.ParseInt(info["Stats"]["total_net_input_bytes"], 10, 64); err != nil {
		return err
	}
	u.out, err = strconv.ParseInt(info["Stats"]["total_net_output_bytes"], 10, 64)
	return err
}

// takeLease returns a function that takes one event by leases. Each key is new to the node, so each
// take is a lease request.
func takeLease(leases *lease.Store) func(context.Context, string) error {
	rule := rules(1)[0]
	rule.Zone = leases.Open("bench")
	return func(ctx context.Context, key string) error {
		return leases.Take(ctx, leases.Now(), []limiter.Take{{Rule: rule, Key: []byte(key), Cost: 1}})
	}
}
