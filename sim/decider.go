package sim

import (
	"cmp"
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A ZoneLimit is a limit of a zone, for an endpoint, a tier or both. Request.Rule is its index.
type ZoneLimit struct {
	Endpoint string `json:"endpoint,omitempty"`
	Tier     string `json:"tier,omitempty"`
	Missing  bool   `json:"missing,omitempty"` // the limit is for requests without a key
	Limit    string `json:"limit"`

	Count uint32        `json:"-"` // equal for limits that share their counts
	Rule  *limiter.Rule `json:"-"` // nil if the limit blocks
}

// A Decider decides the requests of a trace by all limits that a zone has in force. It hands the requests of
// one limit to a study. Limits that share a count also share its keys, so a key that changes its tier keeps
// what it has used.
type Decider struct {
	limits  []ZoneLimit
	chosen  int // index of the limit under study; -1 if it is not known yet
	begin   func(limit int) (func(Arrival), error)
	study   func(Arrival)
	err     error // the error of begin
	waiting []Arrival

	counts   []limiter.Count // by key
	outcomes []zoneOutcome   // by limit
	keys     rejections
	limitOf  []uint16 // by key: the limit that rejected it last

	numbers []Key // by key: its number in the study plus 1; 0 if it has none
	names   []Key // by number in the study
	agrees  Agreement
}

type zoneOutcome struct {
	Sum
	seen []bool // by key
	keys int
}

// NewZone returns a zone that decides by limits. begin begins the study of a limit, and returns the
// function that takes its requests. Keys have other numbers in the study: see [Decider.KeyOf]. chosen is
// the index of the limit under study. If chosen is below 0, the zone chooses the limit that has most of
// the first requests.
func NewZone(limits []ZoneLimit, chosen int, begin func(limit int) (func(Arrival), error)) *Decider {
	return &Decider{limits: limits, chosen: chosen, begin: begin, outcomes: make([]zoneOutcome, len(limits))}
}

// chooseAfter is the number of requests after which a zone chooses the limit under study.
const chooseAfter = 1 << 16

// Add decides the next request.
func (z *Decider) Add(r Arrival) {
	z.decide(r)
	if z.study == nil {
		if z.waiting = append(z.waiting, r); len(z.waiting) < chooseAfter {
			return
		}
		z.start()
		return
	}
	z.hand(r)
}

// End ends the trace. It returns the error of begin.
func (z *Decider) End() error {
	if z.study == nil {
		z.start()
	}
	return z.err
}

// start chooses the limit under study, and hands over the requests that have waited.
func (z *Decider) start() {
	if z.chosen < 0 {
		z.chosen = 0
		for i, l := range z.limits {
			if best := z.limits[z.chosen].Rule; l.Rule != nil && (best == nil || z.outcomes[i].requests() > z.outcomes[z.chosen].requests()) {
				z.chosen = i
			}
		}
	}
	if z.study, z.err = z.begin(z.chosen); z.err != nil {
		z.study = func(Arrival) {}
	}
	for _, r := range z.waiting {
		z.hand(r)
	}
	z.waiting = nil
}

// hand hands a request to the study if the request is of the limit under study.
func (z *Decider) hand(r Arrival) {
	if int(r.Rule) != z.chosen {
		return
	}
	number := at(&z.numbers, r.Key)
	if *number == 0 {
		z.names = append(z.names, r.Key)
		*number = Key(len(z.names))
	}
	r.Key, r.Rule = *number-1, 0
	z.study(r)
}

// KeyOf returns the key with the number k in the study.
func (z *Decider) KeyOf(k Key) Key { return z.names[k] }

func (s *Sum) requests() int64 { return s.Admitted + s.Rejected }

// decide decides a request by its limit.
func (z *Decider) decide(r Arrival) {
	ok := false
	if rule := z.limits[r.Rule].Rule; rule != nil {
		c := at(&z.counts, r.Key)
		if *c == nil {
			*c = limiter.NewCount(rule.Algorithm)
		}
		ok = (*c).Take(rule, r.At, min(r.Cost, rule.Capacity())).OK
	}
	o := &z.outcomes[r.Rule]
	o.add(r.Key, ok)
	if seen := at(&o.seen, r.Key); !*seen {
		*seen = true
		o.keys++
	}
	z.keys.add(r, ok)
	if !ok {
		*at(&z.limitOf, r.Key) = r.Rule
	}
	z.agrees.add(r, ok)
}

// A ZoneReport says what the limits that a zone has in force do to a trace.
type ZoneReport struct {
	Zone   string             `json:"zone"`
	Limits []ZoneLimitOutcome `json:"limits"`
	Keys   []ZoneKey          `json:"keys"` // keys that were rejected by any limit
	Agrees *Agreement         `json:"recorded,omitempty"`
}

// A ZoneLimitOutcome is what one limit of a zone does.
type ZoneLimitOutcome struct {
	ZoneLimit
	Studied          bool  `json:"studied,omitempty"` // the rest of the report is about this limit
	Requests         int64 `json:"requests"`
	Keys             int   `json:"keys"`
	RequestsRejected int64 `json:"requests_rejected"`
	KeysRejected     int   `json:"keys_rejected"`
}

// A ZoneKey is a key that a limit of a zone rejects.
type ZoneKey struct {
	KeyOutcome
	Endpoint string `json:"endpoint,omitempty"`
	Tier     string `json:"tier,omitempty"`
}

// Report returns the decisions of the zone. It lists at most top keys.
func (z *Decider) Report(name string, top int, keyName func(Key) string) *ZoneReport {
	r := &ZoneReport{Zone: name, Keys: []ZoneKey{}}
	for i, l := range z.limits {
		o := &z.outcomes[i]
		r.Limits = append(r.Limits, ZoneLimitOutcome{
			ZoneLimit: l, Studied: i == z.chosen, Requests: o.requests(), Keys: o.keys,
			RequestsRejected: o.Rejected, KeysRejected: o.KeysRejected,
		})
	}
	slices.SortStableFunc(r.Limits, func(a, b ZoneLimitOutcome) int {
		return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Tier, b.Tier))
	})
	hit := z.keys.most(top)
	for i, o := range z.keys.outcomes(hit, keyName, nil) {
		l := &z.limits[z.limitOf[hit[i]]]
		r.Keys = append(r.Keys, ZoneKey{o, l.Endpoint, l.Tier})
	}
	if z.agrees.Decisions > 0 {
		r.Agrees = &z.agrees
	}
	return r
}
