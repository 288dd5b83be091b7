// Package sim answers which limit: it replays the requests of a log, or made-up ones, through the
// code that decides in the gateway, and counts whom a limit would have rejected.
//
// A [Trace] is what is replayed: requests in the order in which they arrived. A [Study] takes them
// one by one, so that a log of any length fits into memory, and runs each of them through
//
//   - the least limit of each key that never rejects it: see least.go
//   - the candidates: limits of one algorithm, which make the curve of a [Report]
//   - the same limit under each algorithm
//
// Package fleet below it replays the same requests through many nodes that lease from one store.
//
// The package decides nothing itself: a [Replay] is a limiter.Rule and one limiter.Count per key.
// It has no clock and does no I/O; time is that of the trace.
package sim
