package sim

import (
	"cmp"
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A ZoneLimit is a limit of a zone: of an endpoint, a tier or both. Request.Rule is its number.
type ZoneLimit struct {
	Endpoint string `json:"endpoint,omitempty"`
	Tier     string `json:"tier,omitempty"`
	Missing  bool   `json:"missing,omitempty"` // it is of requests without a key
	Limit    string `json:"limit"`

	Count uint32        `json:"-"` // the same for limits that share their counts
	Rule  *limiter.Rule `json:"-"` // nil if it blocks
}

// A Zone decides the requests of a trace by all limits of a zone, as they are in force, and hands those
// of one limit to a study. Limits of one count are used by the same keys: a key that changes its tier
// keeps what it has used.
type Zone struct {
	limits  []ZoneLimit
	chosen  int // the limit of the study; -1: not known yet
	begin   func(limit int) (func(Request), error)
	study   func(Request)
	err     error // of begin
	waiting []Request

	counts   []limiter.Count // by key
	outcomes []zoneOutcome   // by limit
	keys     rejections
	limitOf  []uint16 // of the last rejection of a key

	numbers []Key // of keys in the study, from 1
	names   []Key // of keys of the study
	agrees  Agreement
}

type zoneOutcome struct {
	Sum
	seen []bool // by key
	keys int
}

// NewZone returns a replay by limits. begin begins the study of a limit, and returns what takes its
// requests, whose keys have other numbers: see [Zone.KeyOf]. The limit is chosen, or if that is below
// 0, the one with the most of the first requests.
func NewZone(limits []ZoneLimit, chosen int, begin func(limit int) (func(Request), error)) *Zone {
	return &Zone{limits: limits, chosen: chosen, begin: begin, outcomes: make([]zoneOutcome, len(limits))}
}

// chooseAfter is after how many requests the limit with the most of them is chosen.
const chooseAfter = 1 << 16

// Add takes the next request into account.
func (z *Zone) Add(r Request) {
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

// End ends the trace. The error is that of begin.
func (z *Zone) End() error {
	if z.study == nil {
		z.start()
	}
	return z.err
}

// start chooses the limit of the study.
func (z *Zone) start() {
	if z.chosen < 0 {
		z.chosen = 0
		for i, l := range z.limits {
			if best := z.limits[z.chosen].Rule; l.Rule != nil && (best == nil || z.outcomes[i].requests() > z.outcomes[z.chosen].requests()) {
				z.chosen = i
			}
		}
	}
	if z.study, z.err = z.begin(z.chosen); z.err != nil {
		z.study = func(Request) {}
	}
	for _, r := range z.waiting {
		z.hand(r)
	}
	z.waiting = nil
}

// hand hands a request to the study if it is of its limit.
func (z *Zone) hand(r Request) {
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

// KeyOf returns the key that has a number in the study.
func (z *Zone) KeyOf(k Key) Key { return z.names[k] }

func (s *Sum) requests() int64 { return s.Admitted + s.Rejected }

// decide decides a request by its limit.
func (z *Zone) decide(r Request) {
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

// A ZoneReport says what the limits of a zone, as they are in force, do to a trace.
type ZoneReport struct {
	Zone   string             `json:"zone"`
	Limits []ZoneLimitOutcome `json:"limits"`
	Keys   []ZoneKey          `json:"keys"` // that any limit rejects
	Agrees *Agreement         `json:"recorded,omitempty"`
}

// A ZoneLimitOutcome is what one limit of a zone does.
type ZoneLimitOutcome struct {
	ZoneLimit
	Studied          bool  `json:"studied,omitempty"` // the rest of the report is about it
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

// Report returns what the zone has decided. It lists at most top keys.
func (z *Zone) Report(name string, top int, keyName func(Key) string) *ZoneReport {
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
