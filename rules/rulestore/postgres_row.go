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

// A row is a row of any of the tables, in the form of JSON: to_jsonb makes it, and
// jsonb_populate_recordset reads it on top of emptyRow. Each table has some of the columns.
type row struct {
	rules.Entry
	rules.Key
	Endpoint         string  `json:"endpoint,omitempty"`
	Tier             string  `json:"tier,omitempty"`
	RateLimit        string  `json:"rate_limit,omitempty"`
	DryRun           string  `json:"dry_run,omitempty"`
	CompareKeys      string  `json:"compare_keys,omitempty"`
	CompareLimit     string  `json:"compare_limit,omitempty"`
	CompareAlgorithm string  `json:"compare_algorithm,omitempty"`
	Multiplier       float64 `json:"multiplier,omitempty"`
	Concurrent       int     `json:"concurrent,omitempty"`
	Action           string  `json:"action,omitempty"`
	Address          string  `json:"address,omitempty"`
	Position         int64   `json:"position,omitempty"`
}

// equal reports whether two rows are equal in the database.
func (r *row) equal(other *row) bool {
	a, b := *r, *other
	a.ExpiresAt, b.ExpiresAt = nil, nil
	return a == b && instantOf(r.ExpiresAt) == instantOf(other.ExpiresAt)
}

// emptyRow has the values of the fields that a row omits because they are empty. Columns that it
// does not have are NULL if they are omitted.
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

// rowsOf returns the rows of a document by their table, in the order of the document. An entry of a
// list keeps the row that it has in last. The row of a new entry has no position yet.
func rowsOf(d *rules.Document, last *snapshot) map[string][]*row {
	was := cmp.Or(last.Document, new(rules.Document))
	all := map[string][]*row{
		limitsTable:      limitRows(d.Zones),
		overridesTable:   rowsOfList(d.Overrides, was.Overrides, last.tables[overridesTable], overrideRow),
		assignmentsTable: rowsOfList(d.Tiers, was.Tiers, last.tables[assignmentsTable], assignmentRow),
		accessTable:      rowsOfList(d.Access, was.Access, last.tables[accessTable], accessRow),
	}
	if e := d.Emergency; e != nil {
		entry := rules.Entry{ID: "emergency", ExpiresAt: e.ExpiresAt, Reason: e.Reason, CreatedBy: e.StartedBy}
		all[emergencyTable] = []*row{{Entry: kept(entry), RateLimit: e.Limit}}
	}
	return all
}

// rowsOfList returns the rows of a list. those are the rows of the list last.
func rowsOfList[E comparable](list, last []E, those []*row, rowOf func(E) *row) []*row {
	rows, next := make([]*row, 0, len(list)), 0
	for _, s := range rules.Splices(last, list) {
		rows = append(rows, those[next:s.At]...)
		for _, e := range s.Insert {
			rows = append(rows, rowOf(e))
		}
		next = s.At + s.Remove
	}
	return append(rows, those[next:]...)
}

func overrideRow(o *rules.Override) *row {
	return &row{
		Entry: kept(o.Entry), Key: o.Key, Endpoint: o.Endpoint, RateLimit: o.Limit, Multiplier: o.Multiplier, Concurrent: o.Concurrent,
	}
}

func assignmentRow(a *rules.TierAssignment) *row {
	return &row{Entry: kept(a.Entry), Key: a.Key, Tier: a.Tier}
}

func accessRow(a *rules.AccessEntry) *row {
	return &row{Entry: kept(a.Entry), Key: *cmp.Or(a.Key, new(rules.Key)), Action: a.Action, Address: a.Address}
}

func limitRows(zones map[string]*rules.ZoneChange) (all []*row) {
	place := func(own *row, tiers map[string]string) {
		if *own != (row{Key: own.Key, Endpoint: own.Endpoint}) || len(tiers) == 0 {
			all = append(all, own)
		}
		for tier, limit := range tiers {
			all = append(all, &row{Key: own.Key, Endpoint: own.Endpoint, Tier: tier, RateLimit: limit})
		}
	}
	for name, z := range zones {
		compare := cmp.Or(z.Compare, new(rules.Comparison))
		zone := rules.Key{Zone: name}
		own := &row{
			Key: zone, RateLimit: z.Limit, DryRun: z.DryRun,
			CompareKeys: compare.Keys, CompareLimit: compare.Limit, CompareAlgorithm: compare.Algorithm,
		}
		if *own != (row{Key: zone}) || len(z.Tiers) > 0 || len(z.Endpoints) == 0 {
			place(own, z.Tiers)
		}
		for pattern, e := range z.Endpoints {
			place(&row{Key: zone, Endpoint: pattern, RateLimit: e.Limit}, e.Tiers)
		}
	}
	return all
}

