//go:build linux

package redisconn

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestReplyToStalledProcess stops this process when it has written a call. The process goes on when the
// reply has long arrived and, in most cases, the time to wait has passed. The reply counts. On a busy
// machine, Redis too may take some of that time.
func TestReplyToStalledProcess(t *testing.T) {
	c := New(Options{Addresses: []string{redistest.Shared(t).Addr}, Timeout: 250 * time.Millisecond})
	self := os.Getpid()
	goOn := exec.Command("sh", "-c", fmt.Sprintf("while sleep 0.6; do kill -CONT %d || exit; done", self))
	// The shell ends with this process and not with this test, so that the process goes on whatever
	// becomes of the test.
	if err := goOn.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ready(t, c, "k")
	for n := range 5 {
		call := &Call{Script: count, Keys: []string{"stalled"}, Args: []any{n}}
		stalled := make(chan struct{})
		call.Written = func() {
			stallProcess()
			close(stalled)
		}
		if c.Do(t.Context(), call); call.Err != nil {
			t.Fatalf("call %d: %v", n, call.Err)
		}
		<-stalled // the reply may come before the process has stopped
	}
}

// stallProcess stops this process and returns when it goes on. It sends the signal to its own thread,
// which gets the signal before it returns from the kernel. A signal to the whole process may reach
// another thread, and then the process stops some time later.
func stallProcess() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = syscall.Tgkill(os.Getpid(), syscall.Gettid(), syscall.SIGSTOP)
}
