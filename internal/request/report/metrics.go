package report

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
)

// Register offers the metrics in a configuration's registry. One collector serves the registries of all
// configurations, so counters survive reloads. The collector reads the counters when it is scraped, and
// requests never wait for it.
func (p *Process) Register(registry *prometheus.Registry) error {
	if registry == nil {
		return nil
	}
	if err := registry.Register(p); !errors.As(err, new(prometheus.AlreadyRegisteredError)) {
		return err
	}
	return nil
}

var (
	descAddresses = desc("address_decisions_total", "Requests decided by the client's address before any zone: "+
		"allowed and denied (403).", "outcome")
	descExemptProxies = desc("exempt_proxies_total", "Requests that are allowed by the client's address although that is "+
		"the peer's, which has forwarded the request for another: probably a proxy, whose clients have no limit.")
	descUntrustedProxies = desc("untrusted_proxies_total", "Requests that a zone has counted by the client's address although "+
		"that is the private address of the peer, which has forwarded the request for another: probably a proxy, whose "+
		"clients share one count.")
	descEmergency = desc("emergency", "Whether emergency mode is on: 1, else 0.")
)

// descs are the descriptions that desc has made.
var descs []*prometheus.Desc

// desc describes a family of metrics. No label is ever a key or anything else that a client writes.
func desc(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc("caddy_rate_limit_"+name, help, labels, nil)
	descs = append(descs, d)
	return d
}

// Describe implements prometheus.Collector.
func (p *Process) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range descs {
		ch <- d
	}
	for _, f := range p.families {
		f.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (p *Process) Collect(ch chan<- prometheus.Metric) {
	s := scrape(ch)
	s.count(descAddresses, p.Addresses.Allowed.Load(), api.Allowed)
	s.count(descAddresses, p.Addresses.Denied.Load(), api.Denied)
	s.count(descExemptProxies, p.Addresses.ExemptProxies.Load())
	s.count(descUntrustedProxies, p.Addresses.UntrustedProxies.Load())
	s.gauge(descEmergency, number(p.emergency.Load()))
	used := make(map[string]bool) // zones that have had requests
	for _, z := range usage.All() {
		used[z.Name] = s.collectZone(z)
	}
	s.collectLimits(p.limits(), used)
	s.collectMemory()
	s.collectStores()
	s.collectRules()
	for _, f := range p.families {
		f.Collect(ch)
	}
}

// A scrape receives the metrics of one scrape.
type scrape chan<- prometheus.Metric

func (s scrape) count(d *prometheus.Desc, n uint64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
}

// countEvents collects a counter as count does, but only if it is above 0.
func (s scrape) countEvents(d *prometheus.Desc, n uint64, labels ...string) {
	if n > 0 {
		s.count(d, n, labels...)
	}
}

func (s scrape) gauge(d *prometheus.Desc, value float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

// number returns 1 for true, and 0 for false.
func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Interface guard.
var _ prometheus.Collector = (*Process)(nil)
