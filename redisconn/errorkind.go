package redisconn

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
)

// An ErrorKind is the kind of an error that a primary has caused.
type ErrorKind uint8

const (
	Late          ErrorKind = iota // it has not answered a call in time, or the call could not be sent in time
	Refused                        // it refuses connections
	Disconnected                   // a connection could not be made, or broke
	OutOfMemory                    // its memory is full
	ReadOnly                       // it has become a replica
	UnknownScript                  // it has lost the scripts, and got them again
	NotReady                       // it loads its data, or has lost its cluster or its primary
	OtherError                     // any other, such as a right that its user lacks
)

// ErrorKinds is the number of kinds.
const ErrorKinds = len(errorKindNames)

var errorKindNames = [...]string{
	"timeout", "refused", "disconnected", "out_of_memory", "read_only", "no_script", "not_ready", "other",
}

func (k ErrorKind) String() string { return errorKindNames[k] }

// kindsOfReplies are the kinds of the errors that Redis replies. Replies of the classes moved and ask
// have no kind: they only say where the call belongs.
var kindsOfReplies = map[replyClass]ErrorKind{
	final: OtherError, noMemory: OutOfMemory, noScript: UnknownScript, retryLater: NotReady, unready: NotReady, demoted: ReadOnly,
}

// errorCounts count errors by kind.
type errorCounts [ErrorKinds]atomic.Uint64

// note counts err, unless err is nil or redirects a call.
func (c *errorCounts) note(err error) {
	if err == nil {
		return
	}
	class, _ := classify(err)
	kind, counts := kindsOfReplies[class]
	if timeout := net.Error(nil); class == unknown {
		counts, kind = true, Disconnected
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			kind = Refused
		case errors.Is(err, errReplica):
			kind = ReadOnly
		case errors.Is(err, errDown):
			kind = NotReady
		case errors.Is(err, ErrTimeout), errors.Is(err, errSlow), errors.As(err, &timeout) && timeout.Timeout():
			kind = Late
		}
	}
	if counts {
		c[kind].Add(1)
	}
}

// all returns the counts by kind.
func (c *errorCounts) all() (counts [ErrorKinds]uint64) {
	for kind := range c {
		counts[kind] = c[kind].Load()
	}
	return counts
}
