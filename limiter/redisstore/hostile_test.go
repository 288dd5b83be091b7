package redisstore

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// FuzzHostileReply has a compromised Redis reply with any numbers and texts. The result is an error
// or a decision, and never a panic.
func FuzzHostileReply(f *testing.F) {
	extremes := []int64{0, 1, -1, 1 << 40, 1 << 51, 1<<53 - 1, 1 << 62, -1 << 63}
	for _, n := range extremes {
		for _, m := range extremes {
			var seed []byte
			for range 6 {
				seed = binary.BigEndian.AppendUint64(append(seed, 0), uint64(n))
				seed = binary.BigEndian.AppendUint64(append(seed, 0), uint64(m))
			}
			f.Add(seed)
		}
	}
	f.Add([]byte("\x01\x00\x00\x00\x00\x00\x00\x00\x02\x02\x01\x02\x03\x04\x05\x06\x07\x08"))
	var rules []*limiter.Rule
	for i, a := range []limiter.Algorithm{
		{Kind: limiter.TokenBucket}, {Kind: limiter.FixedWindow}, {Kind: limiter.SlidingWindow, SubWindows: 3}, {Kind: limiter.SlidingWindowLog},
	} {
		rules = append(rules, mustRule(f, uint32(i), a, limiter.Limit{Events: 7, Window: time.Minute}))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		reply := hostileReply(data)
		for _, r := range rules {
			for _, whole := range [][]any{reply, append([]any{int64(1), int64(0), int64(1 << 50)}, reply...)} {
				take := limiter.Take{Rule: r, Key: []byte("k"), Cost: 3}
				if a, err := readTakes(whole, group{&take}, true); err == nil {
					a.rollBack(group{&take})
					a.counts[0].State(r)
				}
				_, _, _ = readCount(whole, r)
				requests := []limiter.LeaseRequest{{Rule: r, Key: []byte("k"), Need: 3, More: 2, Want: 100}}
				_, _ = readGrants(&redisconn.Call{Reply: whole, Incarnation: 1}, requests)
			}
		}
	})
}

// hostileReply turns data into a reply of numbers, texts of 20 bytes like those of slots, and
// lists.
func hostileReply(data []byte) (reply []any) {
	for len(data) >= 9 {
		n := int64(binary.BigEndian.Uint64(data[1:]))
		switch data[0] % 4 {
		case 0:
			reply = append(reply, n)
		case 1:
			reply = append(reply, string(append(data[1:9:9], "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"...)))
		case 2:
			reply = append(reply, []any{n, n, -n, n / 2})
		case 3:
			reply = append(reply, nil)
		}
		data = data[9:]
	}
	return reply
}
