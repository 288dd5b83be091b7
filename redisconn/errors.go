package redisconn

import (
	"errors"
	"fmt"
	"net"
	"strings"

	redis "github.com/redis/go-redis/v9"
)

var (
	// ErrTimeout means that there was no answer in time. The call may have been executed, or may
	// still be.
	ErrTimeout = errors.New("redisconn: Redis did not answer in time")

	// ErrUnsent is the ErrTimeout of a call that could not be sent in time, and had no effect.
	ErrUnsent = fmt.Errorf("%w: the call could not be sent", ErrTimeout)

	// ErrClosed means that Close was called.
	ErrClosed = errors.New("redisconn: the client is closed")

	// ErrNoPrimary means that no server is known for the key. It is wrapped with the reason.
	ErrNoPrimary = errors.New("redisconn: no primary is known for the key")

	// ErrOpen means that the breaker of the primary is open: see [Breaker]. It is wrapped with the
	// reason.
	ErrOpen = errors.New("redisconn: the primary does not answer")

	// ErrBusy means that the queue of the primary is full: calls come faster than it answers.
	ErrBusy = errors.New("redisconn: too many calls are waiting for the primary")

	// ErrMemory means that the primary is out of memory. It has refused the call, or calls like it
	// lately.
	ErrMemory = errors.New("redisconn: Redis is out of memory: use a larger maxmemory or another maxmemory-policy")

	// errNoCluster means that a server redirects although the mode is not Cluster. It is wrapped
	// with the redirection.
	errNoCluster = errors.New("redisconn: the server redirects as a node of a cluster does: use mode cluster")
)

// A replyClass is what a reply means for the call.
type replyClass uint8

const (
	final    replyClass = iota // the call was executed, or Redis refuses it: this is the answer
	noMemory                   // Redis refuses the call because it is out of memory
	unknown                    // the connection broke: the call may have been executed or not

	// In all classes that follow, Redis has not executed the call.
	noScript   // the server does not know the script
	moved      // the slot belongs to another primary
	ask        // this key is being moved to another primary, and may be there already
	retryLater // the server does not take this call for now
	unready    // the server takes no call for now
	demoted    // the server has become a replica; its address may soon lead to another server
)

// replyClasses are the classes of Redis's errors by their first word. All other errors are final.
var replyClasses = map[string]replyClass{
	"NOSCRIPT":    noScript,
	"OOM":         noMemory,
	"READONLY":    demoted,
	"MOVED":       moved,
	"ASK":         ask,
	"LOADING":     unready,    // it loads its data
	"MASTERDOWN":  unready,    // it has lost its primary
	"CLUSTERDOWN": unready,    // it has lost its cluster
	"TRYAGAIN":    retryLater, // it is moving the keys of the call
}

// classify returns the class of a reply whose error is err. to is the address in a reply of class moved
// or ask.
func classify(err error) (class replyClass, to string) {
	if err == nil || errors.Is(err, redis.Nil) {
		return final, ""
	}
	var reply redis.Error
	if !errors.As(err, &reply) {
		return unknown, ""
	}
	words := strings.Fields(reply.Error())
	if len(words) > 1 {
		class = replyClasses[words[0]]
	}
	if class == unready && words[1] == "Hash" { // CLUSTERDOWN Hash slot not served
		class = retryLater
	}
	if class != moved && class != ask {
		return class, ""
	}
	if len(words) != 3 {
		return final, ""
	}
	return class, words[2]
}

// addressFrom completes addr, which the node at origin sent. A node that does not know its own name
// leaves the host out: then addressFrom adds the host of origin.
func addressFrom(addr, origin string) string {
	host, _, err := net.SplitHostPort(origin)
	if port, ok := strings.CutPrefix(addr, ":"); ok && err == nil {
		return net.JoinHostPort(host, port)
	}
	return addr
}
