package redisstore

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

const (
	// recallPause is the mean pause before Recalls subscribes again. It doubles with each failure, up
	// to recallLongest. A subscription that has lasted for recallLongest sets it back.
	recallPause   = 100 * time.Millisecond
	recallLongest = 5 * time.Second
)

// Recalls calls recalled for each recall until ctx ends. By a recall, the script that lends tells
// all nodes to return what they hold of the bucket of a key and a rule. recalled must return soon:
// the calls are not concurrent.
//
// A lost recall is not repeated. When the connection has ended, or when Redis does not let its user
// subscribe, Recalls tries again after a pause.
func (s *Store) Recalls(ctx context.Context, recalled func(limiter.Recall)) {
	pause := recallPause
	for ctx.Err() == nil {
		began := time.Now()
		s.subscribe(ctx, recalled)
		if time.Since(began) > recallLongest {
			pause = recallPause
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)): // at random, or all nodes would come at once
		case <-ctx.Done():
		}
		pause = min(2*pause, recallLongest)
	}
}

// subscribe calls recalled for each recall until the connection fails or ctx ends. Each primary of
// a cluster forwards messages to all others, so any of them will do. subscribe picks one at random,
// to spread the nodes of a fleet over all primaries.
func (s *Store) subscribe(ctx context.Context, recalled func(limiter.Recall)) {
	conn := s.client.NewConn(strconv.FormatUint(rand.Uint64(), 36))
	defer conn.Close()
	_ = conn.Subscribe(ctx, s.prefix+":recall", func(message string) {
		if r, ok := parseRecall(s.prefix, message); ok {
			recalled(r)
		}
	})
}

// parseRecall returns the recall of a message: the field of the rule in 4 bytes, the instant in 7, and
// the name of the hash. parseRecall reports false if the message is no recall.
func parseRecall(prefix, message string) (r limiter.Recall, ok bool) {
	if len(message) < 11 {
		return r, false
	}
	r.Rule, r.At = uint32(number(message[:4])), limiter.Instant(number(message[4:11]))
	r.Key, ok = keyOf(prefix, message[11:])
	return r, ok
}
