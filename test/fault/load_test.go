package fault

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
)

// A path is the path of a request. Each path but control has a zone of its own.
type path string

const (
	strict  path = "/strict"  // Redis decides each request; the limit is never reached
	leased  path = "/leased"  // decided from leases; the limit is never reached
	tight   path = "/tight"   // clients send more than the limit
	control path = "/control" // not limited
)

// A sample is a request and its response.
type sample struct {
	node     int
	path     path
	key      string
	shard    int
	begin    time.Time
	took     time.Duration
	status   int // 0 if there was no response
	degraded bool
	err      error
}

func (s *sample) end() time.Time { return s.begin.Add(s.took) }

// A load sends requests to all nodes, at a steady pace, and notes what becomes of each.
type load struct {
	keys [][]string // by shard, for the paths strict and leased

	running sync.RWMutex // held for writing while the load pauses
	paused  bool         // used by the goroutine of the test alone
	next    atomic.Int64 // key of the path strict
	tight   atomic.Pointer[[]tightKey]

	mu      sync.Mutex
	nodes   []*nodetest.Node
	samples []sample
	late    time.Duration // the longest delay with which this process went on
}

// A tightKey is a key for which clients send more than the limit.
type tightKey struct {
	name  string
	shard int
}

const (
	pace        = 40 * time.Millisecond // of each worker
	paceOfTight = 15 * time.Millisecond
	paceOfLate  = 5 * time.Millisecond
)

// start starts the workers, which are paused at first. They end with ctx.
func (l *load) start(ctx context.Context, workers *sync.WaitGroup) {
	l.pause()
	l.tight.Store(new([]tightKey))
	for n := range size {
		for shard := range l.keys {
			l.every(ctx, workers, pace, func(int) {
				keys := l.keys[shard]
				l.request(n, strict, keys[int(l.next.Add(1))%len(keys)], shard)
			})
		}
		l.every(ctx, workers, pace, func(turn int) {
			shard := turn % len(l.keys)
			l.request(n, leased, l.keys[shard][turn%10], shard)
		})
		l.every(ctx, workers, pace, func(int) { l.request(n, control, "", 0) })
		l.every(ctx, workers, paceOfTight, func(turn int) {
			if keys := *l.tight.Load(); len(keys) > 0 {
				k := keys[turn%len(keys)]
				l.request(n, tight, k.name, k.shard)
			}
		})
	}
	l.every(ctx, workers, paceOfLate, func(int) {
		begin := time.Now()
		<-time.After(paceOfLate)
		late := time.Since(begin) - paceOfLate
		l.mu.Lock()
		defer l.mu.Unlock()
		l.late = max(l.late, late)
	})
}

// every calls do at a pace while the load runs. It leaves out calls that come too late.
func (l *load) every(ctx context.Context, workers *sync.WaitGroup, pace time.Duration, do func(turn int)) {
	workers.Go(func() {
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for turn := 0; ; turn++ {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			l.running.RLock()
			if ctx.Err() == nil {
				do(turn)
			}
			l.running.RUnlock()
		}
	})
}

func (l *load) pause() {
	l.running.Lock()
	l.paused = true
}

// resume ends a pause. It does nothing if the load runs: a test that has failed in the middle may call it
// then.
func (l *load) resume() {
	if l.paused {
		l.paused = false
		l.running.Unlock()
	}
}

// request sends a request.
func (l *load) request(node int, p path, key string, shard int) sample {
	s := sample{node: node, path: p, key: key, shard: shard, begin: time.Now()}
	var header http.Header
	for range 2 { // a reload replaces the server, which may close a connection while a request arrives
		s.status, header, s.err = l.node(node).Get(string(p), "X-Api-Key: "+key)
		if !errors.Is(s.err, io.EOF) && !errors.Is(s.err, syscall.ECONNRESET) {
			break
		}
	}
	s.took = time.Since(s.begin)
	s.degraded = header.Get("X-RateLimit-Policy") == "degraded"
	l.mu.Lock()
	defer l.mu.Unlock()
	l.samples = append(l.samples, s)
	return s
}

func (l *load) node(number int) *nodetest.Node {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.nodes[number]
}

// add adds a node that gets no load, and returns its number.
func (l *load) add(n *nodetest.Node) (number int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nodes = append(l.nodes, n)
	return len(l.nodes) - 1
}

// taken returns the samples since the last call, and how late this process was.
func (l *load) taken() (samples []sample, late time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	samples, late = l.samples, l.late
	l.samples, l.late = nil, 0
	return samples, late
}

// since returns the samples of requests that began at or after an instant.
func (l *load) since(begin time.Time) (samples []sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.samples {
		if !s.begin.Before(begin) {
			samples = append(samples, s)
		}
	}
	return samples
}
