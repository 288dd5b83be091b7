package decisionlog

import (
	"slices"
	"sync/atomic"
)

// A queue holds records until its reader takes all of them. put takes no lock and never waits: a
// record that finds no room is dropped and counted.
type queue struct {
	newest  atomic.Pointer[queued]
	length  atomic.Int64
	dropped atomic.Uint64
}

type queued struct {
	Record
	before *queued
}

// A queue has room for this many records. A record that repeats other records is dropped when the
// queue has roomForRepeated or more, so that repetitions leave room for records that say something
// new.
const (
	room            = 5000
	roomForRepeated = room / 2
)

// full reports whether there is no room for a record. If there is none, full counts a dropped
// record, so the caller need not make one.
func (q *queue) full(repeated bool) bool {
	most := int64(room)
	if repeated {
		most = roomForRepeated
	}
	full := q.length.Load() >= most
	if full {
		q.dropped.Add(1)
	}
	return full
}

// put adds a record, or drops it if there is no room.
func (q *queue) put(r Record) {
	if q.length.Add(1) > room {
		q.length.Add(-1)
		q.dropped.Add(1)
		return
	}
	added := &queued{Record: r}
	for {
		added.before = q.newest.Load()
		if q.newest.CompareAndSwap(added.before, added) {
			return
		}
	}
}

// take removes all records, and returns them in the order in which they were put.
func (q *queue) take() (records []Record) {
	for r := q.newest.Swap(nil); r != nil; r = r.before {
		records = append(records, r.Record)
	}
	q.length.Add(-int64(len(records)))
	slices.Reverse(records)
	return records
}
