package membership_test

import (
	"fmt"

	"github.com/fleetlimit/fleetlimit/internal/fleet/membership"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// A node joins the fleet, and learns how many nodes share its limits.
func ExampleJoin() {
	client := redisconn.New(redisconn.Options{Addresses: []string{"localhost:6379"}})
	defer client.Close()
	member := membership.Join(client, "rl", func(m membership.Mismatch) {
		fmt.Printf("%s defines %v of the zone %s differently\n", m.Node, m.Settings, m.Zone)
	})
	defer member.Leave()

	member.Define("configuration 1", map[string]membership.Definition{"user": {"limit": "100/1m"}}, 0, nil)
	fmt.Println(member.Nodes())
}

// While a configuration is replaced, both configurations define zones. The newest one counts.
func ExampleMember_Define() {
	client := redisconn.New(redisconn.Options{Addresses: []string{"localhost:6379"}})
	defer client.Close()
	member := membership.Join(client, "rl", func(membership.Mismatch) {})
	defer member.Leave()

	member.Define("configuration 1", map[string]membership.Definition{"user": {"limit": "100/1m"}}, 0, nil)
	member.Define("configuration 2", map[string]membership.Definition{"user": {"limit": "200/1m"}}, 3, nil) // a fleet of 3 nodes
	member.Undefine("configuration 1")
}
