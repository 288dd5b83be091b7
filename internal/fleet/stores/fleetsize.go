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

// A keptSize keeps in Caddy's storage how many nodes a fleet has, for when this node starts again
// while Redis is down. It outlives configurations, and uses the storage of the newest one.
type keptSize struct {
	key     string
	current func() (nodes int, known bool)
	failed  func(error) // when the storage begins to fail

	storage atomic.Pointer[Storage]
	wake    chan struct{} // after a change of storage
	kept    atomic.Int64  // what the storage has, as far as is known; 0 if there is nothing
	failing bool          // belongs to run
}

// Storage is what stores need of Caddy's storage.
type Storage interface {
	Store(ctx context.Context, key string, value []byte) error
	Load(ctx context.Context, key string) ([]byte, error)
}

// newKeptSize returns the size of the fleet that shares a store, as it is kept in no storage yet.
func newKeptSize(store, prefix string, current func() (int, bool), failed func(error)) *keptSize {
	sum := sha256.Sum256([]byte(store + "\n" + prefix))
	return &keptSize{
		key: "rate_limit/nodes/" + hex.EncodeToString(sum[:8]), current: current, failed: failed, wake: make(chan struct{}, 1),
	}
}

// use has the size kept in another storage. If that is nil, it stays where it was.
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

// unknownNodes is how many nodes share the limits in an outage if the size of the fleet is unknown:
// Redis has not answered since this node started, and the storage has no size.
const unknownNodes = 200

// inOutage returns how many nodes share the limits in an outage.
func (k *keptSize) inOutage() int {
	if n, known := k.current(); known {
		return n
	}
	if n := k.kept.Load(); n > 0 {
		return int(n)
	}
	return unknownNodes
}

// run reads the size once, and writes it after each change, until ctx ends. No request waits for
// the storage.
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

// update reads the size from the storage if none is known, else it writes the one that has changed.
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

// read reads the size. A text that is no size counts as none.
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
