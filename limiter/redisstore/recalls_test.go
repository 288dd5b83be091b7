package redisstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// recallScript publishes as a script that lends does: in the slot of a key.
var recallScript = redisconn.NewScript(`return redis.pcall('PUBLISH', ARGV[1] .. ':recall', ARGV[2])`)

// publish publishes a message from the slot of key.
func publish(t *testing.T, s *Store, key, message string) {
	t.Helper()
	c := &redisconn.Call{Script: recallScript, Keys: []string{hashName(s.prefix, []byte(key))}, Args: []any{s.prefix, message}}
	s.client.Do(t.Context(), c)
	if c.Err != nil {
		t.Fatal(c.Err)
	}
}

// A recall is what Recalls has told.
type recall struct {
	key  string
	rule uint32
}

// message returns the message of the recall.
func (r recall) message(prefix string) string {
	return field(r.rule) + "\x00\x00\x00\x00\x00\x00\x05" + hashName(prefix, []byte(r.key))
}

// hear calls Recalls until the test ends.
func hear(t *testing.T, s *Store) <-chan recall {
	heard, ended := make(chan recall, 1000), make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		defer close(ended)
		s.Recalls(ctx, func(r limiter.Recall) { heard <- recall{string(r.Key), r.Rule} })
	}()
	t.Cleanup(func() {
		stop()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Error("Recalls has not returned after its context ended")
		}
	})
	return heard
}

// repeat publishes r again and again until it is heard.
func repeat(t *testing.T, s *Store, heard <-chan recall, r recall) {
	t.Helper()
	redistest.Eventually(t, "a recall", func() bool {
		publish(t, s, r.key, r.message(s.prefix))
		select {
		case got := <-heard:
			return got == r
		case <-time.After(10 * time.Millisecond):
			return false
		}
	})
}

// first is a recall that tests repeat until it is heard.
var first = recall{"first", 1 << 31}

// next returns the next recall after the first.
func next(t *testing.T, heard <-chan recall) recall {
	t.Helper()
	for {
		select {
		case r := <-heard:
			if r != first {
				return r
			}
		case <-time.After(patience):
			t.Fatal("the recall has not arrived")
		}
	}
}

// TestRecalls publishes recalls of keys that need escapes, in slots of all primaries.
func TestRecalls(t *testing.T) {
	keys := []string{"", "a", "%", "%%", "}", "{}", "%7D", "%25", "%257D", "k:{v}:x", "\x00\xff\r\n", "ü"}
	for i := range 20 {
		keys = append(keys, fmt.Sprint("key ", i))
	}
	for _, topology := range topologies {
		t.Run(topology.name, func(t *testing.T) {
			o := topology.options(t)
			s := withClock(connect(t, o))
			heard := hear(t, s)
			repeat(t, s, heard, first)
			for i, key := range keys {
				want := recall{key, uint32(i) * 0x01020304}
				publish(t, s, key, "not a recall")
				publish(t, s, key, want.message(s.prefix))
				if got := next(t, heard); got != want {
					t.Errorf("recall = %+v, want %+v", got, want)
				}
			}
		})
	}
}

// TestRecallsOnAllPrimaries has many nodes hear one recall, wherever they have subscribed.
func TestRecallsOnAllPrimaries(t *testing.T) {
	cluster := redistest.SharedCluster(t)
	s := withClock(connect(t, redisconn.Options{Mode: redisconn.Cluster, Addresses: cluster.Addrs}))
	const nodes = 16
	var all []<-chan recall
	for range nodes {
		heard := hear(t, s)
		repeat(t, s, heard, first)
		all = append(all, heard)
	}
	var subscribed []int64
	for _, server := range cluster.Servers {
		channel := s.prefix + ":recall"
		n, err := server.Client().PubSubNumSub(t.Context(), channel).Result()
		if err != nil {
			t.Fatal(err)
		}
		if n[channel] > 0 {
			subscribed = append(subscribed, n[channel])
		}
	}
	if len(subscribed) < 2 {
		t.Errorf("nodes have subscribed at servers in numbers of %v, want several servers", subscribed)
	}
	want := recall{"key", 7}
	publish(t, s, "key", want.message(s.prefix))
	for _, heard := range all {
		if got := next(t, heard); got != want {
			t.Errorf("recall = %+v, want %+v", got, want)
		}
	}
}

