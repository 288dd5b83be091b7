// Command fleet measures what leases are worth to a fleet, and what they cost it: how exact its decisions are, how many of them are
// made without the store, and how long takes last. It starts a Redis Cluster of its own, three primaries with a replica each, and
// all nodes in this process, each with accounts and connections of its own.
//
//	go run ./fleet [-short] [-only <measurements>] [-plot <directory>] [-nodes 15] [-delay 1.5ms] ...
//
// Without flags it makes all measurements, one after the other. -short only shows that everything works.
//
// The load is open: a take is made when it is due, however long others take. Where takes are made as fast as it goes, that is said.
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
	if err := measure(o); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

// A measurement prints one of the sections.
type measurement struct {
	name string
	far  bool // with the delay; where processor time counts, there is none, as the delay takes some too
	make func(l *lab) error
}

// measurements are all that there are. Memory is first, as nothing of the others is in the process then.
var measurements = []measurement{
	{"memory", false, measureMemory},
	{"hot", false, measureHotKey},
	{"sizes", false, measureSizes},
	{"keys", true, measureKeys},
	{"share", true, measureShare},
	{"latency", true, measureLatency},
	{"exact", true, measureExactness},
}

// A lab is what measurements are made with.
type lab struct {
	*options
	*cluster
}

// measure makes the measurements that o asks for.
func measure(o *options) error {
	l := &lab{options: o}
	defer func() {
		if l.cluster != nil {
			l.cluster.stop()
		}
	}()
	far := false
	for _, m := range measurements {
		if !o.wants(m.name) {
			continue
		}
		if l.cluster == nil || m.far != far && o.delay > 0 {
			if far = m.far; l.cluster != nil {
				l.cluster.stop()
			}
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

// start starts a cluster, and says how far it is.
func (l *lab) start(far bool) (err error) {
	delay := l.delay
	if !far {
		delay = 0
	}
	if l.cluster, err = startCluster(delay); err != nil {
		return err
	}
	l.cluster.timeout = l.options.timeout
	ping, err := l.cluster.roundTrip()
	if err != nil {
		return err
	}
	fmt.Printf("\n## With a Redis Cluster %v away\n\nA PING takes %s (median of 101).\n", delay, report.Milliseconds(ping))
	return nil
}
