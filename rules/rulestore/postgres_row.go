package rulestore

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/rules"
)

// The tables of the rules in force.
const (
	limitsTable      = "rate_limit_limits"
	overridesTable   = "rate_limit_overrides"
	assignmentsTable = "rate_limit_tier_assignments"
	accessTable      = "rate_limit_access"
	emergencyTable   = "rate_limit_emergency"
)

// ruleTables are the tables of the rules in force, with their primary keys.
var ruleTables = []struct{ name, primaryKey string }{
	{limitsTable, "zone, endpoint, tier"},
	{overridesTable, "id"},
	{assignmentsTable, "id"},
	{accessTable, "id"},
	{emergencyTable, "id"},
}

// A row is a row of any of the tables, as to_jsonb makes and jsonb_populate_recordset takes it, on
// top of emptyRow. Each table has some of the columns. Rows are equal if they are equal in the
// database.
type row struct {
	ID               string    `json:"id,omitempty"`
	Zone             string    `json:"zone,omitempty"`
	Key              string    `json:"key,omitempty"`
	KeyBase64        string    `json:"key_base64,omitempty"`
	Missing          bool      `json:"missing,omitempty"`
	Endpoint         string    `json:"endpoint,omitempty"`
	Tier             string    `json:"tier,omitempty"`
	RateLimit        string    `json:"rate_limit,omitempty"`
	DryRun           string    `json:"dry_run,omitempty"`
	CompareKeys      string    `json:"compare_keys,omitempty"`
	CompareLimit     string    `json:"compare_limit,omitempty"`
	CompareAlgorithm string    `json:"compare_algorithm,omitempty"`
	Multiplier       float64   `json:"multiplier,omitempty"`
	Action           string    `json:"action,omitempty"`
	Address          string    `json:"address,omitempty"`
	ExpiresAt        time.Time `json:"expires_at,omitzero"`
	Reason           string    `json:"reason,omitempty"`
	CreatedAt        time.Time `json:"created_at,omitzero"`
	CreatedBy        string    `json:"created_by,omitempty"`
	Position         int64     `json:"position,omitempty"`
}

// emptyRow has what a row is without the fields that are omitted when they are empty. Other columns
// are NULL then.
const emptyRow = `{"zone": "", "key": "", "key_base64": "", "missing": false, "endpoint": "", "tier": "",
	"rate_limit": "", "dry_run": "", "compare_keys": "", "compare_limit": "", "compare_algorithm": "",
	"action": "", "address": "", "reason": "", "created_by": "", "position": 0}`

// A rowID is the primary key of a row in its table.
type rowID struct{ zone, endpoint, tier, id string }

func (r *row) primaryKey(table string) rowID {
	if table == limitsTable {
		return rowID{zone: r.Zone, endpoint: r.Endpoint, tier: r.Tier}
	}
	return rowID{id: r.ID}
}

// rowsOf are the rows of a document by their table, in its order, without positions.
func rowsOf(d *rules.Document) map[string][]*row {
	all := map[string][]*row{limitsTable: limitRows(d.Zones)}
	for _, o := range d.Overrides {
		r := entryRow(&o.Entry, &o.Key)
		r.Endpoint, r.RateLimit, r.Multiplier = o.Endpoint, o.Limit, o.Multiplier
		all[overridesTable] = append(all[overridesTable], r)
	}
	for _, a := range d.Tiers {
		r := entryRow(&a.Entry, &a.Key)
		r.Tier = a.Tier
		all[assignmentsTable] = append(all[assignmentsTable], r)
	}
	for _, a := range d.Access {
		r := entryRow(&a.Entry, a.Key)
		r.Action, r.Address = a.Action, a.Address
		all[accessTable] = append(all[accessTable], r)
	}
	if e := d.Emergency; e != nil {
		all[emergencyTable] = []*row{{
			ID: "emergency", RateLimit: e.Limit, ExpiresAt: instantOf(e.ExpiresAt), Reason: e.Reason, CreatedBy: e.StartedBy,
		}}
	}
	return all
}

func limitRows(zones map[string]*rules.Zone) (all []*row) {
	place := func(own *row, tiers map[string]string) {
		if *own != (row{Zone: own.Zone, Endpoint: own.Endpoint}) || len(tiers) == 0 {
			all = append(all, own)
		}
		for tier, limit := range tiers {
			all = append(all, &row{Zone: own.Zone, Endpoint: own.Endpoint, Tier: tier, RateLimit: limit})
		}
	}
	for name, z := range zones {
		compare := cmp.Or(z.Compare, new(rules.Comparison))
		own := &row{
			Zone: name, RateLimit: z.Limit, DryRun: z.DryRun,
			CompareKeys: compare.Keys, CompareLimit: compare.Limit, CompareAlgorithm: compare.Algorithm,
		}
		if *own != (row{Zone: name}) || len(z.Tiers) > 0 || len(z.Endpoints) == 0 {
			place(own, z.Tiers)
		}
		for pattern, e := range z.Endpoints {
			place(&row{Zone: name, Endpoint: pattern, RateLimit: e.Limit}, e.Tiers)
		}
	}
	return all
}

