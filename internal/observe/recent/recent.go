// Package recent remembers the decisions of the last hour, for those who want to try another limit on
// them. It remembers nothing before somebody asks, and a bounded number then.
//
// It samples keys, not decisions: of a key in the sample it has all decisions, so that what a limit
// does to the key can be told. When the memory is full, the sample is halved.
package recent

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
)

const (
	// Span is for how long decisions are remembered, in µs. So long after the last question, nothing
	// is remembered any more.
	Span = 3600 * 1_000_000

	// Most is how many decisions are remembered, of 32 bytes each.
	Most = 1 << 15
)

// A Decision is one request of a key. It is remembered whether it was admitted or not.
type Decision struct {
	Key   uint64 // the hash of the key
	At    int64  // µs since 1970
	Cost  int64
	Count uint32 // the number of the counts that it was charged to
	Place uint32 // the number of the endpoint and the tier
}

// A Memory remembers decisions. The zero value remembers nothing.
type Memory struct {
	until atomic.Int64  // µs; 0 if nobody has asked
	skip  atomic.Uint64 // keys whose hash has one of these bits are not in the sample

	mu    sync.Mutex
	seed  maphash.Seed
	since int64 // from when on all decisions of the sample are remembered
	all   []Decision
}

// On reports whether decisions are remembered. It is all that a decision costs if not.
func (m *Memory) On() bool { return m.until.Load() != 0 }

// Want has decisions be remembered from now on, for Span.
func (m *Memory) Want(now int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.until.Load() < now {
		m.seed, m.since, m.all = maphash.MakeSeed(), now, nil
		m.skip.Store(0)
	}
	m.until.Store(now + Span)
}

// Add remembers a decision about a key, if that is in the sample. It is called only while On.
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
			return // it is in the half that was left out
		}
	}
	m.all = append(m.all, d)
}

// makeRoomLocked forgets a quarter of the decisions at least: those that are older than Span, then half
// of the keys, and if few keys have most decisions, the older half.
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

// hasManyKeysLocked reports whether there are more than leastKeys: a sample of fewer says little.
func (m *Memory) hasManyKeysLocked() bool {
	keys := make(map[uint64]bool)
	for _, d := range m.all {
		if keys[d.Key] = true; len(keys) > leastKeys {
			return true
		}
	}
	return false
}

// leastKeys is the number of keys from which on a sample of keys is halved.
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

// A View is what is remembered.
type View struct {
	Since     int64      // from when on, in µs
	Part      float64    // of the keys that are in the sample
	Decisions []Decision // in the order of their instants
}

// View returns what is remembered now.
func (m *Memory) View(now int64) View {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgetOldLocked(now)
	v := View{Since: m.since, Part: 1 / float64(m.skip.Load()+1), Decisions: slices.Clone(m.all)}
	slices.SortStableFunc(v.Decisions, byTime)
	return v
}
