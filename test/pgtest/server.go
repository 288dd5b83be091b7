package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetlimit/fleetlimit/test/certtest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// The files in a server's directory.
const (
	dataDir = "data"
	logFile = "log"
)

// patience is how long a server may take to start.
const patience = 30 * time.Second

// The lines that every server has in its configuration. Nothing is written through to the disk: what a killed
// server has written is still in the memory of the system. The user needs_password is the only one with a
// password.
const (
	settings = `listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
full_page_writes = off
dynamic_shared_memory_type = mmap
shared_buffers = 16MB
max_connections = 200
max_wal_size = 256MB
log_checkpoints = off
timezone = 'Pacific/Chatham'
ssl = on
`
	access = `host all needs_password 127.0.0.1/32 scram-sha-256
host all is_refused 127.0.0.1/32 reject
host all all 127.0.0.1/32 trust
`
)

// A Server is a PostgreSQL server.
type Server struct {
	Addr string // 127.0.0.1:port

	// Authority is the file with the self-signed certificate of the server, for 127.0.0.1.
	Authority string

	dir       string
	user      *syscall.Credential // nil if the server runs as the user of the test
	proc      *redistest.Process
	databases atomic.Int64
}

func startServer(options ...string) (s *Server, err error) {
	s = &Server{Addr: redistest.FreeAddr()}
	if s.user, err = credential(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "pgtest"); err != nil {
		return nil, err
	}
	if err = s.prepare(options); err == nil {
		err = s.launch()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// prepare makes the server's files.
func (s *Server) prepare(options []string) error {
	if err := s.own(s.dir); err != nil {
		return err
	}
	out, err := s.command("initdb", "--no-sync", "--no-instructions", "--username=postgres", "--auth=trust",
		"--encoding=UTF8", "--locale=C", "--pgdata="+dataDir)
	if err != nil {
		return err
	}
	if printed, err := out.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: initdb: %w:\n%s", err, printed)
	}
	certificate, key, err := certtest.New()
	if err != nil {
		return err
	}
	s.Authority = filepath.Join(s.dir, dataDir, "server.crt")
	lines := settings + "port = " + redistest.Port(s.Addr) + "\n" + strings.Join(options, "\n") + "\n"
	for name, text := range map[string][]byte{
		"postgresql.conf": []byte(lines), "pg_hba.conf": []byte(access), "server.crt": certificate, "server.key": key,
	} {
		path := filepath.Join(s.dir, dataDir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
		if err := s.own(path); err != nil {
			return err
		}
	}
	return nil
}

// own gives a file to the user of the server.
func (s *Server) own(path string) error {
	if s.user == nil {
		return nil
	}
	return os.Chown(path, int(s.user.Uid), int(s.user.Gid))
}

// command returns a command that runs as the user of the server, in its directory. A server that
// gets SIGQUIT ends at once, with its children.
func (s *Server) command(program string, args ...string) (*exec.Cmd, error) {
	folder, err := programs()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(folder, program), args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, redistest.ChildAttributes(syscall.SIGQUIT)
	cmd.SysProcAttr.Credential = s.user
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"} // without variables such as PGDATA
	return cmd, nil
}

// launch starts the server, and returns when it answers. The children of a killed server take a moment to
// end, and no other server starts on their data until then.
func (s *Server) launch() error {
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		if s.proc == nil || !s.proc.Running() {
			cmd, err := s.command("postgres", "-D", dataDir)
			if err != nil {
				return err
			}
			if s.proc, err = redistest.StartProcess(cmd, logFile); err != nil {
				return fmt.Errorf("pgtest: %w", err)
			}
		}
		err := s.ping()
		if err == nil {
			return nil
		}
		if !s.proc.Running() && !strings.Contains(s.logTail(), "shared memory block") {
			err = errors.New("the process has ended")
		} else if time.Now().Before(deadline) {
			continue
		}
		return fmt.Errorf("pgtest: starting PostgreSQL at %s: %w; its log ends with\n%s", s.Addr, err, s.logTail())
	}
}

func (s *Server) ping() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// URL returns the URL of a database for the superuser.
func (s *Server) URL(database string) string {
	return "postgres://postgres@" + s.Addr + "/" + database + "?sslmode=disable"
}

// Database makes a database, and returns its name.
func (s *Server) Database(t testing.TB) (name string) {
	t.Helper()
	name = fmt.Sprint("test", s.databases.Add(1))
	s.Exec(t, "postgres", "CREATE DATABASE "+name)
	return name
}

// Exec runs statements in a database, as the superuser. They are one transaction unless they say
// otherwise.
func (s *Server) Exec(t testing.TB, database, statements string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL(database))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.PgConn().Exec(t.Context(), statements).ReadAll(); err != nil {
		t.Fatalf("%v: %s", err, statements)
	}
}

// Kill kills the server by SIGKILL. Its children notice that and end.
func (s *Server) Kill() { s.proc.End(syscall.SIGKILL) }

// Restart starts the server again after Kill, and returns when it answers.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if err := s.launch(); err != nil {
		t.Fatal(err)
	}
}

// Close ends the server, and removes its files.
func (s *Server) Close() {
	if s.proc != nil {
		s.proc.End(syscall.SIGQUIT)
	}
	_ = os.RemoveAll(s.dir)
}

func (s *Server) logTo(t testing.TB) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("PostgreSQL %s ends its log with:\n%s", s.Addr, s.logTail())
		}
	})
}

// logTail returns the last lines of the log.
func (s *Server) logTail() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, logFile)) // no file means no output yet
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}
