package redistest

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// victimEnv is set for a test binary that is to be killed.
const victimEnv = "REDISTEST_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(victimEnv) != "" {
		beVictim()
	}
	Main(m)
}

// beVictim starts two servers, pauses one of them, prints their addresses and never returns.
func beVictim() {
	servers, err := startGroup(2, standalone)
	if err == nil {
		err = servers[1].proc.pause()
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(servers[0].Addr)
	fmt.Println(servers[1].Addr)
	select {}
}

// Misuse fails a test, and so does a condition that never holds. The wait is in a bubble, where it takes no
// time.
func TestMisuseAndTimeoutFailTheTest(t *testing.T) {
	tests := []struct {
		name string
		call func(t testing.TB)
		want string
		took time.Duration
	}{
		{
			"Shared without Main", func(t testing.TB) {
				running = false
				defer func() { running = true }()
				new(shared[*Server]).get(t)
			},
			"redistest: nothing closes a shared server: use redistest.Main in TestMain", 0,
		}, {
			"Eventually", func(t testing.TB) { Eventually(t, "a miracle", func() bool { return false }) },
			"redistest: waiting for a miracle: it does not hold, for 15s", patience + step,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				failing, start := &failingT{TB: t}, time.Now()
				go tt.call(failing)
				synctest.Wait()
				time.Sleep(tt.took)
				synctest.Wait()
				if failing.message != tt.want {
					t.Errorf("after %v the test has failed with %q, want %q", time.Since(start), failing.message, tt.want)
				}
			})
		})
	}
}

// A failingT ends the goroutine that fails it, but not its parent.
type failingT struct {
	testing.TB
	message string
}

func (t *failingT) Fatal(args ...any) {
	t.message = fmt.Sprint(args...)
	runtime.Goexit()
}

func (t *failingT) Fatalf(format string, args ...any) { t.Fatal(fmt.Sprintf(format, args...)) }
