package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CheckTierNames refuses tiers whose names differ only in case, because the application that sets
// the tier of a request may mean either of them.
func CheckTierNames(tiers map[string]*Tier) error {
	seen := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(tiers)) {
		folded := strings.ToLower(name)
		if other, found := seen[folded]; found {
			return fmt.Errorf("the tiers %q and %q differ only in case: use one of them, spelled as in what sets the tier",
				other, name)
		}
		seen[folded] = name
	}
	return nil
}
