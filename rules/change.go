package rules

import (
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/strictjson"
)

// Parse reads a document, and refuses names that documents do not have.
func Parse(data []byte) (*Document, error) {
	d := new(Document)
	if err := strictjson.Unmarshal(data, d); err != nil {
		return nil, err
	}
	return d, nil
}

// Merge returns document as a JSON merge patch changes it (RFC 7396): null removes a member, arrays
// are replaced whole.
func Merge[T any](document *T, patch []byte) (*T, error) {
	changes, err := strictjson.Decode(patch)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	before, err := strictjson.Decode(text)
	if err != nil {
		return nil, err
	}
	d := new(T)
	if err := strictjson.Convert(merge(before, changes), d); err != nil {
		return nil, err
	}
	return d, nil
}

func merge(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, value := range changes {
		if value == nil {
			delete(object, name)
		} else {
			object[name] = merge(object[name], value)
		}
	}
	return object
}

// Copy returns a copy of d whose lists and maps can be changed. The entries and zones in them must
// not be: d has them, too.
func (d *Document) Copy() *Document {
	c := *d
	c.Zones = maps.Clone(d.Zones)
	c.Overrides, c.Tiers, c.Access = slices.Clone(d.Overrides), slices.Clone(d.Tiers), slices.Clone(d.Access)
	return &c
}

// DropExpired removes what is over at now, which counts as absent already. d is valid.
func (d *Document) DropExpired(now time.Time) {
	d.Overrides = withoutExpired(d.Overrides, now)
	d.Tiers = withoutExpired(d.Tiers, now)
	d.Access = withoutExpired(d.Access, now)
	if e := d.Emergency; e != nil && e.ExpiresAt != nil && !now.Before(*e.ExpiresAt) {
		d.Emergency = nil
	}
}

func withoutExpired[E listed](entries []E, now time.Time) []E {
	return slices.DeleteFunc(entries, func(e E) bool { return e.common().Expired(now) })
}

// Sign says in the entries that old does not have who made them and when, and gives those an ID that
// have none. It changes no entry of old.
func (d *Document) Sign(old *Document, author string, now time.Time) {
	sign(d.Overrides, old.Overrides, author, now, func(o Override) *Override { return &o })
	sign(d.Tiers, old.Tiers, author, now, func(a TierAssignment) *TierAssignment { return &a })
	sign(d.Access, old.Access, author, now, func(a AccessEntry) *AccessEntry { return &a })
}

func sign[T any, E interface {
	*T
	listed
}](entries, old []E, author string, now time.Time, clone func(T) *T) {
	before := byID(old)
	for i, e := range entries {
		if e == nil {
			continue // Validate reports it
		}
		known := before[e.common().ID]
		if known == e {
			continue
		}
		e = clone(*e)
		entries[i] = e
		c := e.common()
		if known != nil {
			c.CreatedAt, c.CreatedBy = known.common().CreatedAt, known.common().CreatedBy
			continue
		}
		if c.ID == "" {
			c.ID = NewID()
		}
		c.CreatedAt, c.CreatedBy = now.UTC().Truncate(time.Second), author
	}
}

// NewID returns an ID for an entry. It is unique.
func NewID() string {
	return strings.ToLower(rand.Text()[:12]) // 60 bits
}
