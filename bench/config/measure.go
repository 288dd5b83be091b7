//go:build linux

package main

import (
	"bytes"
	"encoding/json"
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
	adapt, start, reload cost
	scrape               time.Duration
	memory, metrics      float64 // bytes
	live                 float64 // bytes of the heap that are in use after a collection of garbage
}

// A cost is the duration of a step, and its processor time.
type cost struct{ took, cpu time.Duration }

func (c cost) String() string { return fmt.Sprintf("%.2f (%.2f) s", c.took.Seconds(), c.cpu.Seconds()) }

// zone has tiers and two endpoints, like a zone of an API that is sold.
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

// caddyfile returns a configuration of sites. If limits is true, each site has a zone.
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

// measure measures a Caddy with this many sites.
func measure(binary string, sites int, limits bool) (*figures, error) {
	dir, err := os.MkdirTemp("", "bench-config")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	p, err := caddy.StartSites(binary, dir, "", func(port int) string { return caddyfile(sites, port, limits) })
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	f := &figures{start: cost{took: p.Took}}
	if f.start.cpu, err = p.CPUTime(); err != nil {
		return nil, err
	}
	if f.adapt, err = timed(exec.Command(binary, "adapt", "--config", p.File)); err != nil {
		return nil, err
	}
	time.Sleep(5 * time.Second) // until the memory is the memory at rest
	if f.memory, err = p.Resident(); err != nil {
		return nil, err
	}
	if f.metrics, f.scrape, err = scrape(p.Admin); err != nil {
		return nil, err
	}
	if f.live, err = live(p.Admin); err != nil {
		return nil, err
	}
	cpu, err := p.Spent(func() (err error) {
		f.reload, err = timed(exec.Command(binary, "reload", "--force", "--config", p.File, "--address", p.Admin))
		return err
	})
	f.reload.cpu += cpu
	return f, err
}

// timed runs a command and returns its cost.
func timed(command *exec.Cmd) (cost, error) {
	var said bytes.Buffer
	command.Stderr = &said
	began := time.Now()
	if err := command.Run(); err != nil {
		return cost{}, fmt.Errorf("%s: %w\n%s", filepath.Base(command.Path), err, said.Bytes())
	}
	used := command.ProcessState
	return cost{time.Since(began), used.UserTime() + used.SystemTime()}, nil
}

// live returns the bytes of the heap that are in use after a collection of garbage.
func live(address string) (float64, error) {
	if _, err := get(address, "/debug/pprof/heap?gc=1", io.Discard); err != nil {
		return 0, err
	}
	var text bytes.Buffer
	if _, err := get(address, "/debug/vars", &text); err != nil {
		return 0, err
	}
	var vars struct {
		MemStats struct{ HeapAlloc float64 } `json:"memstats"`
	}
	err := json.Unmarshal(text.Bytes(), &vars)
	return vars.MemStats.HeapAlloc, err
}

// get copies the response of an admin endpoint to w. It returns the size of the response in bytes.
func get(address, path string, w io.Writer) (size int64, err error) {
	response, err := http.Get("http://" + address + path)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return io.Copy(w, response.Body)
}

// scrape reads the metrics of an admin endpoint. It returns their size in bytes, and the duration.
func scrape(address string) (size float64, took time.Duration, err error) {
	began := time.Now()
	n, err := get(address, "/metrics", io.Discard)
	return float64(n), time.Since(began), err
}
