// Package pool keeps values that outlive a configuration of Caddy, such as counts and connections. A
// reload provisions the new configuration before it ends the old one, so the new one acquires the
// values that both use before the old one releases them.
package pool

import "github.com/caddyserver/caddy/v2"

// A Pool holds values by their keys. It holds a value while some configuration uses it. A Pool is safe
// for concurrent use.
type Pool[K comparable, V interface{ Close() }] struct {
	values *caddy.UsagePool // of closer[V]
}

// New returns an empty pool.
func New[K comparable, V interface{ Close() }]() Pool[K, V] { return Pool[K, V]{caddy.NewUsagePool()} }

// Acquire returns the value of key, and a function that releases it. It calls open if the pool has no
// value of key. The last release closes the value.
func (p Pool[K, V]) Acquire(key K, open func() V) (value V, release func()) {
	v, _, _ := p.values.LoadOrNew(key, func() (caddy.Destructor, error) { return closer[V]{open()}, nil })
	return v.(closer[V]).value, func() { _, _ = p.values.Delete(key) }
}

// Get returns the value of key, or the zero value if no configuration uses one.
func (p Pool[K, V]) Get(key K) (value V) {
	p.values.Range(func(k, v any) bool {
		if k == key {
			value = v.(closer[V]).value
		}
		return k != key
	})
	return value
}

// All returns the values, in no particular order.
func (p Pool[K, V]) All() (all []V) {
	p.values.Range(func(_, v any) bool {
		all = append(all, v.(closer[V]).value)
		return true
	})
	return all
}

// A closer adapts a value to the interface of Caddy's pool.
type closer[V interface{ Close() }] struct{ value V }

// Destruct implements caddy.Destructor.
func (c closer[V]) Destruct() error {
	c.value.Close()
	return nil
}
