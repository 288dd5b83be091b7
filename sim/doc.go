// Package sim answers which limit to choose. It replays the requests of a log, or synthetic requests,
// through the code that decides in the gateway, and counts whom a limit would have rejected.
//
// A trace is the requests, in the order in which they arrived. A [Study] takes them one by one, so it
// can take a log of any length, and hands each of them to
//
//   - a search for the least limit of each key that never rejects the key: see least.go
//   - the candidates: limits of one algorithm, which make the curve of a [Report]
//   - the limit under study, under each algorithm
//
// Package sim/fleet replays a trace through many nodes that lease from one store.
//
// The package does not decide by itself: a [Replay] has a limiter.Rule, and a limiter.Count for each
// key. It has no clock and does no I/O. Its time is the time of the trace.
package sim
