// Command fleet measures the gain and the cost of leases: how exact the decisions of a fleet are,
// how many of them need no store, and how long takes last. It starts its own Redis Cluster of three
// primaries with a replica each. All nodes are in this process, each with its own accounts and
// connections. Only outages are measured with real gateways, beside those of peers.
//
//	go run ./fleet [-short] [-only <measurements>] [-peer <caddy>] [-plot <directory>] [-nodes 15] ...
//
// Without flags it makes all measurements, one after the other. -short only checks that everything
// works.
//
// The load is open: a take is made when it is due, however long others last. Some tables make takes
// without a pause instead, and their text is clear about it.
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

// A measurement prints one section.
type measurement struct {
	name string
	far  bool // uses the delay, which takes processor time that some measurements count
	make func(l *lab) error
}

// Memory is first, before the others have used any.
var measurements = []measurement{
	{"memory", false, measureMemory},
	{"hot", false, measureHotKey},
	{"sizes", false, measureSizes},
	{"outage", false, measureOutage},
	{"keys", true, measureKeys},
	{"share", true, measureShare},
	{"latency", true, measureLatency},
	{"typical", true, measureTypical},
	{"exact", true, measureExactness},
}

// A lab has what measurements need.
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

// start starts a cluster, and prints how far away it is.
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
