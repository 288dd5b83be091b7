package rules

import (
	"cmp"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/text/strictjson"
)

// The values of Touch.Did: what a version did to an entry, to limits of a zone or to the emergency.
const (
	Made    = "made"
	Changed = "changed"
	Ended   = "ended"
	Expired = "expired"
)

// The values of Touch.What, besides Reset and AddQuota.
const (
	TouchLimit     = "limit" // a limit or another setting of the zone
	TouchOverride  = "override"
	TouchTier      = "tier"
	TouchAccess    = "access"
	TouchEmergency = "emergency"
)

// A Subject is what touches are looked for: one key of a zone, or a zone with all its keys.
type Subject struct {
	Zone string

	// Is reports whether name names the key. stored, in base64, is the key itself in place of a name.
	// If Is is nil, the subject is the zone with all its keys.
	Is func(name Key, stored string) bool

	// At reports whether an address or a prefix contains the client address that the key is. If At is
	// nil, the subject has entries about all addresses.
	At func(address string) bool
}

// A Touch is what a version did to a subject.
type Touch struct {
	Version *Version // without its document
	Time    time.Time
	What    string // TouchLimit and so on, Reset or AddQuota
	Did     string // Made and so on; "" if What is Reset or AddQuota
	Text    string // the value after the version, or the value that the version removed
	Reason  string

	Entry    string // the ID of an entry
	Key      Key    // of an entry or an action; the zero value if the touch is about no key
	Stored   string // the key as the store of the counts has it, in place of a name
	Endpoint string
}

// touches returns what a version did to s. before and after are the documents before it and with
// it.
func (s *Subject) touches(v *Version, before, after *Document) (all []Touch) {
	for i := range v.Actions {
		if a := &v.Actions[i]; s.isKey(&a.Key, a.Stored) {
			t := Touch{What: a.Kind, Reason: v.Note, Key: a.Key, Stored: a.Stored, Endpoint: a.Endpoint}
			if a.Kind == AddQuota {
				t.Text = summaryText(a.Events) + " events"
			}
			all = append(all, t)
		}
	}
	for _, d := range Diff(&Document{Zones: s.zoneOf(before)}, &Document{Zones: s.zoneOf(after)}) {
		t := Touch{What: TouchLimit, Did: Changed, Reason: v.Note}
		switch {
		case d.From == nil:
			t.Did, t.Text = Made, summaryText(d.To)
		case d.To == nil:
			t.Did, t.Text = Ended, summaryText(d.From)
		default:
			t.Text = summaryText(d.From) + " to " + summaryText(d.To)
		}
		inZone := strings.TrimPrefix(strings.TrimPrefix(d.Path, strictjson.Child("zones", s.Zone)), ".")
		t.Text = strings.TrimSpace(inZone + " " + t.Text)
		all = append(all, t)
	}
	all = append(all, touched(s, v, TouchOverride, before.Overrides, after.Overrides)...)
	all = append(all, touched(s, v, TouchTier, before.Tiers, after.Tiers)...)
	all = append(all, touched(s, v, TouchAccess, before.Access, after.Access)...)
	all = append(all, touchedEmergency(v, before.Emergency, after.Emergency)...)
	for i := range all {
		all[i].Version = v
		if all[i].Time.IsZero() {
			all[i].Time = v.Time
		}
	}
	return all
}

func (s *Subject) zoneOf(d *Document) map[string]*ZoneChange {
	if z := d.Zones[s.Zone]; z != nil {
		return map[string]*ZoneChange{s.Zone: z}
	}
	return nil
}

// isKey reports whether a name is that of the key of s, or that of any key if s is a zone.
func (s *Subject) isKey(name *Key, stored string) bool {
	return name != nil && name.Zone == s.Zone && (s.Is == nil || s.Is(*name, stored))
}

// isAt reports whether an entry is about an address that contains the key of s, or about any
// address if s is a zone.
func (s *Subject) isAt(e any) bool {
	a, isAccess := e.(*AccessEntry)
	return isAccess && a.Address != "" && (s.At == nil || s.At(a.Address))
}

// entriesOf returns the entries of a list that are about s, by ID.
func entriesOf[E ListEntry](s *Subject, list []E) map[string]E {
	found := make(map[string]E)
	for _, e := range list {
		if s.isKey(e.OfKey(), "") || s.isAt(e) {
			found[e.Common().ID] = e
		}
	}
	return found
}

// touched returns what a version did to the entries of a list that are about s.
func touched[E ListEntry](s *Subject, v *Version, what string, from, to []E) (all []Touch) {
	before, after := entriesOf(s, from), entriesOf(s, to)
	for _, id := range bothNames(before, after) {
		was, isBefore := before[id]
		is, isAfter := after[id]
		switch {
		case !isBefore:
			all = append(all, newTouch(what, Made, is))
		case isAfter:
			if !same(was, is) {
				all = append(all, newTouch(what, Changed, is))
			}
		case was.Common().Expired(v.Time):
			t := newTouch(what, Expired, was)
			t.Time = *was.Common().ExpiresAt
			all = append(all, t)
		default:
			t := newTouch(what, Ended, was)
			t.Reason = v.Note
			all = append(all, t)
		}
	}
	return all
}

// newTouch returns the touch of an entry.
func newTouch[E ListEntry](what, did string, entry E) Touch {
	common := entry.Common()
	t := Touch{What: what, Did: did, Entry: common.ID, Reason: common.Reason, Key: *cmp.Or(entry.OfKey(), new(Key))}
	switch e := any(entry).(type) {
	case *Override:
		t.Endpoint, t.Text = e.Endpoint, e.Limit
		if e.Limit == "" {
			t.Text = "x" + summaryText(e.Multiplier)
		}
	case *TierAssignment:
		t.Text = e.Tier
	case *AccessEntry:
		t.Text = strings.TrimSpace(e.Action + " " + e.Address)
	}
	if until := common.ExpiresAt; until != nil && did != Ended && did != Expired {
		t.Text += " until " + until.UTC().Format(time.RFC3339)
	}
	return t
}

// touchedEmergency returns what a version did to the emergency.
func touchedEmergency(v *Version, was, is *Emergency) []Touch {
	t := Touch{What: TouchEmergency}
	switch {
	case same(was, is):
		return nil
	case was == nil:
		t.Did, t.Text, t.Reason = Made, is.Limit, is.Reason
	case is == nil && was.Expired(v.Time):
		t.Did, t.Text, t.Time = Expired, was.Limit, *was.ExpiresAt
	case is == nil:
		t.Did, t.Text, t.Reason = Ended, was.Limit, v.Note
	default:
		t.Did, t.Text, t.Reason = Changed, is.Limit, is.Reason
	}
	return []Touch{t}
}
