package storetest

import (
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// testKeys checks that no two keys and no two rules share a count, whatever bytes keys have.
func testKeys(t *testing.T, open opener) {
	long := strings.Repeat("k", 64<<10)
	keys := []string{
		"", "\x00", "\x00\x00", "a", "a\x00", "a\x00b", "ab", "b", "A", " a", "a ", "a:b", "a,b", "{a}", "{a", "}", "*", "?",
		"\r\n", "a\r\n", "\xff", "\xff\xfe", "\xc3\x28", "\uFFFD", "ä", "a\u0308", "1", "01", "127.0.0.1", "::1",
		"\x01\x00\x00\x00", "\x00\x00\x00\x01", strings.Repeat("k", 255), strings.Repeat("k", 256), strings.Repeat("k", 257),
		long, long + "k", "x" + long[1:], long[1:] + "x",
	}
	eachAlgorithm(t, open, func(t *testing.T, s limiter.Store, perMinute func(int64) *limiter.Rule) {
		r := perMinute(2)
		for _, key := range keys {
			allowed(t, s, start, r, key, 1, 1)
		}
		for _, key := range keys {
			allowed(t, s, start, r, key, 1, 0)
		}
		for _, key := range keys {
			denied(t, s, start, r, key, 1, 0)
		}
	})
	t.Run("rules", func(t *testing.T) { testRuleIDs(t, open) })
	t.Run("buffers", func(t *testing.T) { testKeyBuffer(t, open) })
}

// testRuleIDs checks that rules with different IDs do not share counts, in one zone or two.
func testRuleIDs(t *testing.T, open opener) {
	s, zones := open(t, "a", "b")
	rules := []*limiter.Rule{
		perMinute(t, 0, zones["a"], limiter.Algorithm{}, 1),
		perMinute(t, 1, zones["a"], limiter.Algorithm{}, 1),
		perMinute(t, 1<<24, zones["a"], limiter.Algorithm{Kind: limiter.FixedWindow}, 1),
		perMinute(t, 2, zones["b"], limiter.Algorithm{}, 1),
		perMinute(t, 1<<32-1, zones["b"], limiter.Algorithm{Kind: limiter.SlidingWindowLog}, 1),
	}
	for _, r := range rules {
		allowed(t, s, start, r, "key", 1, 0)
	}
	for _, r := range rules {
		denied(t, s, start, r, "key", 1, 0)
	}
}

// testKeyBuffer checks that a store keeps no reference to the bytes of a key.
func testKeyBuffer(t *testing.T, open opener) {
	s, zones := open(t, zone)
	r := perMinute(t, 1, zones[zone], limiter.Algorithm{}, 1)
	buffer := []byte("alice")
	takeAll(t, s, start, limiter.Take{Rule: r, Key: buffer, Cost: 1})
	copy(buffer, "carol")
	denied(t, s, start, r, "alice", 1, 0)
	allowed(t, s, start, r, "carol", 1, 0)
}
