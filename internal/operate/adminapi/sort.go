package adminapi

import (
	"cmp"
	"math"
	"net/http"
	"slices"

	"github.com/fleetlimit/fleetlimit/internal/text/spelling"
	"github.com/fleetlimit/fleetlimit/rules"
)

// The orders of a list of entries, besides the order of the rules.
const (
	newestFirst = "newest"
	endingFirst = "ending" // entries that never end come last
)

// sorted returns entries in an order. "" stands for the order of the rules.
func sorted[E rules.ListEntry](entries []E, order string) ([]E, error) {
	var rank func(*rules.Entry) int64
	switch order {
	case "":
		return entries, nil
	case newestFirst:
		rank = func(e *rules.Entry) int64 { return -e.CreatedAt.UnixMilli() }
	case endingFirst:
		rank = func(e *rules.Entry) int64 {
			if e.ExpiresAt == nil {
				return math.MaxInt64
			}
			return e.ExpiresAt.UnixMilli()
		}
	default:
		return nil, apiError(http.StatusBadRequest, "%w", spelling.UnknownWord("sort", order, []string{newestFirst, endingFirst}, nil))
	}
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b E) int { return cmp.Compare(rank(a.Common()), rank(b.Common())) })
	return entries, nil
}
