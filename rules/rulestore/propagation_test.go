package rulestore_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

const fleetSize = 20

// A fleet is nodes that watch one Redis.
type fleet struct {
	t        *testing.T
	watchers []*rules.Watcher

	mu      sync.Mutex
	arrived map[int64]chan struct{} // gets an element for each node that has the version in force
}

func newFleet(t *testing.T, o redisconn.Options, options rules.Options) *fleet {
	f := &fleet{t: t, arrived: make(map[int64]chan struct{})}
	for range fleetSize {
		w := rules.NewWatcher(newRedis(t, o, "rl"), options)
		t.Cleanup(func() {
			if err := w.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
		w.Subscribe(func(tr rules.Transition) {
			for n := tr.From.Number + 1; n <= tr.To.Number; n++ { // it may have skipped some
				f.version(n) <- struct{}{}
			}
		})
		f.watchers = append(f.watchers, w)
	}
	for _, w := range f.watchers {
		<-w.Loaded()
	}
	return f
}

func (f *fleet) version(n int64) chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.arrived[n] == nil {
		f.arrived[n] = make(chan struct{}, fleetSize)
	}
	return f.arrived[n]
}

// change has node i make a version, and waits until all nodes have it in force. It returns how long
// that took since the version was acknowledged.
func (f *fleet) change(i int) time.Duration {
	f.t.Helper()
	began := time.Now()
	v, err := f.watchers[i%fleetSize].Update(f.t.Context(), rules.Change{Apply: func(d *rules.Document) error {
		d.Overrides = append(d.Overrides, &rules.Override{Entry: rules.Entry{ID: fmt.Sprint(i)}})
		return nil
	}})
	if err != nil {
		f.t.Fatalf("Update: %v", err)
	}
	for range fleetSize {
		select {
		case <-f.version(v.Number):
		case <-time.After(30 * time.Second):
			f.t.Fatalf("version %d is not in force on all nodes after 30 s", v.Number)
		}
	}
	return time.Since(began)
}

// awaitSubscribers waits until n nodes watch.
func awaitSubscribers(t *testing.T, server *redistest.Server, n int64) {
	t.Helper()
	const channel = "rl:{rules}:versions"
	redistest.Eventually(t, fmt.Sprintf("%d nodes watch", n), func() bool {
		subscribers, err := server.Client().PubSubNumSub(t.Context(), channel).Result()
		return err == nil && subscribers[channel] == n
	})
}

// TestPropagation has 20 nodes make 100 changes, which are in force on all within 2 s.
func TestPropagation(t *testing.T) {
	t.Parallel()
	server := redistest.NewServer(t)
	f := newFleet(t, redisconn.Options{Addresses: []string{server.Addr}}, rules.Options{})
	awaitSubscribers(t, server, fleetSize)
	var took []time.Duration
	for i := range 100 {
		took = append(took, f.change(i))
	}
	slices.Sort(took)
	t.Logf("in force on %d nodes: median %v, p99 %v, worst %v", fleetSize, took[50], took[98], took[99])
	if took[98] >= 2*time.Second {
		t.Errorf("p99 = %v, want less than 2 s", took[98])
	}
}

// TestPropagationWithoutAnnouncements has a Redis user that may neither publish nor subscribe. The
// polls find the versions: with the default of 10 s between them, within 12 s.
func TestPropagationWithoutAnnouncements(t *testing.T) {
	t.Parallel()
	const poll = time.Second
	server := redistest.NewServer(t, "user fleet on >secret ~* +@all resetchannels")
	o := redisconn.Options{Addresses: []string{server.Addr}, Username: "fleet", Password: "secret"}
	f := newFleet(t, o, rules.Options{Poll: poll})
	worst := time.Duration(0)
	for i := range 3 {
		worst = max(worst, f.change(i))
	}
	t.Logf("in force on %d nodes: worst %v", fleetSize, worst)
	if worst >= poll+2*time.Second {
		t.Errorf("it took %v, want less than %v", worst, poll+2*time.Second)
	}
	if worst < poll/10 {
		t.Errorf("it took %v, want the time of a poll: were there announcements?", worst)
	}
}

// TestNodesRestoreRedis restarts a Redis that does not persist. The nodes write back what they
// know, and changes work.
func TestNodesRestoreRedis(t *testing.T) {
	t.Parallel()
	server := redistest.NewServer(t)
	f := newFleet(t, redisconn.Options{Addresses: []string{server.Addr}}, rules.Options{})
	f.change(0)
	f.change(1)
	before := f.watchers[0].Latest()
	server.Kill()
	for i := range fleetSize { // no node has lost what is in force
		if got := f.watchers[i].Latest(); got.Number != before.Number {
			t.Errorf("node %d has version %d in force, want %d", i, got.Number, before.Number)
		}
	}
	server.Restart()
	newcomer := rules.NewWatcher(newRedis(t, redisconn.Options{Addresses: []string{server.Addr}}, "rl"), rules.Options{})
	defer newcomer.Close()
	restored := make(chan struct{})
	newcomer.Subscribe(func(tr rules.Transition) {
		if tr.To.Number == before.Number && len(tr.To.Document.Overrides) == 2 {
			close(restored)
		}
	})
	select {
	case <-restored:
	case <-time.After(15 * time.Second):
		t.Fatalf("the version in force on a new node = %+v, want %d", newcomer.Latest(), before.Number)
	}
	f.change(2)
	if got := len(f.watchers[3].Latest().Document.Overrides); got != 3 {
		t.Errorf("overrides = %d, want 3", got)
	}
}
