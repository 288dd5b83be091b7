// Package traffic makes synthetic requests, for a simulation without a log. Equal options make equal
// requests.
package traffic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/sim"
)

// A Shape says how the rate of requests changes over time, and who sends them.
type Shape uint8

const (
	Poisson Shape = iota // requests come independently of each other, at a constant rate
	OnOff                // each key sends in some stretches of ten seconds, and pauses in others
	Daily                // the rate follows the day: it is lowest at 4 o'clock and highest at 16 o'clock
	Flash                // after half of the time, the rate rises tenfold, and falls back within a tenth of the time
	Attack               // in the sixth tenth of the time, one more key sends five times as much as all others
	Storm                // after half of the time, an outage lasts a minute, in which each request is repeated
)

var shapes = [...]string{"poisson", "onoff", "daily", "flash", "attack", "storm"}

// String returns the name of the shape.
func (s Shape) String() string { return shapes[s] }

// Options describe traffic.
type Options struct {
	Shape Shape
	Rate  float64 // requests a second; an average, without the special events of the shape
	For   time.Duration
	Keys  int
	Skew  float64 // exponent of Zipf's law, above 1: the nth key sends n^-Skew as much as the first
	Seed  uint64
}

// The bounds of options.
const (
	maxRate     = 1e6
	maxFor      = 366 * 24 * time.Hour
	maxKeys     = 10_000_000
	maxRequests = 1e9
)

// begin is the first instant of traffic, which is a midnight.
const begin = limiter.Instant(1_767_225_600_000_000)

// String returns the text from which Parse makes o.
func (o *Options) String() string {
	return fmt.Sprintf("%v rate=%s/s for=%v keys=%d skew=%s seed=%d", o.Shape, decimal(o.Rate), o.For, o.Keys, decimal(o.Skew), o.Seed)
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// Make calls add for each request, in the order of arrival. The names of keys are key-0, key-1 and so
// on.
func (o *Options) Make(keys *sim.Keys, add func(sim.Arrival)) {
	m := &maker{Options: o, rng: rand.New(rand.NewPCG(o.Seed, 0)), keys: keys}
	m.zipf = rand.NewZipf(m.rng, o.Skew, 1, uint64(o.Keys-1))
	most := o.Rate * m.peak()
	for at := 0.0; ; {
		at += m.rng.ExpFloat64() / most
		if at >= o.For.Seconds() {
			return
		}
		part := at / o.For.Seconds()
		if m.rng.Float64()*m.peak() >= m.rate(at, part) {
			continue // this request would come only at the highest rate
		}
		add(sim.Arrival{At: begin + limiter.Instant(math.Round(at*1e6)), Key: m.key(at, part), Cost: 1})
	}
}

// A maker makes the requests of options. Its rates are multiples of Options.Rate.
type maker struct {
	*Options
	rng  *rand.Rand
	zipf *rand.Zipf
	keys *sim.Keys

	recent [1024]uint64 // the newest keys in an outage, in a ring
	failed int          // number of keys that were put into recent
}

const (
	flashes  = 10.0 // the highest rate of Flash
	attacks  = 5.0  // the rate of the attacker
	repeats  = 4.0  // number of times that a request in an outage is repeated
	outage   = 60.0 // seconds
	stretch  = 10.0 // seconds in which a key of OnOff either sends or pauses
	sends    = 0.2  // fraction of the stretches in which a key sends
	attacker = "attacker"
)

// peak returns the highest rate.
func (m *maker) peak() float64 {
	switch m.Shape {
	case Daily:
		return 1.8
	case Flash:
		return flashes
	case Attack:
		return 1 + attacks
	case Storm:
		return 1 + repeats
	}
	return 1
}

// rate returns the rate at an instant. at is in seconds, and part is a fraction of the whole time.
func (m *maker) rate(at, part float64) float64 {
	switch {
	case m.Shape == Daily:
		return 1 + 0.8*math.Sin(2*math.Pi*(at/86_400-10.0/24))
	case m.Shape == Flash && part >= 0.5:
		return 1 + (flashes-1)*math.Exp(-(part-0.5)/0.03)
	case m.Shape == Attack && m.attacked(part):
		return 1 + attacks
	case m.Shape == Storm && m.out(at):
		return 1 + repeats
	}
	return 1
}

func (m *maker) attacked(part float64) bool { return part >= 0.5 && part < 0.6 }

func (m *maker) out(at float64) bool {
	since := at - m.For.Seconds()/2
	return since >= 0 && since < outage
}

// key returns the key of a request.
func (m *maker) key(at, part float64) sim.Key {
	switch {
	case m.Shape == Attack && m.attacked(part) && m.rng.Float64() < attacks/(1+attacks):
		return m.keys.Number([]byte(attacker))
	case m.Shape == Storm && m.out(at):
		if m.failed > 0 && m.rng.Float64() < repeats/(1+repeats) {
			return m.number(m.recent[m.rng.IntN(min(m.failed, len(m.recent)))])
		}
		n := m.zipf.Uint64()
		m.recent[m.failed%len(m.recent)] = n
		m.failed++
		return m.number(n)
	case m.Shape == OnOff:
		for range 1000 {
			if n := m.zipf.Uint64(); m.sends(n, uint64(at/stretch)) {
				return m.number(n)
			}
		}
	}
	return m.number(m.zipf.Uint64())
}

// sends reports whether a key of OnOff sends in a stretch.
func (m *maker) sends(key, stretch uint64) bool {
	return rand.New(rand.NewPCG(m.Seed^key, stretch)).Float64() < sends
}

func (m *maker) number(n uint64) sim.Key {
	return m.keys.Number(strconv.AppendUint([]byte("key-"), n, 10))
}
