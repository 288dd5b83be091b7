// Package clients lets clients that people use talk to a Caddy with this plugin. It tests what they read from
// headers and bodies, and when they retry.
//
// The clients of npm run in programs of folder node. A program prints what its client did as JSON, and the
// test here says what that has to be. The names of these tests begin with TestNode, so that other tests can
// run where npm cannot be reached. The name of the test of the dashboard begins with TestNode, too, because
// that test needs TypeScript and the types of Grafana.
package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// The addresses of the gateway's sites, by the site of the Caddyfile.
var httpAddr, plainAddr, grpcAddr = redistest.FreeAddr(), redistest.FreeAddr(), redistest.FreeAddr()

func TestMain(m *testing.M) { redistest.Exit(run(m)) }

// run runs the tests before a gateway with a gRPC server behind it.
func run(m *testing.M) (int, error) {
	upstream, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1, err
	}
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(upstream) }()
	defer server.Stop()

	dir, err := os.MkdirTemp("", "clients")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary, err := nodetest.Build(dir)
	if err != nil {
		return 1, err
	}

	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return 1, err
	}
	defer func() { _ = log.Close() }()
	caddy := exec.Command(binary, "run", "--config", "Caddyfile")
	caddy.Stdout, caddy.Stderr = log, log
	caddy.Env = append(os.Environ(), "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir,
		"HTTP_PORT="+redistest.Port(httpAddr), "PLAIN_PORT="+redistest.Port(plainAddr), "GRPC_PORT="+redistest.Port(grpcAddr),
		"UPSTREAM="+upstream.Addr().String())
	if err := caddy.Start(); err != nil {
		return 1, err
	}
	exited := make(chan error, 1)
	go func() { exited <- caddy.Wait() }()
	for _, addr := range []string{httpAddr, plainAddr, grpcAddr} {
		if err := awaitListener(addr, exited); err != nil {
			_ = caddy.Process.Kill()
			text, _ := os.ReadFile(log.Name())
			return 1, fmt.Errorf("%w; Caddy logged\n%s", err, text)
		}
	}
	code := m.Run()
	_ = caddy.Process.Kill()
	<-exited
	return code, nil
}

// awaitListener waits until something listens at addr. It returns an error if Caddy exits before.
func awaitListener(addr string, exited chan error) error {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case err := <-exited:
			exited <- err
			return fmt.Errorf("caddy run ended with %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return fmt.Errorf("nothing listens on %s", addr)
}

// node runs a program of folder node and decodes what it prints.
func node[Output any](t *testing.T, program, path string, args ...string) (out Output) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	args = append([]string{"node/" + program, "http://" + httpAddr + path}, args...)
	text, err := exec.CommandContext(ctx, "node", args...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			text = append(text, exit.Stderr...)
		}
		t.Fatalf("node %s: %v; make clients installs what it needs\n%s", program, err, text)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("node %s printed %s: %v", program, text, err)
	}
	return out
}
