package redistest

import (
	"net"
	"os"
	"testing"
)

func TestServerWithoutATestEndsWithClose(t *testing.T) {
	s, err := StartServer("maxmemory 12345678")
	if err != nil {
		t.Fatal(err)
	}
	got := s.Client().ConfigGet(t.Context(), "maxmemory").Val()["maxmemory"]
	s.Close()
	if got != "12345678" {
		t.Errorf("maxmemory = %q, want 12345678", got)
	}
	checkGone(t, s)
}

func TestClusterWithoutATestEndsWithClose(t *testing.T) {
	c, err := StartCluster()
	if err != nil {
		t.Fatal(err)
	}
	err = c.Client().Set(t.Context(), "k", "v", 0).Err()
	c.Close()
	if err != nil {
		t.Errorf("SET: %v", err)
	}
	for _, s := range c.Servers {
		checkGone(t, s)
	}
}

func checkGone(t *testing.T, s *Server) {
	t.Helper()
	if conn, err := net.Dial("tcp", s.Addr); err == nil {
		_ = conn.Close()
		t.Errorf("something still listens at %s", s.Addr)
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", s.dir, err)
	}
}
