package rulestore

import (
	"context"
	"sync"
)

// A background runs functions in the background, one at a time, until it is closed.
type background struct {
	ctx  context.Context // ends with close
	stop context.CancelFunc

	mu      sync.Mutex
	running bool // guarded by mu
	group   sync.WaitGroup
}

func newBackground() *background {
	b := new(background)
	b.ctx, b.stop = context.WithCancel(context.Background())
	return b
}

// run begins to run f, unless another function is running.
func (b *background) run(f func(context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running || b.ctx.Err() != nil {
		return
	}
	b.running = true
	b.group.Go(func() {
		f(b.ctx)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.running = false
	})
}

// close ends the function that is running, and waits for it.
func (b *background) close() {
	b.mu.Lock()
	b.stop()
	b.mu.Unlock()
	b.group.Wait()
}
