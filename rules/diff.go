package rules

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/fleetlimit/fleetlimit/internal/text/strictjson"
)

// A Difference is a value that two documents do not have in common.
type Difference struct {
	// Path is where the value is, such as zones.user.limit. Entries of lists are named by their ID:
	// overrides.7c2a.limit.
	Path string `json:"path"`
	From any    `json:"from"` // nil if the value was added
	To   any    `json:"to"`   // nil if the value was removed
}

// Diff returns the differences between two documents, sorted by path.
func Diff(from, to *Document) []Difference {
	d := differ{list: []Difference{}}
	for _, name := range bothNames(from.Zones, to.Zones) {
		d.compare(strictjson.Child("zones", name), from.Zones[name], to.Zones[name])
	}
	compareLists(&d, "overrides", from.Overrides, to.Overrides)
	compareLists(&d, "tiers", from.Tiers, to.Tiers)
	compareLists(&d, "access", from.Access, to.Access)
	d.compare("emergency", from.Emergency, to.Emergency)
	return d.list
}

func bothNames[V any](a, b map[string]V) []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(names)
	return slices.Compact(names)
}

func compareLists[E ListEntry](d *differ, list string, from, to []E) {
	changes := Splices(from, to)
	gone, come := replaced(from, changes)
	before, after := byID(gone), byID(come)
	for _, id := range bothNames(before, after) {
		d.compare(strictjson.Child(list, id), before[id], after[id])
	}
}

// A differ collects differences.
type differ struct{ list []Difference }

// compare compares two values of the model, which are nil pointers where they are absent.
func (d *differ) compare(path string, from, to any) {
	if !reflect.DeepEqual(from, to) {
		d.compareJSON(path, plain(from), plain(to))
	}
}

func (d *differ) compareJSON(path string, from, to any) {
	before, isBefore := from.(map[string]any)
	after, isAfter := to.(map[string]any)
	switch {
	case isBefore && isAfter:
		for _, name := range bothNames(before, after) {
			d.compareJSON(strictjson.Child(path, name), before[name], after[name])
		}
	case !reflect.DeepEqual(from, to):
		d.list = append(d.list, Difference{path, from, to})
	}
}

// plain returns v as decoded JSON.
func plain(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	var value any
	_ = json.Unmarshal(data, &value) // it is valid
	return value
}
