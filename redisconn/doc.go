// Package redisconn sends script calls to Redis: one queue per primary, calls in pipelines, each
// call executed at most once.
//
// It keeps four promises:
//
//  1. A caller waits for a call to be written for Options.Timeout at most, and for its answer for as
//     long again. Callers touch no network: they queue a call and wait for its answer. No call waits
//     for a connection because the replies of others are awaited.
//  2. No script runs twice for one call. A call is written once. It is written again only after
//     Redis has said that it did not execute it (NOSCRIPT, MOVED, ASK, LOADING and the like). When
//     a connection breaks after the write, the outcome is unknown, and that is an error.
//  3. A primary that hangs does not slow the calls to the others. Each has its own queue,
//     connections and goroutines.
//  4. A new primary is used within a second of its promotion.
//
// # The way of a call
//
//	Do, Start ──▶ queue of the key's primary ──▶ worker ──▶ link ──▶ Redis
//	                bounded FIFO                 takes what is      one connection,
//	                                             queued, as one     one pipeline at a time
//	                                             pipeline
//
// A lone call leaves at once. Calls that arrive while Options.PoolSize pipelines are out go with the
// next one: when one of these is answered, or after a millisecond or a fraction of the time that
// replies take, over another connection. So batches grow with the load where replies come at once,
// and there are up to 16 connections where they do not. The later replies come, the more connections
// stay open, and one that is not needed beside these for 10 s is closed.
//
// A call takes one round trip, also when it is the first of its script: see [Script]. The first
// connection to a new process of a server has it load all scripts that calls have used. After SCRIPT
// FLUSH a call takes two round trips, and its caller waits for one Options.Timeout more.
//
// A worker takes calls only when it holds a connection on which Redis has answered, and which it has
// not closed. So a caller that gives up while Redis cannot be reached cancels its call for good. A
// call whose caller gives up after the write runs for up to a second, and its reply is dropped. A
// call sent by Start has no caller that waits: its reply is used whenever it comes.
//
// # Which primary
//
// A table maps slots to queues. It is loaded in the background, never on a caller's path. Calls
// made before the first load wait for it. If no node answers that load, calls fail at once with
// ErrNoPrimary until one does. All nodes (Sentinels) are asked at the same time, and the answer
// with the highest epoch wins. So neither a hanging nor an isolated node can delay or undo a
// failover. They are asked every few seconds, after a MOVED, and four times a second while a
// breaker is not closed.
//
// # When a primary fails
//
// Each primary has a circuit breaker: see [Breaker]. When it opens, all queued calls get ErrOpen.
// None of those has been sent. Calls that have been sent still get their replies.
//
// One goroutine per primary, its watcher, sees that a primary is silent. It also probes: an idle
// primary every 100 ms, so that a failure is found before a call waits for it, and a primary whose
// breaker is open every BreakerOptions.ProbeEvery. Workers send the probes, over the connections
// that calls use. Only probes close a breaker, so no call is risked for that.
//
// When a breaker opens, connections are closed as soon as they are free: the network may have lost
// them all.
//
// A process that is overloaded reads replies late, which looks like a slow primary. A watcher
// measures how late its own goroutine is, and gives the primary a multiple of that in addition.
// Callers of Do wait longer by that too, at most by another Options.Timeout: so an answer that has
// arrived in time counts although it is read late.
//
// # What a server may send
//
// A server is not trusted with this process. Replies are scanned before go-redis parses them, and
// the connection is closed at the first one that is too long, too deep or not RESP2. MOVED and ASK
// are followed on a cluster only, to at most 16 servers that the table does not have. A client has
// at most 2000 queues.
//
// A server that refuses a call because it is out of memory has answered: that is no failure. For a
// few seconds after that, few calls with [Call.NewKey] are sent to it.
//
// # What the Redis user must be allowed
//
// EVALSHA and SCRIPT LOAD, and what the scripts do; PING; SELECT for a database other than 0;
// ASKING, CLUSTER INFO and CLUSTER SLOTS on a cluster. INFO is optional: without it the
// [Incarnation] of the server is unknown, and a probe takes a replica for a primary. On Sentinels:
// SENTINEL GET-MASTER-ADDR-BY-NAME and SENTINEL MASTER.
//
// The package logs nothing.
package redisconn
