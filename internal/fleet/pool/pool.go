// Package pool keeps what outlives a configuration of Caddy, such as counts and connections. A
// reload provisions the new configuration, which acquires what both have, before the old one
// releases it.
package pool

import "github.com/caddyserver/caddy/v2"

// A Pool holds values by key, as long as any configuration has acquired them. It is safe for
// concurrent use.
type Pool[K comparable, V interface{ Close() }] struct {
	values *caddy.UsagePool // of closer[V]
}

// New returns an empty pool.
func New[K comparable, V interface{ Close() }]() Pool[K, V] { return Pool[K, V]{caddy.NewUsagePool()} }

// Acquire returns the value of key, which open makes if it is not there, and a function that
// releases it. The last release closes the value.
func (p Pool[K, V]) Acquire(key K, open func() V) (value V, release func()) {
	v, _, _ := p.values.LoadOrNew(key, func() (caddy.Destructor, error) { return closer[V]{open()}, nil })
	return v.(closer[V]).value, func() { _, _ = p.values.Delete(key) }
}

// Get returns the value of key, or the zero value if nobody has acquired it.
func (p Pool[K, V]) Get(key K) (value V) {
	p.values.Range(func(k, v any) bool {
		if k == key {
			value = v.(closer[V]).value
		}
		return k != key
	})
	return value
}

// All returns the values in any order.
func (p Pool[K, V]) All() (all []V) {
	p.values.Range(func(_, v any) bool {
		all = append(all, v.(closer[V]).value)
		return true
	})
	return all
}

// A closer is a value in Caddy's pool.
type closer[V interface{ Close() }] struct{ value V }

// Destruct implements caddy.Destructor.
func (c closer[V]) Destruct() error {
	c.value.Close()
	return nil
}
