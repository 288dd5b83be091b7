package redisconn

import (
	"strings"
	"testing"
	"time"
)

// TestProbeOfReplica has a server that gets no calls say that it is a replica. Each probe is sent over
// a new connection, because the address may lead to another server by then.
func TestProbeOfReplica(t *testing.T) {
	f := newFake(t, nil, func([]string) string { return ":1\r\n" })
	f.answerTo("info", bulk("run_id:"+f.addr+"\r\nrole:slave\r\n"))
	c := open(t, Options{Addresses: []string{f.addr}, Timeout: patience, PoolSize: 1, Breaker: soonProbes})
	ready(t, c, "k")
	c.table.Load().queues[0].trip(errSilent)
	before := f.sent("hello")
	until(t, "a fourth connection", func() bool { return f.sent("hello") > before+3 })
	if b := c.Primaries()[0]; b.State != Open || !strings.Contains(b.Err.Error(), errReplica.Error()) {
		t.Errorf("the breaker of a replica is %v: %v", b.State, b.Err)
	}
	f.answerTo("info", "")
	ready(t, c, "k")
}

// TestProbeOfClusterDown has a node that answers, but says that its cluster is down. It gets no
// calls until the cluster is up.
func TestProbeOfClusterDown(t *testing.T) {
	f := newClusterFake(t, func([]string) string { return ":1\r\n" })
	c := open(t, Options{Mode: Cluster, Addresses: []string{f.addr}, Timeout: patience, Breaker: soonProbes})
	ready(t, c, "k")
	f.answerTo("cluster", bulk("cluster_state:fail\r\n"))
	c.table.Load().queues[0].trip(errSilent)
	until(t, "a probe that finds the cluster down", func() bool {
		b := c.Primaries()[0]
		return b.State == Open && strings.Contains(b.Err.Error(), errDown.Error())
	})
	f.answerTo("cluster", "")
	ready(t, c, "k")
}

// TestProbeAfterClosedConnection has a server close the connections of an idle client, as Redis does if
// its setting timeout is set. That is no failure.
func TestProbeAfterClosedConnection(t *testing.T) {
	f := newFake(t, nil, func([]string) string { return ":1\r\n" })
	c := open(t, Options{Addresses: []string{f.addr}, Timeout: patience, Breaker: BreakerOptions{Failures: 3, ProbeEvery: time.Hour}})
	ready(t, c, "k")
	for range 4 {
		connections := f.sent("hello")
		f.closeAll()
		until(t, "a new connection", func() bool { return f.sent("hello") > connections })
		probes := f.sent("ping")
		until(t, "a probe over it", func() bool { return f.sent("ping") > probes }) // its login is over then
	}
	if b := c.Primaries()[0]; b.State != Closed {
		t.Errorf("the breaker of a server that closes idle connections is %v: %v", b.State, b.Err)
	}
}

// TestProbeAfterFailedProbe has one probe of an idle client fail. The next probe finds the primary
// before the primary counts as silent.
func TestProbeAfterFailedProbe(t *testing.T) {
	f := newFake(t, nil, func([]string) string { return ":1\r\n" })
	c := open(t, Options{Addresses: []string{f.addr}, Timeout: time.Second, PoolSize: 1, Breaker: BreakerOptions{ProbeEvery: time.Hour}})
	settled(t, c)
	f.answerTo("ping", hangUp)
	probes := f.sent("ping")
	until(t, "the probe after the one that fails", func() bool { return f.sent("ping") > probes+1 || c.Failing() })
	if b := c.Primaries()[0]; b.State != Closed {
		t.Errorf("the breaker after one failed probe is %v: %v", b.State, b.Err)
	}
}
