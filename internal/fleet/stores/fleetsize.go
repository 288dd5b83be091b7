package stores

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/fleet/membership"
)

// A keptSize keeps the number of nodes of a fleet in Caddy's storage. A node that starts while Redis is
// down reads it there. A keptSize outlives configurations, and uses the storage of the newest one.
type keptSize struct {
	key     string
	current func() (nodes int, known bool)
	failed  func(error) // called when the storage begins to fail

	storage atomic.Pointer[Storage]
	wake    chan struct{} // has a value after a change of storage
	kept    atomic.Int64  // the number in the storage; 0 if it is unknown or there is none
	failing bool          // the last update failed; only run uses it
}

// Storage is what stores need of Caddy's storage.
type Storage interface {
	Store(ctx context.Context, key string, value []byte) error
	Load(ctx context.Context, key string) ([]byte, error)
}

// newKeptSize returns the kept size of the fleet that shares a store. It has no storage yet.
func newKeptSize(store, prefix string, current func() (int, bool), failed func(error)) *keptSize {
	sum := sha256.Sum256([]byte(store + "\n" + prefix))
	return &keptSize{
		key: "rate_limit/nodes/" + hex.EncodeToString(sum[:8]), current: current, failed: failed, wake: make(chan struct{}, 1),
	}
}

// use sets the storage that keeps the size. It does nothing if storage is nil.
func (k *keptSize) use(storage Storage) {
	if storage == nil {
		return
	}
	k.storage.Store(&storage)
	select {
	case k.wake <- struct{}{}:
	default: // run has not handled the last wake yet
	}
}

// unknownNodes is the number of nodes that share the limits in an outage if the size of the fleet is
// unknown: Redis has not answered since this node started, and the storage has no size.
const unknownNodes = 200

// inOutage returns the number of nodes that share the limits in an outage.
func (k *keptSize) inOutage() int {
	if n, known := k.current(); known {
		return n
	}
	if n := k.kept.Load(); n > 0 {
		return int(n)
	}
	return unknownNodes
}

// run reads the size once, and writes it after each change, until ctx ends. It has a goroutine of its
// own, so no request waits for the storage.
func (k *keptSize) run(ctx context.Context) {
	ticker := time.NewTicker(membership.Interval)
	defer ticker.Stop()
	for {
		if storage := k.storage.Load(); storage != nil {
			within, cancel := context.WithTimeout(ctx, membership.Interval)
			k.update(within, *storage)
			cancel()
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-k.wake:
		}
	}
}

// update writes the size to the storage if it has changed. If the size is unknown, update reads it from
// the storage.
func (k *keptSize) update(ctx context.Context, storage Storage) {
	nodes, known := k.current()
	var err error
	switch {
	case known && int64(nodes) != k.kept.Load():
		if err = storage.Store(ctx, k.key, strconv.AppendInt(nil, int64(nodes), 10)); err == nil {
			k.kept.Store(int64(nodes))
		}
	case !known && k.kept.Load() == 0:
		err = k.read(ctx, storage)
	}
	if err != nil && !k.failing && ctx.Err() == nil {
		k.failed(err)
	}
	k.failing = err != nil
}

// read reads the size from the storage. It ignores a text that is no size.
func (k *keptSize) read(ctx context.Context, storage Storage) error {
	text, err := storage.Load(ctx, k.key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if nodes, bad := strconv.ParseInt(string(text), 10, 64); err == nil && bad == nil && nodes > 0 && nodes <= config.MaxNodes {
		k.kept.Store(nodes)
	}
	return err
}
