package redistest

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"testing"
)

// TestServersDieWithTheTestBinary runs this binary again, as a victim, and kills it.
func TestServersDieWithTheTestBinary(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimEnv+"=yes", "TMPDIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range 2 {
		lines.Scan()
		addr := lines.Text()
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatalf("the binary printed %q, want the address of a server: %v", addr, err)
		}
		_ = conn.Close()
		defer Eventually(t, "the end of "+addr, func() bool { // after the binary is killed, below
			conn, err := net.Dial("tcp", addr)
			if err == nil {
				_ = conn.Close()
			}
			return err != nil
		})
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}
