package evaluate

import (
	"fmt"
	"testing"
)

func TestUnknownTiersAreBounded(t *testing.T) {
	var u unknownTiers
	for _, step := range []struct {
		tier unknownTier
		want bool
	}{
		{unknownTier{"user", "Pro"}, true},
		{unknownTier{"user", "Pro"}, false},
		{unknownTier{"search", "Pro"}, true},
	} {
		if got := u.isNew(step.tier); got != step.want {
			t.Errorf("isNew(%v) = %t, want %t", step.tier, got, step.want)
		}
	}
	for i := range 2 * maxUnknownTiers {
		u.isNew(unknownTier{"user", fmt.Sprint(i)})
	}
	if len(u.warned) != maxUnknownTiers || u.isNew(unknownTier{"user", "one more"}) {
		t.Errorf("%d tiers are noted, want at most %d", len(u.warned), maxUnknownTiers)
	}
}
