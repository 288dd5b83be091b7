//go:build !race

package fleetlimit

// raceEnabled says that the race detector is on, which makes code allocate that does not otherwise.
const raceEnabled = false
