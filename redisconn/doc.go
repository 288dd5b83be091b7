// Package redisconn sends script calls to Redis: one queue per primary, calls in pipelines, each
// call executed at most once.
//
// It keeps four promises:
//
//  1. A caller waits at most one Options.Timeout until its call is written, and at most another one
//     for the answer. Callers touch no network: they queue a call and wait for its answer. A slow
//     reply to one call does not keep other calls from being sent.
//  2. No script runs twice for one call. A call is written once. It is written again only after
//     Redis has said that it did not execute it (NOSCRIPT, MOVED, ASK, LOADING and the like). When
//     a connection breaks after the write, the outcome is unknown, and that is an error.
//  3. A primary that hangs does not slow the calls to the others. Each primary has its own queue,
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
// A lone call is sent at once. Calls that arrive while Options.PoolSize pipelines are under way wait
// for the next pipeline. The next pipeline starts when one of those under way is answered. Over another
// connection it may start earlier: a millisecond after the newest pipeline, or a fraction of the time
// that replies take if that is longer. So pipelines grow with the load if replies come at once. If they
// come late, there are up to 16 connections. The later replies come, the more connections stay open. A
// connection beyond these is closed when it was not needed for 10 s.
//
// A call takes one round trip, even if it is the first of its script: see [Script]. The first
// connection to a new process of a server makes it load the scripts that calls have used, up to 64 of
// them. After SCRIPT FLUSH a call takes two round trips, and its caller waits for one Options.Timeout
// more.
//
// A worker takes calls only while it holds a connection on which Redis has answered. So a caller that
// gives up while Redis cannot be reached cancels its call for good. A call whose caller gives up after
// the write runs for up to a second, and its reply is dropped. A call sent by Start has no caller that
// waits: its reply is used whenever it comes.
//
// # Which primary
//
// A table maps slots to queues. It is loaded in the background, never on a caller's path. Calls made
// before the first load wait for it. If no node answers that load, calls fail at once with ErrNoPrimary
// until one does. All nodes (Sentinels) are asked at the same time, and the answer with the highest
// epoch wins. So neither a hanging nor an isolated node can delay or undo a failover. Sentinels are
// asked twice a second, and nodes of a cluster every 10 s and after a MOVED. Both are asked four times
// a second while a breaker is not closed or no primary is known.
//
// # When a primary fails
//
// Each primary has a circuit breaker: see [Breaker]. When it opens, all queued calls get ErrOpen. Redis
// has executed none of them. Calls that have been sent still get their replies.
//
// Each primary has a goroutine, its watcher, which notices that the primary is silent. The watcher has
// an idle primary probed every 100 ms, so that a failure is found before a call waits for it. It has a
// primary whose breaker is open probed every BreakerOptions.ProbeEvery. Workers send the probes, over
// the connections that calls use. Only probes close a breaker, so no call is risked for that.
//
// When a breaker opens, connections are closed as soon as they are free: the network may have lost
// them all.
//
// A process that is overloaded reads replies late, which looks like a slow primary. So a watcher
// measures by how much its own goroutine is late, and gives the primary a multiple of that as
// additional time. Callers of Do wait longer by that multiple too, but at most by one Options.Timeout.
// So an answer that has arrived in time counts even if it is read late.
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
