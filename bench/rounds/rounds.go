// Package rounds makes figures of what variants measured in turns. The variants of a round met the same noise, so a ratio is
// taken within a round, and the median over the rounds is what is told.
package rounds

import "slices"

// Ratios returns a[i]/b[i] for each round i.
func Ratios(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] / b[i]
	}
	return out
}

// Median returns the middle of values, which it leaves as they are; of an even number, the upper one of the two.
func Median(values []float64) float64 {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}
