//go:build race

package keyed

const raceEnabled = true
