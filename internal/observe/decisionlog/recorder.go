package decisionlog

import (
	"context"
	"errors"
	"time"
)

const (
	recordEvery  = time.Second // so a node records at most [room] decisions a second
	perWrite     = 1000        // records in one write
	writeTimeout = 5 * time.Second
	closeTimeout = 2 * time.Second // for the last writes of a recorder that is closed
	tidyEvery    = time.Minute
)

// A Recorder hands records to a sink in the background. If the sink fails, its records wait and are
// written again. Meanwhile the queue takes new records while it has room, and drops the others.
type Recorder struct {
	sink     sink
	observer Observer

	queue  queue
	number uint64 // of the newest record in batch

	// Only the goroutine of run uses these.
	batch   []Record // records that are not written yet, the oldest first
	failing bool
	tidied  time.Time // when tidy has last removed all old records

	stop    context.CancelFunc
	stopped chan struct{}
}

// A sink writes records somewhere.
type sink interface {
	name() string

	// write writes all records, or none of them. If it returns an error and final is false, the
	// recorder calls it again with the same records.
	write(ctx context.Context, records []Record) (final bool, err error)

	// tidy removes some old records, and reports whether there may be more.
	tidy(ctx context.Context) (more bool, err error)

	close()
}

// newRecorder returns a recorder that writes once in every interval, until it is closed.
func newRecorder(s sink, o Observer, every time.Duration) *Recorder {
	ctx, stop := context.WithCancel(context.Background())
	r := &Recorder{sink: s, observer: o, tidied: time.Now(), stop: stop, stopped: make(chan struct{})}
	go func() {
		defer close(r.stopped)
		r.run(ctx, every)
	}()
	return r
}

// Full reports whether there is no room for a record. If there is none, Full counts a dropped
// record. repeated says that the record repeats other records.
func (r *Recorder) Full(repeated bool) bool { return r.queue.full(repeated) }

// Put hands a record to the sink, or drops it if there is no room.
func (r *Recorder) Put(record Record) { r.queue.put(record) }

// Close writes the records that are left. It drops those that it cannot write within closeTimeout.
func (r *Recorder) Close() {
	r.stop()
	<-r.stopped
}

func (r *Recorder) run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.record(ctx)
			r.tidy(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
			r.record(last)
			if len(r.batch) == 0 {
				r.record(last) // records that came in while an older batch waited
			}
			cancel()
			r.observer.DecisionsRecorded(r.sink.name(), 0, uint64(len(r.batch)+len(r.queue.take())))
			r.sink.close()
			return
		}
	}
}

// record writes the batch. If there is none, it makes one of the queued records first.
func (r *Recorder) record(ctx context.Context) {
	if len(r.batch) == 0 {
		r.batch = r.queue.take()
		for i := range r.batch {
			r.number++
			r.batch[i].Number = r.number
		}
	}
	recorded, dropped := 0, int(r.queue.dropped.Swap(0))
	for len(r.batch) > 0 {
		n := min(len(r.batch), perWrite)
		final, err := r.write(ctx, r.batch[:n])
		if ctx.Err() == nil { // otherwise the recorder is being closed
			r.note(err)
		}
		switch {
		case err == nil:
			recorded += n
		case final:
			dropped += n
		default:
			n = 0
		}
		if r.batch = r.batch[n:]; n == 0 {
			break
		}
	}
	if len(r.batch) == 0 {
		r.batch = nil // frees the array
	}
	r.observer.DecisionsRecorded(r.sink.name(), uint64(recorded), uint64(dropped))
}

func (r *Recorder) write(ctx context.Context, records []Record) (final bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return r.sink.write(ctx, records)
}

// tidy removes old records once in tidyEvery. If there may be more of them, it goes on at the next
// call.
func (r *Recorder) tidy(ctx context.Context) {
	now := time.Now()
	if r.failing || now.Sub(r.tidied) < tidyEvery {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	more, err := r.sink.tidy(ctx)
	if errors.Is(err, context.Canceled) { // the recorder is being closed
		return
	}
	r.note(err)
	if !more {
		r.tidied = now
	}
}

// note tells the observer when the sink begins to fail, and when it works again.
func (r *Recorder) note(err error) {
	switch {
	case err != nil && !r.failing:
		r.observer.RecordingFailed(r.sink.name(), err)
	case err == nil && r.failing:
		r.observer.RecordingRecovered(r.sink.name())
	}
	r.failing = err != nil
}
