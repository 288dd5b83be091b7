package zone

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestMaxMemoryBoundsKeys has zones whose keys take more or less memory.
func TestMaxMemoryBoundsKeys(t *testing.T) {
	const million = limiter.DefaultMaxKeys
	for _, test := range []struct {
		name, limit, algorithm string
		maxKeys                int
		maxMemory              config.Size
		redis                  bool
		most, least            int
		said                   bool
	}{
		{"a bucket", "1000/1m", "token_bucket", 0, 0, false, million, million, false},
		{"18 sub-windows", "1000/1m", "sliding_window 18", 0, 0, false, million, million / 2, false},
		{"1000 sub-windows", "1000/1m", "sliding_window 1000", 0, 0, false, 64_000, 60_000, true},
		{"a log", "100/1m", "sliding_window_log", 0, 0, false, 150_000, 140_000, true},
		{"a long log", "1000000/1m", "sliding_window_log", 0, 0, false, 16, 15, true},
		{"max_keys alone", "1000/1m", "sliding_window 1000", million, 0, false, million, million, true},
		{"few max_keys alone", "1000/1m", "sliding_window 1000", 100, 0, false, 100, 100, false},
		{"max_memory", "1000/1m", "token_bucket", 0, 1_000_000, false, 3000, 2000, true},
		{"both", "1000/1m", "token_bucket", 10, 1_000_000, false, 10, 10, false},
		{"in Redis", "1000/1m", "sliding_window 1000", 0, 0, true, million, million, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &config.Zone{Key: "static", MaxKeys: test.maxKeys, MaxMemory: test.maxMemory}
			if err := json.Unmarshal(fmt.Appendf(nil, "%q", test.limit), &c.Limit); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(fmt.Appendf(nil, "%q", test.algorithm), &c.Algorithm); err != nil {
				t.Fatal(err)
			}
			var s Set
			if test.redis {
				s.Check = func(*limiter.Rule) error { return nil }
			}
			z, err := s.New("api", c, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range z.configured.endpoints {
				for _, r := range e.rules {
					if r.MaxKeys > test.most || r.MaxKeys < test.least {
						t.Errorf("max keys = %d, want %d to %d", r.MaxKeys, test.least, test.most)
					}
				}
			}
			if said := z.Memory != ""; said != test.said {
				t.Errorf("said = %q, want some: %t", z.Memory, test.said)
			}
		})
	}
}

// TestFewerKeysWarnOnce has a zone that is compiled again, with fewer keys. Each warning is there once.
func TestFewerKeysWarnOnce(t *testing.T) {
	c := new(config.Zone)
	if err := json.Unmarshal([]byte(`{"key": "static", "limit": "1000/1m", "algorithm": "sliding_window 1000",
		"endpoints": [{"path": "*", "limit": "10/1m"}]}`), c); err != nil {
		t.Fatal(err)
	}
	z, err := new(Set).New("api", c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if z.Memory == "" || len(z.Warnings) != 1 {
		t.Errorf("memory = %q, warnings = %q, want some and one", z.Memory, z.Warnings)
	}
}
