package evaluate

import (
	"strings"
	"sync"
)

// maxUnknownTiers is the number of unknown tiers that a configuration warns about. A metric alone counts the
// requests that name further ones.
const maxUnknownTiers = 100

// unknownTiers are the tiers that requests have named and that their zones do not have.
type unknownTiers struct {
	mu     sync.RWMutex
	warned map[unknownTier]bool
}

// An unknownTier is a tier that a request has named and that its zone does not have.
type unknownTier struct{ zone, value string }

// isNew notes t, and reports whether t is noted for the first time. It returns false once maxUnknownTiers are
// noted.
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
	u.warned[unknownTier{t.zone, strings.Clone(t.value)}] = true // the text is part of the request
	return true
}
