package zone

import (
	"fmt"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/limiter"
)

const (
	// defaultMemory is the memory of a zone whose counts may take more than others: room for
	// limiter.DefaultMaxKeys of any count that stands in an entry of its table.
	defaultMemory config.Size = 512_000_000

	// entryBytes is the most that the entry of a key takes, without its count.
	entryBytes = 320

	// accountBytes is what a node knows of a key whose counts are in Redis.
	accountBytes = 128
)

// boundMemory bounds the keys of the zone, whose rules are compiled, so that they fit into its
// memory, and notes that. It reports whether the rules must be compiled again, with fewer keys.
func (b *ruleBuilder) boundMemory() (fewer bool) {
	perKey := int64(accountBytes)
	if b.set.Check == nil { // the counts are in this process
		for _, r := range b.compiled {
			if r.Rule != nil {
				perKey = max(perKey, r.Algorithm.CountBytes(r.Limit.Events))
			}
		}
	}
	perKey += entryBytes
	keys, memory := int64(b.maxKeys()), b.zone.MaxMemory
	if memory == 0 && b.zone.MaxKeys == 0 {
		memory = defaultMemory
	}
	switch fits := max(1, int64(memory)/perKey); {
	case memory == 0 && keys > int64(defaultMemory)/perKey:
		b.memory = fmt.Sprintf("its keys may take %v, as max_keys is %d and each may take %v: use max_memory for a bound",
			config.Size(keys*perKey), keys, config.Size(perKey))
	case memory > 0 && fits < keys:
		b.fewerKeys = int(fits)
		b.memory = fmt.Sprintf("it remembers at most %d keys in %v, as each may take %v: use a larger max_memory if more are active",
			fits, memory, config.Size(perKey))
	}
	return b.fewerKeys > 0
}

// maxKeys returns how many keys the zone remembers.
func (b *ruleBuilder) maxKeys() int {
	switch {
	case b.fewerKeys != 0:
		return b.fewerKeys
	case b.zone.MaxKeys != 0:
		return b.zone.MaxKeys
	}
	return limiter.DefaultMaxKeys
}
