package memstore

import "time"

// DefaultSweepInterval is how often the store looks for keys to forget unless Options say otherwise.
const DefaultSweepInterval = 10 * time.Second

// Options are the settings of a [Store]. The zero value is ready to use.
type Options struct {
	// SweepInterval is the time between two sweeps of the whole store. Shorter ones give memory back sooner; counts do
	// not depend on it. 0 means DefaultSweepInterval.
	SweepInterval time.Duration

	// OnOverflow is called when a key has found no room in a zone, once per zone and minute. A
	// larger Rule.MaxKeys is the remedy. It is called by Take, which waits for it. Nil means that
	// nobody is told.
	OnOverflow func(zone string)
}

func (o Options) onOverflow() func(zone string) {
	if o.OnOverflow == nil {
		return func(string) {}
	}
	return o.OnOverflow
}

func (o Options) sweepInterval() time.Duration {
	if o.SweepInterval <= 0 {
		return DefaultSweepInterval
	}
	return o.SweepInterval
}
