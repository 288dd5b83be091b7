package sim

import "slices"

// A KeyPoint is a point of the curve of keys. KeysRejected is the number of keys that are rejected by
// Limit, and by all higher limits below that of the next point.
type KeyPoint struct {
	Limit        Limit `json:"limit"`
	KeysRejected int   `json:"keys_rejected"`
}

// maxKeyPoints is the highest number of points of a curve of keys, so that a chart can show it. Points
// are left out where limits are close to each other. The points that stay are exact.
const maxKeyPoints = 500

// A Touch is the least limit that rejects at most a share of the keys.
type Touch struct {
	KeysShare float64 `json:"keys_share"`
	Limit     Limit   `json:"limit"`

	// Exact is false if Limit is only the least of the limits that were tried.
	Exact bool `json:"exact"`
}

// shares are the shares of the keys for which a report has a Touch.
var shares = []float64{0.01, 0.001, 0.0001, 0}

// recommendedShare is the share of the keys that the recommended limit may reject.
const recommendedShare = 0.001

// withLeast returns the limit of the rule with n events per window, or with a burst of n if the study
// looks for bursts.
func (s *Study) withLeast(n int64) Limit {
	limit := limitOf(s.rule)
	if s.leastBurst {
		limit.Burst = n
	} else {
		limit.Events = n
	}
	return limit
}

// keyCurve returns the curve of the keys. sorted has the least limits of all keys.
func (s *Study) keyCurve(sorted []int64) []KeyPoint {
	var points []KeyPoint
	for i, n := range sorted {
		if i+1 == len(sorted) || sorted[i+1] > n {
			points = append(points, KeyPoint{s.withLeast(n), len(sorted) - 1 - i})
		}
	}
	return thinned(points, s.leastBurst)
}

// thinned returns at most maxKeyPoints of points, with more and more distance between their limits. It
// keeps the first and the last point.
func thinned(points []KeyPoint, bursts bool) []KeyPoint {
	value := func(p KeyPoint) float64 {
		if bursts {
			return float64(p.Limit.Burst)
		}
		return float64(p.Limit.Events)
	}
	for ratio := 1.005; len(points) > maxKeyPoints; ratio *= ratio {
		kept := points[:1]
		for i, p := range points[1:] {
			if value(p) >= ratio*value(kept[len(kept)-1]) || i+2 == len(points) {
				kept = append(kept, p)
			}
		}
		points = kept
	}
	return points
}

// touches returns a Touch for each of shares. sorted has the least limits of all keys, or is nil if
// they are not known.
func (s *Study) touches(sorted []int64) []Touch {
	keys := len(s.rejections.keys)
	if keys == 0 {
		return nil
	}
	var touches []Touch
	for _, part := range shares {
		most := int(part * float64(keys))
		if sorted != nil {
			touches = append(touches, Touch{part, s.withLeast(sorted[keys-1-most]), true})
			continue
		}
		i := slices.IndexFunc(s.candidates, func(c *Replay) bool { return c.KeysRejected <= most })
		if i >= 0 {
			touches = append(touches, Touch{part, limitOf(s.candidates[i].rule), false})
		}
	}
	return touches
}

// FewKeys is the number of keys below which 0.1 % of the keys are less than one key. The recommended
// limit then rejects one key, the one that needs most, because a limit that rejects no key would limit
// nobody.
const FewKeys = 1 / recommendedShare

// mayReject returns the number of keys that the recommended limit may reject.
func mayReject(keys int) int { return max(1, int(recommendedShare*float64(keys))) }

// recommended returns the least limit that rejects at most mayReject keys, rounded up to two digits. It
// returns nil if no limit that was tried rejects so few, or if there are fewer than FewKeys keys and
// that limit rejects none.
func (s *Study) recommended(sorted []int64) *Limit {
	keys := len(s.rejections.keys)
	if sorted != nil {
		if n := leastFor(sorted); n > 0 {
			limit := s.withLeast(n)
			return &limit
		}
		return nil
	}
	i := slices.IndexFunc(s.candidates, func(c *Replay) bool { return c.KeysRejected <= mayReject(keys) })
	if i < 0 || keys < FewKeys && s.candidates[i].KeysRejected == 0 {
		return nil
	}
	limit := limitOf(s.candidates[i].rule)
	return &limit
}

// leastFor returns the recommended limit for keys with these least limits. It returns 0 if there is
// none.
func leastFor(sorted []int64) int64 {
	keys := len(sorted)
	if keys == 0 || keys < FewKeys && (keys == 1 || sorted[keys-2] == sorted[keys-1]) {
		return 0
	}
	least := sorted[keys-1-mayReject(keys)]
	if rounded := twoDigits(least); keys >= FewKeys || rounded < sorted[keys-1] {
		return rounded
	}
	return least
}

func twoDigits(n int64) int64 {
	digit := int64(1)
	for n/digit >= 100 {
		digit *= 10
	}
	return (n + digit - 1) / digit * digit
}
