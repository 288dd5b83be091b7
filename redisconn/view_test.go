package redisconn

import (
	"slices"
	"testing"

	redis "github.com/redis/go-redis/v9"
)

func TestClusterView(t *testing.T) {
	owners := []redis.ClusterSlot{
		{Start: 0, End: 99, Nodes: []redis.ClusterNode{{Addr: "a:1"}, {Addr: "b:1"}}},
		{Start: 100, End: 16383, Nodes: []redis.ClusterNode{{Addr: ":2"}, {Addr: "b:1"}}},
	}
	v, err := clusterView("x:1\r\ncluster_current_epoch:12\r\ncluster_my_epoch:3\r\n", owners, "c:9")
	if err != nil {
		t.Fatal(err)
	}
	if want := [2]int64{12, 3}; v.epoch != want {
		t.Errorf("epoch = %v, want %v", v.epoch, want)
	}
	if want := []slots{{0, 99, "a:1"}, {100, 16383, "c:2"}}; !slices.Equal(v.primaries, want) {
		t.Errorf("primaries = %v, want %v", v.primaries, want)
	}
	if want := []string{"a:1", "b:1", "c:2"}; !slices.Equal(v.nodes, want) {
		t.Errorf("nodes = %v, want %v", v.nodes, want)
	}
	if _, err := clusterView("cluster_state:ok\r\n", owners, "c:9"); err == nil {
		t.Error("a view without an epoch was accepted")
	}
	if _, err := clusterView("cluster_current_epoch:0\r\ncluster_my_epoch:0\r\n", nil, "c:9"); err == nil {
		t.Error("a view without slots was accepted")
	}
}
