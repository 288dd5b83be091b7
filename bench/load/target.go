//go:build linux

package load

import (
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/bench/caddy"
	"github.com/fleetlimit/fleetlimit/bench/report"
)

// A Target is a Caddy under load.
type Target struct {
	*caddy.Process
	Client   *Client
	Requests *Requests
	Status   int // of all responses
}

// Figures are the results of a load.
type Figures struct {
	Rate      float64         // responses per second
	CPU       float64         // processor time per response, in µs
	latencies []time.Duration // sorted
}

// Latency returns the quantile q of the latencies, in ms.
func (f *Figures) Latency(q float64) float64 { return report.Quantile(q, f.latencies).Seconds() * 1e3 }

// Measure sends the requests of a load, and returns the figures.
func (t *Target) Measure(l Load) (f Figures, err error) {
	var took time.Duration
	cpu, err := t.Spent(func() (err error) {
		f.latencies, took, err = t.Client.Send(t.Requests, l, t.Status)
		return err
	})
	n := float64(len(f.latencies))
	f.Rate, f.CPU = n/took.Seconds(), cpu.Seconds()*1e6/n
	slices.Sort(f.latencies)
	return f, err
}
