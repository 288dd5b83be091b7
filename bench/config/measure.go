//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/bench/caddy"
)

// figures are what one configuration costs.
type figures struct {
	adapt, start, reload, scrape time.Duration
	memory, metrics              float64 // bytes
}

// zone has tiers and two endpoints, as an API that is sold has.
const zone = `	rate_limit {
		zone api_%d {
			key   {http.request.header.X-Api-Key}
			limit 100/1m
			tier {http.auth.user.plan} {
				free 60/1m
				pro  1000/1m burst 1500
			}
			endpoint POST /v1/search* 10/1s
			endpoint /v1/export 5/1m
		}
	}
`

// caddyfile returns sites, with a zone each or without.
func caddyfile(sites, port int, limits bool) string {
	var text strings.Builder
	for i := range sites {
		fmt.Fprintf(&text, "http://site%d.example:%d {\n", i, port)
		if limits {
			fmt.Fprintf(&text, zone, i)
		}
		fmt.Fprintf(&text, "\trespond site%d\n}\n", i)
	}
	return text.String()
}

// measure measures a number of sites.
func measure(binary string, sites int, limits bool) (*figures, error) {
	dir, err := os.MkdirTemp("", "bench-config")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	p, err := caddy.StartSites(binary, dir, func(port int) string { return caddyfile(sites, port, limits) })
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	f := &figures{start: p.Took}
	if f.adapt, err = timed(exec.Command(binary, "adapt", "--config", p.File)); err != nil {
		return nil, err
	}
	time.Sleep(5 * time.Second) // the memory is that at rest
	if f.memory, err = p.Resident(); err != nil {
		return nil, err
	}
	if f.metrics, f.scrape, err = scrape(p.Admin); err != nil {
		return nil, err
	}
	f.reload, err = timed(exec.Command(binary, "reload", "--force", "--config", p.File, "--address", p.Admin))
	return f, err
}

// timed runs a command, and returns how long it has taken.
func timed(command *exec.Cmd) (time.Duration, error) {
	var said bytes.Buffer
	command.Stderr = &said
	began := time.Now()
	if err := command.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", filepath.Base(command.Path), err, said.Bytes())
	}
	return time.Since(began), nil
}

// scrape reads the metrics of an admin endpoint.
func scrape(address string) (size float64, took time.Duration, err error) {
	began := time.Now()
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	n, err := io.Copy(io.Discard, response.Body)
	return float64(n), time.Since(began), err
}
