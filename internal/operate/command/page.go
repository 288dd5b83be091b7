package command

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fleetlimit/fleetlimit/internal/operate/adminapi"
)

// pageCommand returns the command that serves the operator's page to a browser. Caddy's admin
// endpoint refuses a browser in which somebody enters its address, because the browser then names
// no origin.
func pageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "page", Short: "Serves the operator's page on this machine",
		Long: `
Serves the operator's page of the node on this machine, and prints its address
for a browser. It forwards what the page needs to the admin endpoint, until it
is interrupted. Whoever has the address can change the limits: it has a secret,
which is another one each time.`,
		Example: `  caddy rate-limit page
  caddy rate-limit page --address unix//run/caddy/admin.sock`,
		Args: argumentsBetween(0, 0), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return servePage(ctx, cmd)
		},
	}
	cmd.Flags().String("listen", "localhost:0", "Where to serve it, on this machine; port 0 is any that is free")
	return cmd
}

// servePage serves the page until ctx ends.
func servePage(ctx context.Context, cmd *cobra.Command) error {
	address, _ := cmd.Flags().GetString("listen")
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("%w: use --listen with another address", err)
	}
	if host := listener.Addr().(*net.TCPAddr); !host.IP.IsLoopback() {
		_ = listener.Close()
		return wrongUsage(cmd, fmt.Errorf("%v is not on this machine alone: use --listen with localhost", host))
	}
	p := &pageProxy{cmd, listener.Addr().String(), "/" + rand.Text()}
	server := &http.Server{Handler: p}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	_, _ = fmt.Fprintf(cmd.OutOrStdout(), "http://%s%s/rate_limit/\n", p.host, p.secret) // nobody may be reading
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// A pageProxy forwards requests of the page to the admin endpoint that the flags of a command name.
type pageProxy struct {
	cmd    *cobra.Command
	host   string // host that browsers must ask for; another name may have been rebound to this address
	secret string // first element of all paths
}

func (p *pageProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, known := strings.CutPrefix(r.URL.Path, p.secret+"/rate_limit/")
	if !known || r.Host != p.host {
		http.NotFound(w, r)
		return
	}
	if err := adminapi.CheckOrigin(r, path == ""); err != nil {
		refuse(w, err, http.StatusForbidden)
		return
	}
	resp, err := p.forward(r)
	if err != nil {
		refuse(w, err, http.StatusBadGateway)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(flushed{w}, resp.Body) // it fails if the browser has left, which needs no error
}

// forward sends a request of the page to the admin endpoint.
func (p *pageProxy) forward(r *http.Request) (*http.Response, error) {
	path := strings.TrimPrefix(r.URL.EscapedPath(), p.secret+"/rate_limit/")
	request := newRequest(r.Method, path, nil)
	request.query = r.URL.Query()
	request.header.Set("Connection", "close")
	for _, name := range []string{"If-Match", "If-None-Match"} {
		if values := r.Header.Values(name); len(values) > 0 {
			request.header[name] = values
		}
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		request.body = body
	}
	return request.open(p.cmd)
}

// refuse answers with an error as the admin API does.
func refuse(w http.ResponseWriter, err error, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()}) // the browser may have left
}

// A flushed flushes each write at once, because the stream of the page never ends.
type flushed struct{ http.ResponseWriter }

func (f flushed) Write(text []byte) (int, error) {
	n, err := f.ResponseWriter.Write(text)
	_ = http.NewResponseController(f.ResponseWriter).Flush() // a write reports the same failure
	return n, err
}
