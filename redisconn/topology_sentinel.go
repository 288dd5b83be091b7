package redisconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	redis "github.com/redis/go-redis/v9"
)

// sentinelEvery is the time between two questions to the Sentinels while all is well. Only they
// tell of a failover: an old primary that just the Sentinels cannot reach still answers.
const sentinelEvery = 500 * time.Millisecond

// askSentinel returns a function that asks a Sentinel for the primary called name.
func askSentinel(name string) func(l *link, addr string) (view, error) {
	return func(l *link, addr string) (view, error) {
		ctx := context.Background()
		master := redis.NewStringSliceCmd(ctx, "sentinel", "get-master-addr-by-name", name)
		state := redis.NewMapStringStringCmd(ctx, "sentinel", "master", name)
		if err := l.run([]redis.Cmder{master, state}); err != nil {
			return view{}, err
		}
		if errors.Is(master.Err(), redis.Nil) {
			return view{}, fmt.Errorf("the Sentinel watches no master called %q: use its name in SENTINEL MASTERS", name)
		}
		if err := errors.Join(master.Err(), state.Err()); err != nil {
			return view{}, err
		}
		return sentinelView(master.Val(), state.Val(), addr)
	}
}

// sentinelView returns the view in the replies of the Sentinel at addr.
func sentinelView(master []string, state map[string]string, addr string) (view, error) {
	if len(master) != 2 {
		return view{}, fmt.Errorf("the Sentinel names the master by %d words, not by a host and a port", len(master))
	}
	epoch, err := strconv.ParseInt(state["config-epoch"], 10, 64)
	if err != nil {
		return view{}, errors.New("SENTINEL MASTER has no config-epoch")
	}
	at := addressFrom(net.JoinHostPort(master[0], master[1]), addr)
	return view{epoch: [2]int64{epoch}, primaries: []slots{{0, slotCount - 1, at}}}, nil
}
