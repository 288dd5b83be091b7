package rulestoretest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/rules"
)

// Crash tests that a store loses nothing that it has acknowledged. kill ends the server that keeps
// the versions without a warning, and starts it again.
func Crash(t *testing.T, fixture Fixture, kill func()) {
	s := &suite{T: t, Fixture: fixture}
	store := s.open()
	writing, stop := context.WithCancel(s.Context())
	var acknowledged atomic.Int64
	var writer sync.WaitGroup
	defer func() { stop(); writer.Wait() }()
	enough := make(chan struct{})
	writer.Go(func() { // writes until the crash
		for n := int64(1); ; n++ {
			if err := store.Write(writing, Version(n), n-1); err != nil {
				return
			}
			if acknowledged.Store(n); n == 10 {
				close(enough)
			}
		}
	})
	select {
	case <-enough:
	case <-time.After(patience):
		s.Fatal("the writer has not written ten versions")
	}
	kill()
	other := s.open()
	var v *rules.Version
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		var err error
		if v, err = other.Latest(s.Context()); err == nil {
			break
		}
		if time.Since(began) > patience {
			s.Fatalf("the store has not come back: %v", err)
		}
	}
	stop() // a writer may have found its server again
	writer.Wait()
	last := acknowledged.Load()
	if v.Number < 10 {
		s.Errorf("the newest version after the crash = %d, want 10 or more", v.Number)
	}
	v = s.latest(other)
	if v.Number != last && v.Number != last+1 { // the last one may have been written without an answer
		s.Errorf("the newest version = %d, want the acknowledged %d or one more", v.Number, last)
	}
	s.equal("the newest version", v, Version(v.Number))
	for n := last; n > last-10; n-- {
		s.mustHave(other, Version(n))
	}
	s.write(other, Version(v.Number+1), v.Number)
}
