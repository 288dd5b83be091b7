package inspect

import (
	"sync"

	"github.com/fleetlimit/fleetlimit/internal/request/zone"
)

// leaveMasked returns the limits of a zone by its configuration alone that have no effect, because
// rules decide. configured are its slots without rules, and was and is its limits in force before
// and after.
func leaveMasked(configured []zone.Slot, was, is map[limitPlace]limitText) map[limitPlace]limitText {
	texts := limitTexts(configured)
	for p, t := range texts {
		switch {
		case was[p] == is[p]:
		case was[p].limit == is[p].limit: // only how it is enforced changes
			texts[p] = limitText{limit: t.limit}
		default:
			delete(texts, p)
		}
	}
	return texts
}

// changedLimitTexts says which limits differ.
func changedLimitTexts(was, is map[limitPlace]limitText) (texts []string) {
	for _, l := range changedLimits(was, is) {
		texts = append(texts, l.String())
	}
	return texts
}

// maskedDryRuns returns a function that says how the dry run of a zone differs between two
// configurations without rules, or returns "" if it does not.
func maskedDryRuns(before, after *zone.Set) func(name string) string {
	texts := sync.OnceValues(func() (was, is map[string]string) { return dryRunTexts(before, nil), dryRunTexts(after, nil) })
	return func(name string) string {
		if was, is := texts(); was[name] != is[name] {
			return "dry_run: " + was[name] + " is now " + is[name]
		}
		return ""
	}
}
