// Package redisconn carries script calls to Redis: one queue per primary, calls in pipelines, each executed at most once.
//
// It keeps four promises:
//
//  1. No caller waits longer than Options.Timeout. Callers touch no network: they queue a call and wait for its answer.
//  2. No script runs twice for one call. A call is written once; it is written again only after Redis has said that it
//     did not execute it (NOSCRIPT, MOVED, ASK, LOADING and the like). When a connection breaks after the write the
//     outcome is unknown, and that is an error.
//  3. A primary that hangs does not slow the calls to the others: each has its own queue, connections and goroutines.
//  4. A new primary is used within a second of its promotion.
//
// # The way of a call
//
//	Do, Start ──▶ queue of the key's primary ──▶ worker ──▶ link ──▶ Redis
//	                bounded FIFO                 takes what is      one connection,
//	                                             pending, as one    one pipeline at a time
//	                                             pipeline
//
// There is no timer that waits for a batch to fill: what arrives while a pipeline is out goes with the next. So batches
// grow with the load, and a lone call leaves at once.
//
// A worker takes calls only when it holds a connection on which Redis has answered lately. So a caller that gives up while
// Redis cannot be reached cancels its call for good; it never surfaces later. A caller that gives up after the call
// was written leaves it running for up to a second; its reply is dropped. A call that outlives its callers is started:
// its reply is taken whenever it comes.
//
// # Which primary
//
// A table maps slots to queues. It is loaded in the background and never on a caller's path. Only the first calls of all
// wait for it, within their time, until the nodes have been asked once; if none has answered, calls fail with
// ErrNoPrimary at once until one does. Nodes (Sentinels) are asked all at the same time, and the answer with the
// highest epoch counts, so that neither a hanging nor an isolated node can hold back a failover or undo it. They are
// asked every few seconds, after a MOVED, and four times a second while a primary fails or is silent.
//
// # What a server may send
//
// A server is not trusted with this process. Replies are scanned before go-redis parses them, and a
// connection ends at the first one that is too long, too deep or no RESP2. MOVED and ASK are
// followed on a cluster only, to at most 16 servers that the table does not have, and a client has
// at most 2000 queues.
//
// A server that refuses a call for want of memory has answered: it does not fail. For a while after
// that, few calls with [Call.NewKey] are sent to it.
//
// # What the Redis user must be allowed
//
// EVALSHA and SCRIPT LOAD, and what the scripts do; PING; SELECT for a database other than 0; ASKING, CLUSTER INFO and
// CLUSTER SLOTS on a cluster. INFO should be: without it the [Run] of the server is unknown. On
// Sentinels: SENTINEL GET-MASTER-ADDR-BY-NAME and SENTINEL MASTER.
//
// The package logs nothing.
package redisconn
