package redisconn

import (
	"errors"
	"net"
	"strings"

	redis "github.com/redis/go-redis/v9"
)

var (
	// ErrTimeout says that there was no answer in time. The call may have been executed, or may still be.
	ErrTimeout = errors.New("redisconn: Redis did not answer in time")

	// ErrClosed says that Close was called.
	ErrClosed = errors.New("redisconn: the client is closed")

	// ErrNoPrimary says that it is not known which server to ask. It is wrapped with the reason.
	ErrNoPrimary = errors.New("redisconn: no primary is known for the key")

	// ErrBusy says that the queue of the primary is full: callers ask for more than it answers.
	ErrBusy = errors.New("redisconn: too many calls are waiting for the primary")

	// ErrMemory says that the primary is out of memory: it has refused the call, or others like it
	// lately.
	ErrMemory = errors.New("redisconn: Redis is out of memory: use a larger maxmemory or another maxmemory-policy")

	// errNoCluster says that a server redirects although it is not used as a part of a cluster. It
	// is wrapped with the redirection.
	errNoCluster = errors.New("redisconn: the server redirects as a node of a cluster does: use mode cluster")
)

// A replyClass is what a reply means for the call.
type replyClass uint8

const (
	answered replyClass = iota // the call was executed, or Redis refuses it; either way this is the answer
	noMemory                   // Redis refuses the call for want of memory
	unknown                    // the connection broke: it may have been executed or not

	// In all that follow Redis says that it has not executed the call.
	noScript   // it does not know the script
	moved      // the slot belongs to another primary
	ask        // this key is being moved to another primary, and may be there already
	retryLater // the server is not ready; it or another soon is
	demoted    // the server has become a replica; behind its name, too, there may be another soon
)

// retryLaterPrefixes begin the errors of a server that takes no calls at this time: it loads its data, has lost its primary
// or its cluster, or moves the keys of the call right now.
var retryLaterPrefixes = []string{"LOADING ", "MASTERDOWN ", "CLUSTERDOWN ", "TRYAGAIN "}

// classify returns what err, with which a call came back, means. to is where a moved or ask points.
func classify(err error) (v replyClass, to string) {
	if err == nil || errors.Is(err, redis.Nil) {
		return answered, ""
	}
	var reply redis.Error
	if !errors.As(err, &reply) {
		return unknown, ""
	}
	text := reply.Error()
	switch fields := strings.Fields(text); {
	case strings.HasPrefix(text, "NOSCRIPT "):
		return noScript, ""
	case strings.HasPrefix(text, "OOM "):
		return noMemory, ""
	case strings.HasPrefix(text, "READONLY "):
		return demoted, ""
	case strings.HasPrefix(text, "MOVED ") && len(fields) == 3:
		return moved, fields[2]
	case strings.HasPrefix(text, "ASK ") && len(fields) == 3:
		return ask, fields[2]
	}
	for _, prefix := range retryLaterPrefixes {
		if strings.HasPrefix(text, prefix) {
			return retryLater, ""
		}
	}
	return answered, ""
}

// addressFrom completes addr as a node at origin gave it. A node that does not know its own name leaves the host out, which
// means: the one at which I was reached.
func addressFrom(addr, origin string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host != "" {
		return addr
	}
	host, _, err = net.SplitHostPort(origin)
	if err != nil {
		return addr
	}
	return net.JoinHostPort(host, port)
}
