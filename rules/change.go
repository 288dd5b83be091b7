package rules

import (
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/text/strictjson"
)

// members are the members of a document as JSON. Each function copies one member.
var members = map[string]func(to, from *Document){
	"zones":     func(to, from *Document) { to.Zones = from.Zones },
	"overrides": func(to, from *Document) { to.Overrides = from.Overrides },
	"tiers":     func(to, from *Document) { to.Tiers = from.Tiers },
	"access":    func(to, from *Document) { to.Access = from.Access },
	"emergency": func(to, from *Document) { to.Emergency = from.Emergency },
}

// Merge returns document as a JSON merge patch changes it (RFC 7396): null removes a member, arrays
// are replaced whole. patch is decoded JSON. The members that it does not name stay as they are.
func Merge(document *Document, patch any) (*Document, error) {
	named, _ := patch.(map[string]any)
	part, merged, rest := new(Document), new(Document), document.Clone()
	for name, take := range members {
		if _, found := named[name]; found {
			take(part, rest)
		}
	}
	if err := strictjson.MergePatch(part, patch, merged); err != nil {
		return nil, err
	}
	for name, take := range members {
		if _, found := named[name]; !found {
			take(merged, rest)
		}
	}
	return merged, nil
}

// Accept checks d, a document that somebody has made of old, and completes it: it makes new entries
// canonical, notes who has made them, and removes what has expired at now. The error is an
// [*InvalidError] if the document has mistakes.
func Accept(d, old *Document, schema Schema, author string, now time.Time) error {
	if err := d.CheckObjects(); err != nil {
		return err
	}
	d.normalize(old, schema)
	d.sign(old, author, now)
	if err := Validate(d, old, schema, now); err != nil {
		return err
	}
	d.dropExpired(now)
	return nil
}

// dropExpired removes what has expired at now. Expired entries have no effect already.
func (d *Document) dropExpired(now time.Time) {
	d.Overrides = withoutExpired(d.Overrides, now)
	d.Tiers = withoutExpired(d.Tiers, now)
	d.Access = withoutExpired(d.Access, now)
	if d.Emergency.Expired(now) {
		d.Emergency = nil
	}
}

func withoutExpired[E ListEntry](entries []E, now time.Time) []E {
	return slices.DeleteFunc(entries, func(e E) bool { return e.Common().Expired(now) })
}

// sign notes who made the entries that old does not have, and when, and gives an ID to those that
// have none. It notes who has started or changed the emergency. Entries that d shares with old stay
// as they are.
func (d *Document) sign(old *Document, author string, now time.Time) {
	sign(d.Overrides, old.Overrides, author, now)
	sign(d.Tiers, old.Tiers, author, now)
	sign(d.Access, old.Access, author, now)
	if e := d.Emergency; e != nil && e != old.Emergency {
		if old.Emergency != nil {
			e.StartedBy = old.Emergency.StartedBy
		}
		if !same(e, old.Emergency) {
			e.StartedBy = author
		}
	}
}

func sign[E ListEntry](entries, old []E, author string, now time.Time) {
	changes := Splices(old, entries)
	before := removed(old, changes)
	for _, i := range inserted(changes) {
		e := entries[i]
		c := e.Common()
		if known, found := before[c.ID]; found {
			if known == e {
				continue // it has moved
			}
			c.CreatedAt, c.CreatedBy = known.Common().CreatedAt, known.Common().CreatedBy
			continue
		}
		if c.ID == "" {
			c.ID = NewID()
		}
		c.CreatedAt, c.CreatedBy = now.UTC().Truncate(time.Second), author
	}
}

// Other returns an entry in force at now that is about the same as e, but has another ID. It
// returns nil if there is none.
func Other[E ListEntry](entries []E, e E, schema Schema, now time.Time) (other E) {
	about := Canonical(e, schema).subjectOf()
	for _, o := range entries {
		if o.Common().ID != e.Common().ID && !o.Common().Expired(now) && Canonical(o, schema).subjectOf() == about {
			return o
		}
	}
	return other
}

// NewID returns an ID for an entry. It is unique.
func NewID() string {
	return strings.ToLower(rand.Text()[:12]) // 60 bits
}
