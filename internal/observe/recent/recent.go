// Package recent remembers the decisions of the last hour, so that an operator can try another
// limit on them. It remembers nothing before somebody asks, and a bounded number of decisions after
// that.
//
// It samples keys, not decisions: it remembers all decisions about a key in the sample, so that one
// can tell what another limit does to the key. When the memory is full, half of the keys leave the
// sample.
package recent

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
)

const (
	// Span is for how long a decision is remembered, in µs. If nobody asks for so long, decisions are
	// no longer remembered.
	Span = 3600 * 1_000_000

	// Most is the highest number of decisions in a memory. A decision has 32 bytes.
	Most = 1 << 15
)

// A Decision is a decision about a request of a key, admitted or not.
type Decision struct {
	Key   uint64 // the hash of the key
	At    int64  // µs since 1970
	Cost  int64
	Count uint32 // ID of the count that the request was charged to
	Place uint32 // number of the counters of its endpoint and tier, in the zone
}

// A Memory remembers decisions. The zero value remembers nothing.
type Memory struct {
	until atomic.Int64  // end of remembering, in µs since 1970; 0 if nothing is remembered
	skip  atomic.Uint64 // keys whose hash has one of these bits set are not in the sample

	mu    sync.Mutex
	seed  maphash.Seed
	since int64 // all decisions of the sample since then are remembered; µs since 1970
	all   []Decision
}

// On reports whether decisions are remembered. If not, callers do nothing else for a decision.
func (m *Memory) On() bool { return m.until.Load() != 0 }

// Want begins to remember decisions, and keeps doing so until Span after now.
func (m *Memory) Want(now int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.until.Load() < now {
		m.seed, m.since, m.all = maphash.MakeSeed(), now, nil
		m.skip.Store(0)
	}
	m.until.Store(now + Span)
}

// Add remembers a decision about a key if the key is in the sample. Callers check On before.
func (m *Memory) Add(key []byte, d Decision) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch until := m.until.Load(); {
	case until == 0:
		return
	case until < d.At:
		m.until.Store(0)
		m.all = nil
		return
	}
	d.Key = maphash.Bytes(m.seed, key)
	if d.Key&m.skip.Load() != 0 {
		return
	}
	if len(m.all) == Most {
		if m.makeRoomLocked(d.At); d.Key&m.skip.Load() != 0 {
			return // the key has just left the sample
		}
	}
	m.all = append(m.all, d)
}

// makeRoomLocked forgets at least a quarter of the decisions. It forgets those that are older than
// Span. If that is not enough, it forgets half of the keys. If there are too few keys for that, or
// most decisions are about few keys, it forgets the older half of the decisions.
func (m *Memory) makeRoomLocked(now int64) {
	const most = Most * 3 / 4
	m.forgetOldLocked(now)
	if len(m.all) > most && m.hasManyKeysLocked() {
		m.skip.Store(m.skip.Load()<<1 | 1)
		m.all = slices.DeleteFunc(m.all, func(d Decision) bool { return d.Key&m.skip.Load() != 0 })
	}
	if len(m.all) > most {
		slices.SortStableFunc(m.all, byTime)
		m.all = slices.Delete(m.all, 0, len(m.all)/2)
		m.since = max(m.since, m.all[0].At)
	}
}

// hasManyKeysLocked reports whether there are decisions about more than leastKeys keys.
func (m *Memory) hasManyKeysLocked() bool {
	keys := make(map[uint64]bool)
	for _, d := range m.all {
		if keys[d.Key] = true; len(keys) > leastKeys {
			return true
		}
	}
	return false
}

// leastKeys is the number of keys up to which a sample is not halved, because a smaller sample
// would say little.
const leastKeys = 16

func (m *Memory) forgetOldLocked(now int64) {
	if m.since < now-Span {
		m.since = now - Span
		m.all = slices.DeleteFunc(m.all, func(d Decision) bool { return d.At < m.since })
	}
}

func byTime(a, b Decision) int {
	switch {
	case a.At < b.At:
		return -1
	case a.At > b.At:
		return 1
	}
	return 0
}

// A View is the content of a memory.
type View struct {
	Since     int64      // the instant from which on all decisions of the sample are there, in µs since 1970
	Part      float64    // fraction of the keys that are in the sample
	Decisions []Decision // the oldest first
}

// View returns the content of the memory at now.
func (m *Memory) View(now int64) View {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgetOldLocked(now)
	v := View{Since: m.since, Part: 1 / float64(m.skip.Load()+1), Decisions: slices.Clone(m.all)}
	slices.SortStableFunc(v.Decisions, byTime)
	return v
}
