package redisconn

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// Each kind of error is counted where it is made, whether the call fails or is sent again.
func TestErrorKinds(t *testing.T) {
	t.Parallel()
	s := redistest.NewServer(t)
	c := open(t, Options{Addresses: []string{s.Addr}, Breaker: quickProbes})
	counted := func(kind ErrorKind) uint64 { return c.Primaries()[0].Errors[kind] }
	// causes counts errors of a kind while calls about the key are made, and then ends the cause.
	causes := func(kind ErrorKind, key string, begin, end func()) {
		t.Helper()
		before := counted(kind)
		begin()
		until(t, kind.String(), func() bool {
			_ = do(t, c, count, key, 1)
			return counted(kind) > before
		})
		end()
		ready(t, c, "k")
	}
	must := func(words ...any) func() {
		return func() {
			t.Helper()
			if err := s.Client().Do(t.Context(), words...).Err(); err != nil {
				t.Errorf("%v: %v", words, err)
			}
		}
	}
	ready(t, c, "k")
	if all := c.Primaries()[0].Errors; all != [ErrorKinds]uint64{} {
		t.Errorf("errors while nothing is wrong: %v", all)
	}
	causes(UnknownScript, "k", must("script", "flush"), func() {})
	causes(OtherError, "text", must("set", "text", "x"), must("del", "text"))
	causes(OutOfMemory, "k", must("config", "set", "maxmemory", "1"), must("config", "set", "maxmemory", "0"))
	causes(ReadOnly, "k", must("replicaof", "127.0.0.1", "1"), must("replicaof", "no", "one"))
	causes(Late, "k", s.Pause, s.Resume)
	causes(Refused, "k", s.Kill, s.Restart)
}

// A fake makes the errors that a real Redis cannot be made to cause.
func TestErrorKindsOfFake(t *testing.T) {
	t.Parallel()
	for kind, answer := range map[ErrorKind]string{
		NotReady: "-LOADING Redis is loading the dataset in memory\r\n", Disconnected: hangUp,
	} {
		f := newFake(t, nil, func([]string) string { return ":1\r\n" })
		c := open(t, Options{Addresses: []string{f.addr}, Timeout: time.Second, Breaker: staysClosed})
		ready(t, c, "k")
		f.answerTo("evalsha", answer)
		until(t, kind.String(), func() bool {
			_ = do(t, c, count, "k", 1)
			f.answerTo("evalsha", "")
			return c.Primaries()[0].Errors[kind] > 0
		})
	}
}
