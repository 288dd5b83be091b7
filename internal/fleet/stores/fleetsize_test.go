package stores

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/fleet/membership"
)

// A fakeStorage is a storage in memory. The test cannot use files, because it runs in a bubble.
type fakeStorage struct {
	mu     sync.Mutex
	values map[string]string
	err    error
	writes int
}

func (f *fakeStorage) Store(_ context.Context, key string, value []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.values[key] = string(value)
		f.writes++
	}
	return f.err
}

func (f *fakeStorage) Load(_ context.Context, key string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	value, found := f.values[key]
	if !found && f.err == nil {
		return nil, fs.ErrNotExist
	}
	return []byte(value), f.err
}

// A fakeFleet has a number of nodes, which the node under test may know.
type fakeFleet struct {
	mu    sync.Mutex
	nodes int // 0 if the number is not known
}

func (f *fakeFleet) current() (nodes int, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return max(1, f.nodes), f.nodes > 0
}

func (f *fakeFleet) set(nodes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes = nodes
}

// runKeptSize runs the kept size of a node that starts. It returns the kept size and a function that
// ends it.
func runKeptSize(fleet *fakeFleet, storage *fakeStorage, warnings *int) (k *keptSize, end func()) {
	k = newKeptSize("redis standalone 192.0.2.1:6379", "rl", fleet.current, func(error) { *warnings++ })
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.run(ctx)
	}()
	k.use(storage)
	synctest.Wait()
	return k, func() { cancel(); <-done }
}

// TestKeptSize has a node learn the size of its fleet, and start again while Redis is down.
func TestKeptSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage, warnings := &fakeStorage{values: make(map[string]string)}, 0
		check := func(when string, k *keptSize, want, writes int) {
			t.Helper()
			synctest.Wait()
			if got := k.inOutage(); got != want || storage.writes != writes || warnings != 0 {
				t.Errorf("%s: nodes in an outage = %d after %d writes, with %d warnings; want %d after %d", when, got, storage.writes, warnings, want, writes)
			}
		}
		fleet := new(fakeFleet)
		k, end := runKeptSize(fleet, storage, &warnings)
		check("nothing is known", k, unknownNodes, 0)
		fleet.set(20)
		time.Sleep(membership.Interval)
		check("20 nodes", k, 20, 1)
		fleet.set(7)
		time.Sleep(10 * membership.Interval)
		check("7 nodes for long", k, 7, 2)
		end()

		fleet.set(0)
		k, end = runKeptSize(fleet, storage, &warnings)
		check("after a restart", k, 7, 2)
		fleet.set(9)
		check("before it is written", k, 9, 2)
		end()

		for key := range storage.values {
			storage.values[key] = "-5 nodes"
		}
		fleet.set(0)
		k, end = runKeptSize(fleet, storage, &warnings)
		check("after something else was written", k, unknownNodes, 2)
		end()
	})
}

// TestKeptSizeWithoutStorage has a storage that fails. One warning says so, until the storage works
// again.
func TestKeptSizeWithoutStorage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet, storage, warnings := &fakeFleet{nodes: 4}, &fakeStorage{values: make(map[string]string), err: errors.New("read-only")}, 0
		k, end := runKeptSize(fleet, storage, &warnings)
		defer end()
		time.Sleep(10 * membership.Interval)
		synctest.Wait()
		if n := k.inOutage(); n != 4 || warnings != 1 {
			t.Errorf("nodes = %d with %d warnings, want 4 with one", n, warnings)
		}
		storage.mu.Lock()
		storage.err = nil
		storage.mu.Unlock()
		time.Sleep(membership.Interval)
		synctest.Wait()
		if storage.writes != 1 {
			t.Errorf("writes = %d, want one", storage.writes)
		}
	})
}
