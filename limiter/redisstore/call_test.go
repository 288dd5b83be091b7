package redisstore

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestScriptIsMadeOnce has many callers need the same script at the same time, as after a start.
func TestScriptIsMadeOnce(t *testing.T) {
	const callers = 64
	var made atomic.Int64
	begin := make(chan struct{})
	s := scripts{source: func([]limiter.Kind) string {
		made.Add(1)
		<-begin
		return "return 1"
	}}
	var all, ready sync.WaitGroup
	ready.Add(callers)
	for range callers {
		all.Go(func() {
			ready.Done()
			s.scriptFor([]limiter.Kind{limiter.TokenBucket})
		})
	}
	ready.Wait()
	close(begin)
	all.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("%d callers made the script %d times, want once", callers, n)
	}
}
