package fleet

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// ask sends GET to the admin API of a node.
func ask(t *testing.T, n *nodetest.Node, path string, answer any) {
	t.Helper()
	resp, err := http.Get("http://" + n.Admin + "/rate_limit/" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(body, answer)
	}
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s = %d %s, %v", path, resp.StatusCode, body, err)
	}
}

// A topAnswer is what a node knows of its keys.
type topAnswer struct {
	Node, By string
	Keys     []struct {
		Key    string
		Demand float64 `json:"demand_per_second"`
		Denied bool
	}
}

// Each node lists the keys that it has served itself, by the rate at which it has.
func TestTopOfNodes(t *testing.T) {
	redis := redistest.NewServer(t)
	nodes := nodetest.StartAll(t, 2, "redis {\n\taddress "+redis.Addr+"\n\ttimeout 5s\n}", userSite("100/24h"))
	for key, requests := range map[string][2]int{"a": {40, 0}, "b": {0, 150}, "both": {10, 20}} {
		for i, n := range nodes {
			for range requests[i] {
				_, _, _ = n.Get("/", "X-Api-Key: "+key) // the last ones of b are denied
			}
		}
	}
	var names []string
	for i, want := range [][]string{{"a", "both"}, {"b", "both"}} {
		var top topAnswer
		ask(t, nodes[i], "zones/user/top", &top)
		names = append(names, top.Node)
		var got []string
		for _, k := range top.Keys {
			got = append(got, k.Key)
			if k.Demand <= 0 || k.Demand > 30 || k.Denied != (k.Key == "b") {
				t.Errorf("node %d: %+v, want some demand, and only b denied", i, k)
			}
		}
		if top.By != "demand_per_second" || !slices.Equal(got, want) {
			t.Errorf("node %d lists %q by %s, want %q by demand_per_second", i, got, top.By, want)
		}
	}
	var listed struct{ Nodes []struct{ Name string } }
	ask(t, nodes[0], "nodes", &listed)
	for _, name := range names {
		if !slices.ContainsFunc(listed.Nodes, func(n struct{ Name string }) bool { return n.Name == name }) {
			t.Errorf("the node %q is not one of %v", name, listed.Nodes)
		}
	}
	if names[0] == names[1] {
		t.Errorf("both nodes are called %q", names[0])
	}
}
