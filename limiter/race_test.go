//go:build race

package limiter

// raceEnabled reports that the race detector is on.
const raceEnabled = true