// kept returns an entry as PostgreSQL keeps it.
func kept(e rules.Entry) rules.Entry {
	e.CreatedAt = instantOf(&e.CreatedAt)
	if e.ExpiresAt != nil {
		e.ExpiresAt = new(instantOf(e.ExpiresAt))
	}
	return e
}

// instantOf returns an instant as PostgreSQL keeps it: to the microsecond. It returns the zero Time
// if t is nil.
func instantOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// changePart sets the part of a document that a table has, after some rows of the table have
// changed, and returns all rows of the table. A row that is nil in changed is removed. Entries and
// rows that have not changed are shared.
func changePart(d *rules.Document, table string, rows []*row, changed map[rowID]*row) (merged []*row) {
	switch table {
	case overridesTable:
		merged, d.Overrides = mergeRows(rows, d.Overrides, changed, (*row).override)
	case assignmentsTable:
		merged, d.Tiers = mergeRows(rows, d.Tiers, changed, (*row).assignment)
	case accessTable:
		merged, d.Access = mergeRows(rows, d.Access, changed, (*row).access)
	default: // the tables without an order
		for _, r := range rows {
			if _, replaced := changed[r.primaryKey(table)]; !replaced {
				merged = append(merged, r)
			}
		}
		for _, r := range changed {
			if r != nil {
				merged = append(merged, r)
			}
		}
		if table == limitsTable {
			d.Zones = zonesOf(merged)
		} else {
			d.Emergency = emergencyOf(merged)
		}
	}
	return merged
}

// mergeRows returns the rows of a list, in their order, after changed has replaced some of them,
// and the list with the entries of these rows.
func mergeRows[E any](rows []*row, list []E, changed map[rowID]*row, entry func(*row) E) (merged []*row, entries []E) {
	added := slices.DeleteFunc(slices.Collect(maps.Values(changed)), func(r *row) bool { return r == nil })
	slices.SortFunc(added, (*row).compare)
	addUntil := func(next *row) {
		for len(added) > 0 && (next == nil || added[0].compare(next) < 0) {
			merged, entries, added = append(merged, added[0]), append(entries, entry(added[0])), added[1:]
		}
	}
	for i, r := range rows {
		if _, replaced := changed[rowID{id: r.ID}]; !replaced {
			addUntil(r)
			merged, entries = append(merged, r), append(entries, list[i])
		}
	}
	addUntil(nil)
	return merged, entries
}

func emergencyOf(rows []*row) *rules.Emergency {
	if len(rows) == 0 {
		return nil
	}
	r := rows[0] // the only one
	return &rules.Emergency{Limit: r.RateLimit, ExpiresAt: r.ExpiresAt, Reason: r.Reason, StartedBy: r.CreatedBy}
}

func zonesOf(limits []*row) map[string]*rules.ZoneChange {
	if len(limits) == 0 {
		return nil
	}
	zones := make(map[string]*rules.ZoneChange)
	for _, r := range limits {
		z := zones[r.Zone]
		if z == nil {
			z = new(rules.ZoneChange)
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

func (r *row) override() *rules.Override {
	return &rules.Override{
		Entry: r.Entry, Key: r.Key, Endpoint: r.Endpoint, Limit: r.RateLimit, Multiplier: r.Multiplier, Concurrent: r.Concurrent,
	}
}

func (r *row) assignment() *rules.TierAssignment {
	return &rules.TierAssignment{Entry: r.Entry, Key: r.Key, Tier: r.Tier}
}

func (r *row) access() *rules.AccessEntry {
	a := &rules.AccessEntry{Entry: r.Entry, Action: r.Action, Address: r.Address}
	if r.Key != (rules.Key{}) {
		a.Key = &r.Key
	}
	return a
}
