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

// recommended returns the least limit that rejects at most 0.1 % of the keys, rounded up to two
// digits; nil: none of the limits that were tried does.
func recommended(touches []Touch) *Limit {
	i := slices.IndexFunc(touches, func(t Touch) bool { return t.KeysShare == recommendedShare })
	if i < 0 {
		return nil
	}
	limit := touches[i].Limit
	if limit.Burst > 0 {
		limit.Burst = twoDigits(limit.Burst)
	} else {
		limit.Events = twoDigits(limit.Events)
	}
	return &limit
}

func twoDigits(n int64) int64 {
	digit := int64(1)
	for n/digit >= 100 {
		digit *= 10
	}
	return (n + digit - 1) / digit * digit
}
