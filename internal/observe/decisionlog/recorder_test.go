package decisionlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

// A testSink keeps the records that it is given. It fails or hangs if the test sets so.
type testSink struct {
	mu      sync.Mutex
	numbers []uint64
	zones   []string
	err     error
	final   bool
	hangs   bool
	old     int // how many calls of tidy find old records
	tidied  int
	closed  bool
}

func (*testSink) name() string { return "test" }

func (s *testSink) write(ctx context.Context, records []Record) (final bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hangs {
		<-ctx.Done()
		return false, ctx.Err()
	}
	if s.err != nil {
		return s.final, s.err
	}
	for _, r := range records {
		s.numbers, s.zones = append(s.numbers, r.Number), append(s.zones, r.Zone)
	}
	return true, nil
}

func (s *testSink) tidy(context.Context) (more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tidied++
	s.old--
	return s.old > 0, nil
}

func (s *testSink) close() { s.closed = true }

// change calls f, which changes the sink, while the recorder does not use the sink.
func (s *testSink) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// A testObserver counts what it is told.
type testObserver struct {
	mu                sync.Mutex
	recorded, dropped uint64
	told              []string
}

func (*testObserver) LogDecision(*Record) {}

func (o *testObserver) DecisionsRecorded(_ string, recorded, dropped uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.recorded += recorded
	o.dropped += dropped
}

func (o *testObserver) RecordingFailed(_ string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = append(o.told, err.Error())
}

func (o *testObserver) RecordingRecovered(string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = append(o.told, "recovered")
}

func (o *testObserver) is(t *testing.T, recorded, dropped uint64, told string) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.recorded != recorded || o.dropped != dropped || fmt.Sprint(o.told) != told {
		t.Errorf("%d recorded, %d dropped, told %v; want %d, %d, %s", o.recorded, o.dropped, o.told, recorded, dropped, told)
	}
}

func put(r *Recorder, n int, repeated bool) {
	for i := range n {
		if !r.Full(repeated) {
			r.Put(Record{Decision: &api.Decision{Zone: fmt.Sprint(i)}})
		}
	}
}

// inBubble runs f with a recorder that writes each second.
func inBubble(t *testing.T, f func(t *testing.T, r *Recorder, s *testSink, o *testObserver)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, o := new(testSink), new(testObserver)
		r := newRecorder(s, o, time.Second)
		f(t, r, s, o)
		r.Close()
		if !s.closed {
			t.Error("the sink is not closed")
		}
	})
}

func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestRecordsInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, r *Recorder, s *testSink, o *testObserver) {
		put(r, 2500, false)
		o.is(t, 0, 0, "[]")
		after(time.Second)
		o.is(t, 2500, 0, "[]")
		for i, n := range s.numbers {
			if n != uint64(i+1) || s.zones[i] != fmt.Sprint(i) {
				t.Fatalf("record %d has number %d and zone %s", i, n, s.zones[i])
			}
		}
	})
}

// When too many records come in a second, those that repeat others are dropped first.
func TestRoomIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, r *Recorder, _ *testSink, o *testObserver) {
		put(r, 10_000, true)
		put(r, 2000, false)
		after(time.Second)
		o.is(t, 4500, 7500, "[]")
		put(r, 6000, false)
		after(time.Second)
		o.is(t, 9500, 8500, "[]")
	})
}

// A sink that has failed gets the failed records again. The queue has room for new records
// meanwhile.
func TestFailingSink(t *testing.T) {
	inBubble(t, func(t *testing.T, r *Recorder, s *testSink, o *testObserver) {
		s.change(func() { s.err = errors.New("refused") })
		put(r, 10, false)
		after(10 * time.Second)
		o.is(t, 0, 0, "[refused]")
		put(r, 6000, false)
		after(10 * time.Second)
		o.is(t, 0, 1000, "[refused]")
		s.change(func() { s.err = nil })
		after(2 * time.Second)
		o.is(t, 5010, 1000, "[refused recovered]")
		if s.numbers[0] != 1 || s.numbers[5009] != 5010 {
			t.Errorf("numbers from %d to %d, want all once", s.numbers[0], s.numbers[5009])
		}
	})
}

// The recorder does not write records again that the sink has refused for good.
func TestRefusedRecords(t *testing.T) {
	inBubble(t, func(t *testing.T, r *Recorder, s *testSink, o *testObserver) {
		s.change(func() { s.err, s.final = errors.New("invalid text"), true })
		put(r, 10, false)
		after(time.Second)
		o.is(t, 0, 10, "[invalid text]")
		s.change(func() { s.err = nil })
		put(r, 10, false)
		after(time.Second)
		o.is(t, 10, 10, "[invalid text recovered]")
	})
}

// A write to a sink that hangs ends after writeTimeout and is tried again. Close waits for such a
// sink only a moment.
func TestHangingSink(t *testing.T) {
	inBubble(t, func(t *testing.T, r *Recorder, s *testSink, o *testObserver) {
		s.change(func() { s.hangs = true })
		put(r, 10, false)
		after(7 * time.Second)
		o.is(t, 0, 0, "[context deadline exceeded]")
		put(r, 5, false)
		start := time.Now()
		r.Close()
		if waited := time.Since(start); waited > 2*closeTimeout {
			t.Errorf("Close waits %v", waited)
		}
		o.is(t, 0, 15, "[context deadline exceeded]")
	})
}

// Close writes the records that are left, and a cancelled write is no failure.
func TestCloseWritesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := new(testSink), new(testObserver)
		r := newRecorder(s, o, time.Second)
		put(r, 10, false)
		r.Close()
		o.is(t, 10, 0, "[]")
	})
}

// Old records are removed once a minute, and in each round while there are more.
func TestTidy(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *Recorder, s *testSink, _ *testObserver) {
		s.change(func() { s.old = 3 })
		for _, step := range []struct {
			after time.Duration
			want  int
		}{{59 * time.Second, 0}, {3 * time.Second, 3}, {50 * time.Second, 3}, {12 * time.Second, 4}} {
			after(step.after)
			s.change(func() {
				if s.tidied != step.want {
					t.Errorf("tidied %d times, want %d", s.tidied, step.want)
				}
			})
		}
	})
}

func TestQueueIsSafe(t *testing.T) {
	var q queue
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 2000 {
				if !q.full(false) {
					q.put(Record{})
				}
			}
		})
	}
	taken := 0
	for range 100 {
		taken += len(q.take())
	}
	group.Wait()
	taken += len(q.take())
	if dropped := q.dropped.Load(); taken+int(dropped) != 16_000 || q.length.Load() != 0 {
		t.Errorf("%d taken and %d dropped, want 16000 together; %d left", taken, dropped, q.length.Load())
	}
}

// Wants draws at random, except for the first rejection of a window.
func TestWants(t *testing.T) {
	const n = 100_000
	for _, tc := range []struct {
		admitted, rejected float64
		passes, first      bool
		least, most        int
	}{
		{0.01, 1, true, false, n / 125, n / 80}, {0.01, 1, false, false, n, n}, {0, 0, true, false, 0, 0},
		{0, 0, false, false, 0, 0}, {0, 0, false, true, n, n}, {1, 0, true, false, n, n}, {0, 0.5, false, false, n * 48 / 100, n * 52 / 100},
	} {
		l, wanted := &Log{admitted: tc.admitted, rejected: tc.rejected}, 0
		for range n {
			if l.Wants(tc.passes, tc.first) {
				wanted++
			}
		}
		if wanted < tc.least || wanted > tc.most {
			t.Errorf("%+v: %d wanted of %d", tc, wanted, n)
		}
	}
}
