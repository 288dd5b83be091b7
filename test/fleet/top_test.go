package fleet

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// ask sends GET to the admin API of a node.
func ask(t *testing.T, n *nodetest.Node, path string, answer any) {
	t.Helper()
	text := n.MustAsk("GET", path, "")
	if err := json.Unmarshal([]byte(text), answer); err != nil {
		t.Fatalf("GET %s = %s, %v", path, text, err)
	}
}

// A topAnswer lists keys.
type topAnswer struct {
	Node  string
	Fleet *struct{ Nodes, Answered int }
	Keys  []struct {
		Key      string
		Taken    float64 `json:"taken_per_second"`
		Rejected float64 `json:"rejected_per_second"`
	}
}

// top returns the keys that a node or the fleet lists, each with " rejected" if any of its requests was
// rejected. The answer has the name of the node.
func top(t *testing.T, n *nodetest.Node, query string) (keys []string, answer topAnswer) {
	t.Helper()
	ask(t, n, "zones/user/top"+query, &answer)
	for _, k := range answer.Keys {
		if k.Rejected > 0 {
			k.Key += " rejected"
		}
		keys = append(keys, k.Key)
	}
	return keys, answer
}

// Each node lists the keys that it has served itself. Asked for the keys of the fleet, a node adds up what
// all nodes list, so that a key which is spread over them comes first.
func TestTopOfNodes(t *testing.T) {
	redis := redistest.NewServer(t)
	nodes := nodetest.StartAll(t, 2, nodetest.InRedis(redis.Addr, "timeout 5s"),
		strings.Replace(nodetest.UserSite("100/24h"), "rate_limit {", "rate_limit {\n\tlog_key", 1))
	for key, requests := range map[string][2]int{"a": {100, 0}, "b": {0, 120}, "both": {90, 90}} {
		for i, n := range nodes {
			for range requests[i] {
				_, _, _ = n.Get("/", "X-Api-Key: "+key)
			}
		}
	}
	var names []string
	for i, want := range [][]string{{"a", "both"}, {"b rejected", "both rejected"}} {
		keys, answer := top(t, nodes[i], "")
		if names = append(names, answer.Node); !slices.Equal(keys, want) || answer.Fleet != nil {
			t.Errorf("node %d lists %q, want %q", i, keys, want)
		}
	}
	for i, n := range nodes {
		keys, answer := top(t, n, "?fleet=true")
		if want := []string{"both rejected", "b rejected", "a"}; !slices.Equal(keys, want) || answer.Fleet == nil ||
			answer.Fleet.Nodes != 2 || answer.Fleet.Answered != 2 {
			t.Errorf("asked for the fleet, node %d lists %q of %+v, want %q of 2 nodes", i, keys, answer.Fleet, want)
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
