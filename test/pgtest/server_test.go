package pgtest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// victimEnv is set for a test binary that is to be killed.
const victimEnv = "PGTEST_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(victimEnv) != "" {
		beVictim()
	}
	Main(m)
}

// beVictim starts a server, prints its address and never returns.
func beVictim() {
	s, err := startServer()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.Addr)
	select {}
}

// TestServerSurvivesKill kills a running server, and a server that has ended. Nothing remains of the server
// after its test.
func TestServerSurvivesKill(t *testing.T) {
	t.Parallel()
	var s *Server
	t.Run("inner", func(t *testing.T) {
		s = NewServer(t, "work_mem = 12345kB")
		database := s.Database(t)
		s.Exec(t, database, "CREATE TABLE t (); DO $$ BEGIN ASSERT current_setting('work_mem') = '12345kB'; END $$")
		s.Kill()
		redistest.Eventually(t, "a child that was being forked ends, too", func() bool { return !listens(s.Addr) })
		s.Kill()
		s.Restart(t)
		s.Exec(t, database, "DROP TABLE t")
		s.Kill()
		conf := filepath.Join(s.dir, dataDir, "postgresql.conf")
		if err := os.WriteFile(conf, []byte("work_mem = many"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.launch(); err == nil || !strings.Contains(err.Error(), `invalid value for parameter "work_mem"`) {
			t.Errorf("starting with a wrong setting: %v, want an error with the log", err)
		}
	})
	if listens(s.Addr) {
		t.Error("the server still listens after its test")
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("its directory after the test: %v, want that it does not exist", err)
	}
}

func listens(addr string) bool {
	conn, err := net.Dial("tcp", addr)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

// TestServersEndWithTheTestBinary runs this binary again, as a victim, and kills it.
func TestServersEndWithTheTestBinary(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "pgtest") // another user may read there, unlike in t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimEnv+"=yes", "TMPDIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	addr := lines.Text()
	if !listens(addr) {
		t.Errorf("the binary printed %q, want the address of a server", addr)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	redistest.Eventually(t, "the end of "+addr, func() bool { return !listens(addr) })
}
