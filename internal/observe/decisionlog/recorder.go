package decisionlog

import (
	"context"
	"errors"
	"time"
)

const (
	recordEvery  = time.Second // so that a node records at most [room] decisions a second
	perWrite     = 1000        // records
	writeTimeout = 5 * time.Second
	closeTimeout = 2 * time.Second // for what is left at the end
	tidyEvery    = time.Minute
)

// A Recorder hands records to a sink, in the background. Records that the sink does not take wait
// for it. While they do, there is room for some more, and the others are dropped.
type Recorder struct {
	sink     sink
	observer Observer

	queue  queue
	number uint64 // of the newest record of batch

	// Only the loop uses these.
	batch   []Record // not written yet, the oldest first
	failing bool
	tidied  time.Time // when the sink has removed old records last

	stop    context.CancelFunc
	stopped chan struct{}
}

// A sink is where records go.
type sink interface {
	name() string

	// write writes records, all of them or none. If it has failed with an error that is not final, it
	// is called again with the same records.
	write(ctx context.Context, records []Record) (final bool, err error)

	// tidy removes old records, and reports whether there may be more.
	tidy(ctx context.Context) (more bool, err error)

	close()
}

// newRecorder returns a recorder that runs until it is closed. It writes this often.
func newRecorder(s sink, o Observer, every time.Duration) *Recorder {
	ctx, stop := context.WithCancel(context.Background())
	r := &Recorder{sink: s, observer: o, tidied: time.Now(), stop: stop, stopped: make(chan struct{})}
	go func() {
		defer close(r.stopped)
		r.run(ctx, every)
	}()
	return r
}

// Full reports whether there is no room for a record, and counts a dropped one then. repeated says
// that the record repeats what others say.
func (r *Recorder) Full(repeated bool) bool { return r.queue.full(repeated) }

// Put hands over a record, or drops it if there is no room.
func (r *Recorder) Put(record Record) { r.queue.put(record) }

// Close writes what is left, unless that takes too long.
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
				r.record(last) // what has come in behind a batch that waited
			}
			cancel()
			r.observer.DecisionsRecorded(r.sink.name(), 0, uint64(len(r.batch)+len(r.queue.take())))
			r.sink.close()
			return
		}
	}
}

// record writes the batch and, when there is none, makes one of what has come in.
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
		if ctx.Err() == nil { // else the recorder is closed
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
		r.batch = nil // the array goes
	}
	r.observer.DecisionsRecorded(r.sink.name(), uint64(recorded), uint64(dropped))
}

func (r *Recorder) write(ctx context.Context, records []Record) (final bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return r.sink.write(ctx, records)
}

// tidy removes some old records now and then, and goes on in the next round when there may be more.
func (r *Recorder) tidy(ctx context.Context) {
	now := time.Now()
	if r.failing || now.Sub(r.tidied) < tidyEvery {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	more, err := r.sink.tidy(ctx)
	if errors.Is(err, context.Canceled) { // the recorder is closed
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
