package rules

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/key/ipset"
	"github.com/fleetlimit/fleetlimit/internal/text/spelling"
	"github.com/fleetlimit/fleetlimit/internal/text/strictjson"
)

// The bounds of a document.
const (
	MaxEntries    = strictjson.MaxElements // entries of a list
	MaxKey        = 16 << 10
	MaxReason     = 1000 // bytes
	MaxMultiplier = 1e6
	MaxEmergency  = 24 * time.Hour
)

// A Problem is a mistake in a document.
type Problem struct {
	Path string // where it is, such as overrides[3].limit
	Err  error
}

// An InvalidError has the first problems of a document.
type InvalidError struct {
	Problems []Problem
}

// maxProblems is how many problems an InvalidError has at most.
const maxProblems = 10

// Error implements error.
func (e *InvalidError) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.Path + ": " + p.Err.Error()
	}
	return strings.Join(texts, "; ")
}

// Validate returns an [*InvalidError] if document has mistakes. What old has, too, is no mistake:
// an entry may have expired since, and a zone may have left the configuration, but other changes
// must be possible. old may be nil.
func Validate(document, old *Document, schema Schema, now time.Time) error {
	if err := document.CheckObjects(); err != nil {
		return err
	}
	if old == nil {
		old = new(Document)
	}
	v := validator{document: document, schema: schema, now: now, zoneNames: schema.Zones(), known: map[string]*knownZone{}}
	for _, name := range slices.Sorted(maps.Keys(document.Zones)) {
		z := document.Zones[name]
		if before, found := old.Zones[name]; !found || !same(z, before) {
			v.zone(strictjson.Child("zones", name), name, z)
		}
	}
	validateList(&v, "overrides", document.Overrides, old.Overrides)
	validateList(&v, "tiers", document.Tiers, old.Tiers)
	validateList(&v, "access", document.Access, old.Access)
	if len(Splices(old.Access, document.Access)) > 0 && !same(document.Access, old.Access) {
		v.deniedAddresses(document.Access)
	}
	if e := document.Emergency; e != nil && !same(e, old.Emergency) {
		v.emergency("emergency", e)
	}
	return v.err()
}

// CheckObjects returns an [*InvalidError] if d has null in place of a zone, an endpoint or an
// entry, or too many entries. Code after the check need not look for nil.
func (d *Document) CheckObjects() error {
	v := new(validator)
	for _, name := range slices.Sorted(maps.Keys(d.Zones)) {
		z, path := d.Zones[name], strictjson.Child("zones", name)
		if z == nil {
			v.report(path, "it is null: use an object, or leave the zone out")
			continue
		}
		for _, endpoint := range slices.Sorted(maps.Keys(z.Endpoints)) {
			if z.Endpoints[endpoint] == nil {
				v.report(strictjson.Child(path+".endpoints", endpoint), "it is null: use an object, or leave the endpoint out")
			}
		}
	}
	checkList(v, "overrides", d.Overrides)
	checkList(v, "tiers", d.Tiers)
	checkList(v, "access", d.Access)
	return v.err()
}

func checkList[E ListEntry](v *validator, list string, entries []E) {
	if len(entries) > MaxEntries {
		v.report(list, "there are %d entries: use at most %d", len(entries), MaxEntries)
		return
	}
	var null E
	for i, e := range entries {
		if e == null {
			v.report(strictjson.Index(list, i), "it is null: use an object, or leave it out")
		}
	}
}

func same[T any](a, b T) bool { return reflect.DeepEqual(a, b) }

// A validator collects the problems of a document.
type validator struct {
	document  *Document
	schema    Schema
	now       time.Time
	zoneNames []string
	known     map[string]*knownZone // zones of the configuration that were looked up, by name
	problems  []Problem
}

// A knownZone is what a zone of the configuration has.
type knownZone struct {
	tiers, endpoints []string
	override         func(*Override) error // see Schema.Overrides; nil if it was not needed yet
}

// err returns the problems as an error, or nil if there are none.
func (v *validator) err() error {
	if len(v.problems) == 0 {
		return nil
	}
	return &InvalidError{Problems: v.problems}
}

func (v *validator) report(path, format string, args ...any) {
	v.check(path, fmt.Errorf(format, args...))
}

func (v *validator) check(path string, err error) {
	if err != nil && len(v.problems) < maxProblems {
		v.problems = append(v.problems, Problem{path, err})
	}
}

// find reports whether name is one of names. If it is not, find adds a problem. what says what
// names are the names of.
func (v *validator) find(path, what, name string, names []string) bool {
	if slices.Contains(names, name) {
		return true
	}
	use := "use a configuration that has it"
	if nearest := spelling.Nearest(name, names); nearest != "" {
		use = fmt.Sprintf("use %q", nearest)
	} else if len(names) > 0 {
		use = "use " + oneOf(names)
	}
	if name == "" {
		v.report(path, "the %s is missing: %s", what, use)
	} else {
		v.report(path, "there is no %s %q: %s", what, name, use)
	}
	return false
}

