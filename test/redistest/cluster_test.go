package redistest

import (
	"context"
	"slices"
	"strconv"
	"testing"
)

func TestClusterServesAllSlots(t *testing.T) {
	c := SharedCluster(t)
	if len(c.Addrs) != 6 || len(c.Servers) != 6 {
		t.Fatalf("%d addresses of %d servers, want 6 of 6", len(c.Addrs), len(c.Servers))
	}
	used := map[*Server]bool{}
	for i := range 20 {
		key := strconv.Itoa(i)
		if err := c.Client().Set(t.Context(), key, i, 0).Err(); err != nil {
			t.Fatalf("SET %s: %v", key, err)
		}
		primary := c.Primary(key)
		used[primary] = true
		if got := get(t, primary, key); got != key {
			t.Errorf("%s = %q at its primary, want the same", key, got)
		}
		if replica := c.Replica(primary); used[replica] {
			t.Errorf("the replica of %s is %s, which is a primary", primary.Addr, replica.Addr)
		}
	}
	if len(used) != 3 {
		t.Errorf("20 keys are spread over %d primaries, want 3", len(used))
	}
}

func TestClusterPromotesAReplica(t *testing.T) {
	c := NewCluster(t)
	const key = "k"
	tests := []struct {
		name  string
		fault func(*Server)
		mend  func(*Server)
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
			// A command may still fail while the others hear of it.
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

func TestSharedClusterIsWholeForEachCaller(t *testing.T) {
	for _, fault := range []func(*Server){(*Server).Pause, (*Server).Kill, func(*Server) {}} {
		c := SharedCluster(t)
		for _, s := range c.Servers {
			if n, err := s.Client().DBSize(t.Context()).Result(); err != nil || n != 0 {
				t.Errorf("%s has %d keys (error %v), want none", s.Addr, n, err)
			}
		}
		for i := range 20 {
			if err := c.Client().Set(t.Context(), strconv.Itoa(i), "v", 0).Err(); err != nil {
				t.Fatal(err)
			}
		}
		fault(c.Primary("k"))
	}
}

func TestParseNodes(t *testing.T) {
	const text = `07c37df 127.0.0.1:30004@31004,host slave e7d1eec 0 1426238317239 4 connected
e7d1eec 127.0.0.1:30001@31001 myself,master - 0 0 12 connected 0-5460 5462 [5463->-67ed2db]
67ed2db 127.0.0.1:30002@31002 master,fail? - 1426238316232 1426238316232 2 disconnected 5463-16383
`
	nodes, err := parseNodes(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes) != 3 {
		t.Fatalf("%d nodes, want 3", len(nodes))
	}
	replica, primary, lost := nodes[0], nodes[1], nodes[2]
	if replica.primary != "e7d1eec" || !replica.is("slave") || !replica.sound() || replica.serves(0) {
		t.Errorf("the replica is read as %+v", replica)
	}
	if primary.primary != "" || primary.epoch != 12 || !primary.is("myself") || !primary.sound() {
		t.Errorf("the primary is read as %+v", primary)
	}
	var served []int64
	for _, slot := range []int64{0, 5460, 5461, 5462, 5463} {
		if primary.serves(slot) {
			served = append(served, slot)
		}
	}
	if want := []int64{0, 5460, 5462}; !slices.Equal(served, want) {
		t.Errorf("the primary serves %v, want %v", served, want)
	}
	if lost.sound() || !lost.serves(16383) {
		t.Errorf("the lost primary is read as %+v", lost)
	}
	for _, text := range []string{"a b c\n", "a b master - 0 0 x connected\n", "a b master - 0 0 1 connected 1-x\n", "a b master - 0 0 1 connected x\n"} {
		if nodes, err := parseNodes(text); err == nil {
			t.Errorf("parseNodes(%q) = %+v, want an error", text, nodes)
		}
	}
}
