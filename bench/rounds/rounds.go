// Package rounds makes figures of what variants measured in turns. The variants of a round met the same noise, so ratios
// and differences are taken within a round, and the median over the rounds is what is told.
package rounds

import (
	"math"
	"slices"
	"time"
)

// Ratios returns a[i]/b[i] for each round i.
func Ratios(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] / b[i]
	}
	return out
}

// Differences returns a[i]-b[i] for each round i.
func Differences(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] - b[i]
	}
	return out
}

// Quantile returns the least of the sorted values which a fraction q of all does not exceed; 0 when there are none.
func Quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	n := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(n, 1), len(sorted))-1]
}

// Median returns the middle of values, which it leaves as they are; of an even number, the upper one of the two.
func Median(values []float64) float64 {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}