// oneOf lists names for an error, the first ones if there are many.
func oneOf(names []string) string {
	const most = 10
	quoted := make([]string, min(len(names), most))
	for i := range quoted {
		quoted[i] = fmt.Sprintf("%q", names[i])
	}
	list := strings.Join(quoted, ", ")
	switch {
	case len(names) == 1:
		return list
	case len(names) > most:
		return fmt.Sprintf("one of %s and %d more", list, len(names)-most)
	}
	return "one of " + list
}

// findZone returns what the zone called name has. It returns nil and reports a problem if there is
// no such zone.
func (v *validator) findZone(path, name string) *knownZone {
	if z := v.known[name]; z != nil {
		return z
	}
	if !v.find(path, "zone", name, v.zoneNames) {
		return nil
	}
	z := &knownZone{tiers: v.schema.Tiers(name), endpoints: v.schema.Endpoints(name)}
	v.known[name] = z
	return z
}

func (v *validator) zone(path, name string, z *ZoneChange) {
	known := v.findZone(path, name)
	if known == nil {
		return
	}
	if z.Limit != "" {
		v.check(path+".limit", v.schema.Limit(name, "", "", z.Limit))
	}
	v.tierLimits(path+".tiers", known, name, "", z.Tiers)
	for _, endpoint := range slices.Sorted(maps.Keys(z.Endpoints)) {
		at := strictjson.Child(path+".endpoints", endpoint)
		e := z.Endpoints[endpoint]
		if !v.find(at, "endpoint", endpoint, known.endpoints) {
			continue
		}
		if e.Limit != "" {
			v.check(at+".limit", v.schema.Limit(name, endpoint, "", e.Limit))
		}
		v.tierLimits(at+".tiers", known, name, endpoint, e.Tiers)
	}
	if z.DryRun != "" {
		v.check(path+".dry_run", v.schema.DryRun(z.DryRun))
	}
	if z.Compare != nil {
		v.check(path+".compare", v.schema.Compare(name, z.Compare))
	}
}

// tierLimits checks limits by the names of tiers.
func (v *validator) tierLimits(path string, known *knownZone, zone, endpoint string, limits map[string]string) {
	for _, tier := range slices.Sorted(maps.Keys(limits)) {
		at := strictjson.Child(path, tier)
		switch {
		case !v.find(at, "tier", tier, known.tiers):
		case limits[tier] == "":
			v.report(at, "the limit is empty: use one such as 100/1m, or leave the tier out")
		default:
			v.check(at, v.schema.Limit(zone, endpoint, tier, limits[tier]))
		}
	}
}

// deniedAddresses reports entries that together deny all addresses.
func (v *validator) deniedAddresses(entries []*AccessEntry) {
	var denied []string
	for _, a := range entries {
		if a.Action == Deny && a.Address != "" && !a.Expired(v.now) {
			if _, err := ipset.ParsePrefix(a.Address); err == nil { // otherwise the mistake is reported already
				denied = append(denied, a.Address)
			}
		}
	}
	set, err := ipset.Parse(denied)
	v.check("access", err)
	for _, all := range []string{"0.0.0.0/0", "::/0"} {
		if set.Covers(netip.MustParsePrefix(all)) {
			v.report("access", "the entries deny all addresses of %s: use narrower ranges, or the limit block in zones, which "+
				"rejects all requests", all)
		}
	}
}

func (v *validator) emergency(path string, e *Emergency) {
	if e.Limit == "" {
		v.report(path+".limit", "the limit is missing: use one for each client address, such as 10/1s")
	} else {
		v.check(path+".limit", v.schema.EmergencyLimit(e.Limit))
	}
	if e.ExpiresAt == nil {
		v.report(path+".expires_at", "it is missing: use an instant in the next 24 hours, at which the emergency ends")
	} else if e.ExpiresAt.After(v.now.Add(MaxEmergency)) {
		v.report(path+".expires_at", "it is too far away: use an instant in the next 24 hours, and prolong the emergency by "+
			"another change, or use a zone for a lasting limit")
	}
	v.expiry(path, e.ExpiresAt)
	v.reason(path, e.Reason)
}

func (v *validator) expiry(path string, at *time.Time) {
	if expired(at, v.now) {
		v.report(path+".expires_at", "%s has passed: use a later instant", at.UTC().Format(time.RFC3339))
	}
}

func (v *validator) reason(path, reason string) {
	if len(reason) > MaxReason {
		v.report(path+".reason", "it has %d bytes: use at most %d", len(reason), MaxReason)
	}
}
