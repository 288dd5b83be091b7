//go:build !race

package limiter

// raceEnabled says that the race detector is on.
const raceEnabled = false
