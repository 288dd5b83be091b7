//go:build !race

package keyed

const raceEnabled = false
