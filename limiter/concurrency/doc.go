// Package concurrency limits how many requests of a key are in flight at once.
//
// # Structure
//
// A permit is the right to have one request in flight. A [Limiter] counts the permits of each key
// that are in use. In memory, a key has as many permits as its limit. In a fleet, a [Lender] has
// the permits, and nodes lease them: a node uses only permits that the lender has recorded for it.
//
// account.go is the calculator of what one node knows and holds for a key: it has no lock, no clock
// and no I/O. The other files are the shell around it: locks, waiters, calls, and the loop that
// renews what is leased.
//
// # Leases
//
// A node asks for a permit when it has none left, and for some more as long as many are free. Near
// the limit it asks for each request, and returns each permit at once, so that it keeps no permit
// that others need. A lease lasts for [Lifetime] and is renewed every few seconds. The permits of a
// node that crashes are free again when its lease has ended. A node that cannot renew its lease
// stops using it before the lender ends it.
//
// Each request to the lender states what the node holds, at least as many permits as it has
// requests in flight. So a lender that has lost its records learns them from the next requests. A
// node stops using what it returns before it sends the request. Requests to the lender are
// numbered, and the lender ignores a request that a newer one has overtaken. So what a node holds
// is never more than the lender has recorded, whatever is lost.
//
// # Guarantees
//
// While the lender answers and loses nothing, the requests in flight never exceed the limit, not
// counting those on nodes that are cut off from the lender. In an outage, each node admits its
// share of the limit, or what [Rule.OnOutage] says.
package concurrency
