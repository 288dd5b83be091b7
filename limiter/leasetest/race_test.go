//go:build race

package leasetest

const raceEnabled = true
