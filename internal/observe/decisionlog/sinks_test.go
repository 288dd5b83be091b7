package decisionlog

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

func TestWaitsOfRow(t *testing.T) {
	for _, test := range []struct {
		decision     api.Decision
		wait, waited string
	}{
		{api.Decision{}, "", ""},
		{api.Decision{Wait: api.Wait(1500 * time.Millisecond)}, "1.500000 seconds", ""},
		{api.Decision{Waited: api.Wait(350 * time.Millisecond)}, "", "0.350000 seconds"},
	} {
		row := new(table).row(&Record{Decision: &test.decision})
		if wait, waited := textOf(row.Wait), textOf(row.Waited); wait != test.wait || waited != test.waited {
			t.Errorf("%+v: wait %q, waited %q, want %q, %q", test.decision, wait, waited, test.wait, test.waited)
		}
	}
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
