package rules

import (
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/strictjson"
)

// Merge returns document as a JSON merge patch changes it (RFC 7396): null removes a member, arrays
// are replaced whole. patch is decoded JSON.
func Merge(document *Document, patch any) (*Document, error) {
	d := new(Document)
	if err := strictjson.MergePatch(document, patch, d); err != nil {
		return nil, err
	}
	return d, nil
}

// DropExpired removes what is over at now, which counts as absent already.
func (d *Document) DropExpired(now time.Time) {
	d.Overrides = withoutExpired(d.Overrides, now)
	d.Tiers = withoutExpired(d.Tiers, now)
	d.Access = withoutExpired(d.Access, now)
	if d.Emergency.Expired(now) {
		d.Emergency = nil
	}
}

func withoutExpired[E ListEntry](entries []E, now time.Time) []E {
	var none E // nil
	return slices.DeleteFunc(entries, func(e E) bool { return e != none && e.Common().Expired(now) })
}

// Sign says in the entries that old does not have who made them and when, and gives those an ID
// that have none. It says who has started or changed the emergency. d shares no entry with old.
func (d *Document) Sign(old *Document, author string, now time.Time) {
	sign(d.Overrides, old.Overrides, author, now)
	sign(d.Tiers, old.Tiers, author, now)
	sign(d.Access, old.Access, author, now)
	if e := d.Emergency; e != nil {
		if old.Emergency != nil {
			e.StartedBy = old.Emergency.StartedBy
		}
		if !same(e, old.Emergency) {
			e.StartedBy = author
		}
	}
}

func sign[E ListEntry](entries, old []E, author string, now time.Time) {
	var none E // nil
	before := byID(old)
	for _, e := range entries {
		if e == none {
			continue // Validate reports it
		}
		c := e.Common()
		if known, found := before[c.ID]; found {
			c.CreatedAt, c.CreatedBy = known.Common().CreatedAt, known.Common().CreatedBy
			continue
		}
		if c.ID == "" {
			c.ID = NewID()
		}
		c.CreatedAt, c.CreatedBy = now.UTC().Truncate(time.Second), author
	}
}

// Other returns an entry of a list, which is in force at now and has another ID, about the same as
// e. It returns nil if there is none.
func Other[E ListEntry](entries []E, e E, now time.Time) (other E) {
	for _, o := range entries {
		if o.Common().ID != e.Common().ID && !o.Common().Expired(now) && o.about() == e.about() {
			return o
		}
	}
	return other
}

// NewID returns an ID for an entry. It is unique.
func NewID() string {
	return strings.ToLower(rand.Text()[:12]) // 60 bits
}
