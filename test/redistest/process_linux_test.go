package redistest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestServersEndWithAKilledTestBinary runs this binary again, as one that starts servers, and kills it.
func TestServersEndWithAKilledTestBinary(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimEnv+"=yes", "TMPDIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var addrs []string
	for lines := bufio.NewScanner(out); len(addrs) < 2 && lines.Scan(); {
		if addr, ok := strings.CutPrefix(lines.Text(), "started "); ok {
			addrs = append(addrs, addr)
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if len(addrs) != 2 {
		t.Fatalf("the binary has started %d servers, want 2", len(addrs))
	}
	for _, addr := range addrs {
		err := until(func(ctx context.Context) error {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
			if errors.Is(err, syscall.ECONNREFUSED) {
				return nil
			}
			if err != nil {
				return err
			}
			_ = conn.Close()
			return fmt.Errorf("%s still listens", addr)
		})
		if err != nil {
			t.Error(err)
		}
	}
}
