package redistest

import (
	"context"
	"strconv"
	"testing"
)

func TestClusterFailover(t *testing.T) {
	c := NewCluster(t)
	const key = "k"
	tests := []struct {
		name        string
		fault, mend func(*Server)
	}{
		{"killed", (*Server).Kill, (*Server).Restart},
		{"paused", (*Server).Pause, (*Server).Resume},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			primary := c.Primary(key)
			replica := c.Replica(primary)
			tt.fault(primary)
			if got := c.Primary(key); got != replica {
				t.Fatalf("the primary is %s, want the former replica %s", got.Addr, replica.Addr)
			}
			// A command may fail while the client has the old slots.
			if err := until(func(ctx context.Context) error { return c.Client().Set(ctx, key, tt.name, 0).Err() }); err != nil {
				t.Errorf("SET through the client of the cluster: %v", err)
			}
			if got := get(t, replica, key); got != tt.name {
				t.Errorf("%s = %q at the new primary, want %q", key, got, tt.name)
			}
			tt.mend(primary)
			if got := c.Replica(replica); got != primary {
				t.Errorf("the replica of the new primary is %s, want the old primary %s", got.Addr, primary.Addr)
			}
			if got := c.Primary(key); got != replica {
				t.Errorf("the primary is %s once the old one is back, want %s", got.Addr, replica.Addr)
			}
		})
	}
}

// Each caller of SharedCluster leaves keys and a fault behind.
func TestSharedClusterIsHealthyForEachCaller(t *testing.T) {
	for _, fault := range []func(*Server){(*Server).Pause, (*Server).Kill, func(*Server) {}} {
		c := SharedCluster(t)
		for _, s := range c.Servers {
			if n, err := s.Client().DBSize(t.Context()).Result(); err != nil || n != 0 {
				t.Errorf("%s has %d keys (error %v), want none", s.Addr, n, err)
			}
		}
		used := map[*Server]bool{}
		for i := range 20 {
			key := strconv.Itoa(i)
			if err := c.Client().Set(t.Context(), key, "v", 0).Err(); err != nil {
				t.Fatal(err)
			}
			used[c.Primary(key)] = true
		}
		if len(used) != primaries {
			t.Errorf("20 keys are on %d primaries, want %d", len(used), primaries)
		}
		fault(c.Primary("k"))
	}
}