// entryRow is the row of an entry. key is nil if it has none.
func entryRow(e *rules.Entry, key *rules.Key) *row {
	r := &row{
		ID: e.ID, ExpiresAt: instantOf(e.ExpiresAt), Reason: e.Reason,
		CreatedAt: e.CreatedAt.UTC().Truncate(time.Microsecond), CreatedBy: e.CreatedBy,
	}
	if key != nil {
		r.Zone, r.Key, r.KeyBase64, r.Missing = key.Zone, key.Text, key.Base64, key.Missing
	}
	return r
}

// instantOf returns an instant as PostgreSQL keeps it: to the microsecond. Nil is the zero Time.
func instantOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// setPart sets the part of a document that a table has.
func setPart(d *rules.Document, table string, rows map[rowID]*row) {
	switch table {
	case limitsTable:
		d.Zones = zonesOf(rows)
	case overridesTable:
		d.Overrides = listOf(rows, func(r *row) *rules.Override {
			return &rules.Override{
				Entry: r.entry(), Key: r.key(), Endpoint: r.Endpoint, Limit: r.RateLimit, Multiplier: r.Multiplier,
			}
		})
	case assignmentsTable:
		d.Tiers = listOf(rows, func(r *row) *rules.TierAssignment {
			return &rules.TierAssignment{Entry: r.entry(), Key: r.key(), Tier: r.Tier}
		})
	case accessTable:
		d.Access = listOf(rows, func(r *row) *rules.AccessEntry {
			a := &rules.AccessEntry{Entry: r.entry(), Action: r.Action, Address: r.Address}
			if key := r.key(); key != (rules.Key{}) {
				a.Key = &key
			}
			return a
		})
	case emergencyTable:
		d.Emergency = nil
		for _, r := range rows {
			d.Emergency = &rules.Emergency{
				Limit: r.RateLimit, ExpiresAt: r.expiry(), Reason: r.Reason, StartedBy: r.CreatedBy,
			}
		}
	}
}

// listOf makes a list of a document, in its order. Without rows it is nil.
func listOf[E any](rows map[rowID]*row, entry func(*row) E) (list []E) {
	sorted := slices.SortedFunc(maps.Values(rows), (*row).compare)
	for _, r := range sorted {
		list = append(list, entry(r))
	}
	return list
}

func zonesOf(limits map[rowID]*row) map[string]*rules.Zone {
	if len(limits) == 0 {
		return nil
	}
	zones := make(map[string]*rules.Zone)
	for _, r := range limits {
		z := zones[r.Zone]
		if z == nil {
			z = new(rules.Zone)
			zones[r.Zone] = z
		}
		limit, tiers := &z.Limit, &z.Tiers
		if r.Endpoint != "" {
			e := z.Endpoints[r.Endpoint]
			if e == nil {
				e = new(rules.Endpoint)
				set(&z.Endpoints, r.Endpoint, e)
			}
			limit, tiers = &e.Limit, &e.Tiers
		}
		if r.Tier != "" {
			set(tiers, r.Tier, r.RateLimit)
			continue
		}
		*limit = r.RateLimit
		if r.Endpoint == "" {
			z.DryRun = r.DryRun
			c := rules.Comparison{Keys: r.CompareKeys, Limit: r.CompareLimit, Algorithm: r.CompareAlgorithm}
			if c != (rules.Comparison{}) {
				z.Compare = &c
			}
		}
	}
	return zones
}

// set sets an element of a map, which may be nil.
func set[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = make(map[string]V)
	}
	(*m)[key] = value
}

// compare orders rows by their positions. Rows that SQL has inserted may have the same one.
func (r *row) compare(other *row) int {
	return cmp.Or(cmp.Compare(r.Position, other.Position), cmp.Compare(r.ID, other.ID))
}

func (r *row) entry() rules.Entry {
	return rules.Entry{
		ID: r.ID, ExpiresAt: r.expiry(), Reason: r.Reason, CreatedAt: r.CreatedAt, CreatedBy: r.CreatedBy,
	}
}

func (r *row) key() rules.Key {
	return rules.Key{Zone: r.Zone, Text: r.Key, Base64: r.KeyBase64, Missing: r.Missing}
}

func (r *row) expiry() *time.Time {
	if r.ExpiresAt.IsZero() {
		return nil
	}
	return &r.ExpiresAt
}