func TestRecallsAfterConnectionEnds(t *testing.T) {
	t.Parallel()
	server := redistest.NewServer(t)
	s := withClock(connect(t, redisconn.Options{Addresses: []string{server.Addr}}))
	heard := hear(t, s)
	repeat(t, s, heard, first)
	if killed, err := server.Client().ClientKillByFilter(t.Context(), "TYPE", "pubsub").Result(); killed != 1 || err != nil {
		t.Fatalf("connections killed = %d, %v, want 1", killed, err)
	}
	repeat(t, s, heard, recall{"later", 1})
}

// TestRecallsWhenAllowed has a user that may not subscribe at first.
func TestRecallsWhenAllowed(t *testing.T) {
	t.Parallel()
	server := redistest.NewServer(t, "user fleet on >secret ~* +@all resetchannels")
	s := withClock(connect(t, redisconn.Options{Addresses: []string{server.Addr}, Username: "fleet", Password: "secret"}))
	heard := hear(t, s)
	redistest.Eventually(t, "a refusal", func() bool {
		log, err := server.Client().Do(t.Context(), "acl", "log").Slice()
		return err == nil && len(log) > 0
	})
	if err := server.Client().Do(t.Context(), "acl", "setuser", "fleet", "&"+s.prefix+":*").Err(); err != nil {
		t.Fatal(err)
	}
	repeat(t, s, heard, first)
}

// TestScriptRecalls has nodes lease what a bucket has until a take of another node is denied.
func TestScriptRecalls(t *testing.T) {
	s := New(connect(t, standalone(t)), "recalled")
	heard := hear(t, s)
	repeat(t, s, heard, first)
	r := leasable(t, limiter.Algorithm{})
	incarnation := lend(t, s, 0, limiter.LeaseRequest{Rule: r}).Incarnation
	for range 3 {
		lend(t, s, 0, limiter.LeaseRequest{Rule: r, Want: 100, Incarnation: incarnation})
	}
	l := lend(t, s, 0, limiter.LeaseRequest{Rule: r, Need: 500, Incarnation: incarnation})
	if !l.AsksAgain() || l.Ample {
		t.Errorf("the reply to a need of 500 is %+v, want a denial to ask again after", l)
	}
	if got, want := next(t, heard), (recall{"key", r.ID}); got != want {
		t.Errorf("recall = %+v, want %+v", got, want)
	}
}

func TestParseRecall(t *testing.T) {
	id := string(binary.BigEndian.AppendUint32(nil, 1)) + "\x00\x00\x00\x00\x00\x00\x05"
	for _, message := range []string{
		"", "rl", id, id[1:] + "rl:{a}", id + "rl", id + "rl:", id + "rl:{", id + "rl:{}", id + "rl:{a", id + "rl:a}",
		id + "rl:{a}:00000001", id + "rl:{a}}", id + "xl:{a}", id + "rl:{%}}", id + "rl:{%41}", id + "rl:{%7d}", id + "rl:{%2}",
		id + "rl:{a%}", " " + id + "rl:{a}",
	} {
		if _, ok := parseRecall("rl", message); ok {
			t.Errorf("%q is a recall, want no recall", message)
		}
	}
	if r, ok := parseRecall("rl", id+"rl:{a%7D%25}"); string(r.Key) != "a}%" || r.Rule != 1 || r.At != 5 || !ok {
		t.Errorf("a recall = %+v, %v", r, ok)
	}
}
