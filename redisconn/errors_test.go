package redisconn

import (
	"errors"
	"io"
	"testing"

	redis "github.com/redis/go-redis/v9"
)

// A reply is an error as Redis sends it.
type reply string

func (e reply) Error() string { return string(e) }
func (reply) RedisError()     {}

func TestClassify(t *testing.T) {
	for _, test := range []struct {
		err  error
		want replyClass
		to   string
	}{
		{nil, final, ""},
		{redis.Nil, final, ""},
		{reply("ERR something"), final, ""},
		{reply("OOM command not allowed"), noMemory, ""},
		{reply("BUSY Redis is busy running a script"), final, ""},
		{reply("MOVEDX 1 2"), final, ""},
		{reply("MOVED 3999"), final, ""},
		{reply("NOSCRIPT No matching script. Please use EVAL."), noScript, ""},
		{reply("MOVED 3999 127.0.0.1:6381"), moved, "127.0.0.1:6381"},
		{reply("ASK 3999 :6381"), ask, ":6381"},
		{reply("LOADING Redis is loading"), unready, ""},
		{reply("CLUSTERDOWN The cluster is down"), unready, ""},
		{reply("CLUSTERDOWN Hash slot not served"), retryLater, ""},
		{reply("TRYAGAIN Multiple keys request during rehashing of slot"), retryLater, ""},
		{reply("READONLY You can't write against a read only replica."), demoted, ""},
		{errNotSent, unknown, ""},
		{io.EOF, unknown, ""},
		{errors.New("LOADING from elsewhere"), unknown, ""},
	} {
		if class, to := classify(test.err); class != test.want || to != test.to {
			t.Errorf("classify(%v) = %d, %q, want %d, %q", test.err, class, to, test.want, test.to)
		}
	}
}

func TestAddressFrom(t *testing.T) {
	for _, test := range []struct{ addr, origin, want string }{
		{"10.0.0.1:6379", "redis:6380", "10.0.0.1:6379"},
		{":6379", "redis:6380", "redis:6379"},
		{":6379", "[::1]:6380", "[::1]:6379"},
		{"[::1]:6379", "redis:6380", "[::1]:6379"},
		{"nonsense", "redis:6380", "nonsense"},
	} {
		if got := addressFrom(test.addr, test.origin); got != test.want {
			t.Errorf("addressFrom(%q, %q) = %q, want %q", test.addr, test.origin, got, test.want)
		}
	}
}
