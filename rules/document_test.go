package rules

import (
	"reflect"
	"testing"
)

// TestClone replaces all members of a copy. The original must not change.
func TestClone(t *testing.T) {
	const text = `{"zones":{"user":{"limit":"5/s"}},"overrides":[{"id":"1","zone":"user","key":"a","multiplier":2}],
		"tiers":[{"id":"t","zone":"user","key":"a","tier":"pro"}],"access":[{"id":"x","action":"deny","address":"192.0.2.1"}],
		"emergency":{"limit":"1/s"}}`
	original := parseDocument(t, text)
	clone := original.Clone()
	if !reflect.DeepEqual(clone, original) {
		t.Fatalf("Clone = %s, want %s", encode(t, clone), encode(t, original))
	}
	clone.Zones["user"], clone.Zones["other"] = nil, nil
	clone.Overrides[0], clone.Tiers[0], clone.Access[0], clone.Emergency = nil, nil, nil, nil
	if want := parseDocument(t, text); !reflect.DeepEqual(original, want) {
		t.Errorf("changing a copy has changed the original: %s", encode(t, original))
	}
	if got := (*Document)(nil).Clone(); !reflect.DeepEqual(got, new(Document)) {
		t.Errorf("the copy of nil = %+v, want an empty document", got)
	}
}
