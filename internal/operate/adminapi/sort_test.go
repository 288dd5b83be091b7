package adminapi

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/rules"
)

func TestSorted(t *testing.T) {
	at := func(minute int) *time.Time {
		t := time.Date(2026, 11, 24, 0, minute, 0, 0, time.UTC)
		return &t
	}
	entries := []*rules.Override{
		{Entry: rules.Entry{ID: "never", CreatedAt: *at(2)}},
		{Entry: rules.Entry{ID: "late", CreatedAt: *at(3), ExpiresAt: at(9)}},
		{Entry: rules.Entry{ID: "soon", CreatedAt: *at(1), ExpiresAt: at(5)}},
	}
	for order, want := range map[string]string{
		"": "never late soon ", newestFirst: "late never soon ", endingFirst: "soon late never ",
	} {
		got := ""
		list, err := sorted(entries, order)
		for _, e := range list {
			got += e.ID + " "
		}
		if err != nil || got != want {
			t.Errorf("sorted by %q = %q, %v, want %q", order, got, err, want)
		}
	}
	if _, err := sorted(entries, "newst"); statusOfError(err) != 400 {
		t.Errorf("sorted by an unknown order: %v, want 400", err)
	}
}
