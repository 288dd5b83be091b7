package sim

import "slices"

// A KeyPoint is a least limit of a key: how many keys a limit rejects that is not lower, and lower
// than that of the next point.
type KeyPoint struct {
	Limit        Limit `json:"limit"`
	KeysRejected int   `json:"keys_rejected"`
}

// maxKeyPoints bounds a curve of keys, so that a chart can show it. Points are left out where the
// limits are closest to each other; those that stay are exact.
const maxKeyPoints = 500

// A Touch is the least limit that rejects at most a share of the keys.
type Touch struct {
	KeysShare float64 `json:"keys_share"`
	Limit     Limit   `json:"limit"`

	// Exact is false if the limit is only the least of those that were tried.
	Exact bool `json:"exact"`
}

// shares are the shares of the keys of which a report names the least limits.
var shares = []float64{0.01, 0.001, 0.0001, 0}

// recommendedShare is the share of the keys that the recommended limit may reject.
const recommendedShare = 0.001

// withLeast returns the limit of the rule with a least limit of a key: as events, or as the burst if
// that is what was searched for.
func (s *Study) withLeast(n int64) Limit {
	limit := limitOf(s.rule)
	if s.leastBurst {
		limit.Burst = n
	} else {
		limit.Events = n
	}
	return limit
}

// keyCurve returns the curve of the sorted least limits of all keys.
func (s *Study) keyCurve(sorted []int64) []KeyPoint {
	var points []KeyPoint
	for i, n := range sorted {
		if i+1 == len(sorted) || sorted[i+1] > n {
			points = append(points, KeyPoint{s.withLeast(n), len(sorted) - 1 - i})
		}
	}
	return thinned(points, s.leastBurst)
}

// thinned returns at most maxKeyPoints of points, with the last of those whose limits are alike.
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

// touches returns the least limits that reject at most some shares of the keys. sorted are the least
// limits of all keys, if they are known.
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

// FewKeys is below how many keys no limit rejects just 0.1 % of them. What is recommended then rejects
// one, which needs most: a limit that rejects none would limit nobody.
const FewKeys = 1 / recommendedShare

// mayReject returns how many of the keys the recommended limit may reject.
func mayReject(keys int) int { return max(1, int(recommendedShare*float64(keys))) }

// recommended returns the least limit that rejects at most 0.1 % of the keys, or one of few, rounded up to
// two digits. It returns nil if none of the limits that were tried does, or if each of them admits all of
// few keys.
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

// leastFor returns the least limit that is recommended where the keys need these, or 0 if there is none.
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
