package placeholder

import "sync"

// maxKnown is the highest number of results in a memo. A configuration has few names, but each may be
// in many zones.
const maxKnown = 1000

// A memo keeps the results of compute, by the names that are its arguments.
type memo[V any] struct {
	compute func(name string) V

	mu    sync.Mutex // guards known
	known map[string]V
}

// value returns the result of compute for a name.
func (m *memo[V]) value(name string) V {
	m.mu.Lock()
	v, found := m.known[name]
	m.mu.Unlock()
	if found {
		return v
	}
	v = m.compute(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) == maxKnown {
		m.known = make(map[string]V)
	}
	m.known[name] = v
	return v
}
