package redistest

import (
	"fmt"
	"strings"

	redis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// The files in a server's directory.
const (
	confFile = "redis.conf"
	logFile  = "log"
)

// A kind is what a redis-server process is started as.
type kind struct {
	name  string
	args  []string // after the configuration file
	ports int      // how many it listens on; the first is that of its clients
	ready string   // what it logs once it listens
	own   func(ports []int) []string
}

var (
	alone = kind{name: "redis", ports: 1, ready: "Ready to accept connections", own: dataLines}

	clusterNode = kind{name: "cluster node", ports: 2, ready: alone.ready, own: func(ports []int) []string {
		return append(dataLines(ports),
			"cluster-enabled yes",
			fmt.Sprintf("cluster-port %d", ports[1]), // else the port + 10000, which nobody has looked at
			"cluster-config-file nodes.conf",
			"cluster-node-timeout 2000",
			"cluster-replica-validity-factor 0",  // a replica takes over however long its link was down
			"cluster-allow-replica-migration no", // and stays with its primary
		)
	}}

	sentinelNode = kind{name: "sentinel", args: []string{"--sentinel"}, ports: 1, ready: "Sentinel ID is",
		own: func([]int) []string { return nil }}
)

// dataLines is what everything but a sentinel has in its configuration.
func dataLines([]int) []string {
	return []string{
		`save ""`, "appendonly no",
		"repl-diskless-sync-delay 0", // a replica gets its data at once, not in 5 s
	}
}

// lines returns the configuration of a server of this kind, one directive in each. The log goes to standard output.
func (k kind) lines(ports []int) []string {
	return append([]string{
		fmt.Sprintf("port %d", ports[0]), "bind " + host, "protected-mode no", "daemonize no",
	}, k.own(ports)...)
}

// clientOptions are those of clients for assertions: they send a command once, and nothing that a test does not ask for;
// they do not dial again and again, and know the password that the options of a server may ask for.
func clientOptions(addr string, options []string) *redis.Options {
	o := &redis.Options{
		Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	for _, line := range options {
		if password, ok := strings.CutPrefix(line, "requirepass "); ok {
			o.Password = strings.Trim(password, `"`)
		}
	}
	return o
}
