//go:build unix

package redisconn

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestReplyToStalledProcess stops this process when it has written a call, and has it go on when the
// reply has long arrived and the time to wait has passed. The reply counts.
func TestReplyToStalledProcess(t *testing.T) {
	c := New(Options{Addresses: []string{redistest.Shared(t).Addr}})
	self := os.Getpid()
	goOn := exec.Command("sh", "-c", fmt.Sprintf("while sleep 0.3; do kill -CONT %d || exit; done", self))
	// The shell ends with this process and not with this test: the process may stop some time after
	// the call that stops it has returned, and something has to have it go on then.
	if err := goOn.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ready(t, c, "k")
	for n := range 5 {
		call := &Call{Script: count, Keys: []string{"stalled"}, Args: []any{n}}
		stalled := make(chan struct{})
		call.Written = func() {
			_ = syscall.Kill(self, syscall.SIGSTOP)
			close(stalled)
		}
		if c.Do(t.Context(), call); call.Err != nil {
			t.Fatalf("call %d: %v", n, call.Err)
		}
		<-stalled // the reply may come before the process has stopped
	}
}
