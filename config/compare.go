package config

import (
	"errors"
	"fmt"
)

// Comparison is what a zone would do with another limit or algorithm. The rest of the zone is the
// same, so endpoints and tiers keep what they set themselves, except that an algorithm without
// bursts leaves out theirs. Its counts are its own.
type Comparison struct {
	// Compares requests of this fraction of keys, above 0 to 1, or percentage, such as `10%`. The same
	// keys are meant on all nodes. Default: 1.
	Keys *Fraction `json:"keys,omitempty"`

	// Stands in place of the zone's limit. Default: the same.
	Limit *Limit `json:"limit,omitempty"`

	// Stands in place of the zone's algorithm. Default: the same.
	Algorithm *Algorithm `json:"algorithm,omitempty"`
}

// Check refuses a comparison with nothing, or with a limit that is wrong.
func (c *Comparison) Check() error {
	if c.Limit == nil && c.Algorithm == nil {
		return errors.New("there is nothing to compare with: use `limit`, `algorithm` or both")
	}
	if k := c.Keys; k != nil && !(*k > 0 && *k <= 1) { // nor NaN
		return fmt.Errorf("keys is %v: use a fraction above 0 and up to 1, such as 0.1 for 10%%", *k)
	}
	if c.Limit != nil {
		return c.Limit.Check()
	}
	return nil
}

// ParseComparison parses a comparison whose parts are texts, "" if they are left out. It is nil if
// that is with no keys.
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
