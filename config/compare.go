package config

import (
	"errors"
	"fmt"
)

// Comparison decides the requests of a zone once more, with another limit or algorithm and with
// counts of its own. The rest of the zone stays the same: endpoints and tiers keep the limits and
// algorithms that they set themselves, but without their bursts if the other algorithm has none.
type Comparison struct {
	// Compares the requests of this fraction of keys, above 0 and up to 1, or percentage, such as
	// `10%`. All nodes choose the same keys. Default: 1.
	Keys *Fraction `json:"keys,omitempty"`

	// Replaces the zone's limit in the comparison. Default: the zone's limit.
	Limit *Limit `json:"limit,omitempty"`

	// Replaces the zone's algorithm in the comparison. Default: the zone's algorithm.
	Algorithm *Algorithm `json:"algorithm,omitempty"`
}

// Check refuses a comparison that has neither a limit nor an algorithm, or in which the keys or the
// limit are wrong.
func (c *Comparison) Check() error {
	if c.Limit == nil && c.Algorithm == nil {
		return errors.New("there is nothing to compare with: use `limit`, `algorithm` or both")
	}
	if k := c.Keys; k != nil && !(*k > 0 && *k <= 1) { // NaN is refused, too
		return fmt.Errorf("keys is %v: use a fraction above 0 and up to 1, such as 0.1 for 10%%", *k)
	}
	if c.Limit != nil {
		return c.Limit.Check()
	}
	return nil
}

// ParseComparison parses a comparison from texts, which are "" if they are left out. It returns nil
// if keys is 0%.
func ParseComparison(keys, limit, algorithm string) (*Comparison, error) {
	c := new(Comparison)
	if keys != "" {
		share, err := ParseShareOfKeys(keys)
		if err != nil {
			return nil, fmt.Errorf("keys: %w", err)
		}
		if share == 0 {
			return nil, nil
		}
		c.Keys = (*Fraction)(&share)
	}
	var err error
	if limit != "" {
		if c.Limit, err = ParseLimit(limit); err != nil {
			return nil, fmt.Errorf("limit: %w", err)
		}
	}
	if algorithm != "" {
		if c.Algorithm, err = ParseAlgorithm(algorithm); err != nil {
			return nil, fmt.Errorf("algorithm: %w", err)
		}
	}
	return c, nil
}
