package evaluate

import (
	"strings"
	"sync"
)

// maxUnknownTiers is the number of unknown tiers that a configuration warns about. Requests that
// name more of them are counted by the metric alone.
const maxUnknownTiers = 100

// unknownTiers are the tiers that requests had and that their zones do not have.
type unknownTiers struct {
	mu     sync.RWMutex
	warned map[unknownTier]bool
}

// An unknownTier is a value that is no tier of its zone.
type unknownTier struct{ zone, value string }

// isNew notes t, and reports whether it was not noted before. Once there are maxUnknownTiers,
// nothing is new.
func (u *unknownTiers) isNew(t unknownTier) bool {
	u.mu.RLock()
	known := u.warned[t] || len(u.warned) == maxUnknownTiers
	u.mu.RUnlock()
	if known {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.warned[t] || len(u.warned) == maxUnknownTiers {
		return false
	}
	if u.warned == nil {
		u.warned = make(map[unknownTier]bool)
	}
	u.warned[unknownTier{t.zone, strings.Clone(t.value)}] = true // it is part of the request
	return true
}
