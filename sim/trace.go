package sim

import "github.com/fleetlimit/fleetlimit/limiter"

// An Arrival is one request of a trace.
type Arrival struct {
	At   limiter.Instant // the instant at which the request arrived
	Key  Key
	Rule uint16 // index of its limit in a [Decider]; 0 if there is one limit
	Said Decision
	Cost int64 // events, at least 1
}

// A Decision is a decision of the gateway that a log records.
type Decision uint8

const (
	Unsaid Decision = iota
	Admitted
	Rejected
)

// A Key is the number of a key in [Keys]. The first key has number 0.
type Key uint32

// Keys give numbers to the keys of a trace, in the order in which they occur.
type Keys struct {
	numbers map[string]Key
	names   []string
}

// Number returns the number of a key. It keeps a copy of name if the key is new.
func (k *Keys) Number(name []byte) Key {
	if n, ok := k.numbers[string(name)]; ok {
		return n
	}
	if k.numbers == nil {
		k.numbers = make(map[string]Key)
	}
	n, s := Key(len(k.names)), string(name)
	k.numbers[s] = n
	k.names = append(k.names, s)
	return n
}

// Name returns the key with this number.
func (k *Keys) Name(n Key) string { return k.names[n] }

// at returns a pointer to the value of a key in values. It grows values if the key is new.
func at[T any](values *[]T, k Key) *T {
	for int(k) >= len(*values) {
		var none T
		*values = append(*values, none)
	}
	return &(*values)[k]
}
