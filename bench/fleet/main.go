// Command fleet measures the gain and the cost of leases: how exactly a fleet decides, how many
// decisions need no store, and how long takes last. It starts a Redis Cluster of three primaries
// with one replica each. All nodes are in this process, each with its own accounts and connections.
// Only outages are measured with real gateways, beside gateways of peers.
//
//	go run ./fleet [-short] [-only <measurements>] [-peer <caddy>] [-plot <directory>] [-nodes 15] ...
//
// Without flags, it makes all measurements, one after the other. With -short, it only checks that
// everything works.
//
// The load is open: a take is made when it is due, even if others have not returned. In some
// tables, takes are made without a pause instead. The text of such a table says so.
package main

import (
	"fmt"
	"os"

	"github.com/fleetlimit/fleetlimit/bench/report"
)

func main() {
	o, err := parseOptions(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(2)
	}
	report.Head("go run ./fleet")
	if o.short {
		fmt.Print("\nThe figures of a short run mean nothing.\n")
	}
	report.End("fleet", measure(o))
}

// A measurement prints one section of the report.
type measurement struct {
	name string
	far  bool // uses the delay, whose processor time would disturb the other measurements
	make func(l *lab) error
}

// Memory is measured first, before other measurements have used any.
var measurements = []measurement{
	{"memory", false, measureMemory},
	{"hot", false, measureHotKey},
	{"sizes", false, measureSizes},
	{"large", false, measureLarge},
	{"outage", false, measureOutage},
	{"keys", true, measureKeys},
	{"share", true, measureShare},
	{"latency", true, measureLatency},
	{"typical", true, measureTypical},
	{"exact", true, measureExactness},
}

// A lab has what measurements need: the options and a cluster.
type lab struct {
	*options
	*cluster
}

// measure makes the measurements that o selects.
func measure(o *options) error {
	l := &lab{options: o}
	defer l.stopCluster()
	far := false
	for _, m := range measurements {
		if !o.wants(m.name) {
			continue
		}
		if l.cluster == nil || m.far != far && o.delay > 0 {
			far = m.far
			l.stopCluster()
			if err := l.start(far); err != nil {
				return err
			}
		}
		if err := m.make(l); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// stopCluster stops the cluster, if there is one.
func (l *lab) stopCluster() {
	if l.cluster != nil {
		l.cluster.stop()
		l.cluster = nil
	}
}

// start starts a cluster, and prints the duration of a PING.
func (l *lab) start(far bool) (err error) {
	delay := l.delay
	if !far {
		delay = 0
	}
	if l.cluster, err = startCluster(delay); err != nil {
		return err
	}
	ping, err := l.cluster.roundTrip()
	if err != nil {
		return err
	}
	fmt.Printf("\n## With a Redis Cluster %v away\n\nA PING takes %s (median of 101).\n", delay, report.Milliseconds(ping))
	return nil
}
