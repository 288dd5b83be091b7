package config

import (
	"fmt"

	"github.com/fleetlimit/fleetlimit/internal/key/ipset"
)

// Translated returns the prefixes of the setting nat64.
func (a *App) Translated() (prefixes ipset.Translated, err error) {
	for _, text := range a.NAT64 {
		if prefixes, err = prefixes.Append(text); err != nil {
			return nil, fmt.Errorf("nat64: %w", err)
		}
	}
	return prefixes, nil
}
