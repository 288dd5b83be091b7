package evaluate

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A denyingStore denies all takes.
type denyingStore struct{ takeStore }

func (denyingStore) Take(_ context.Context, now time.Time, takes []limiter.Take) error {
	for i := range takes {
		takes[i].Decision = limiter.Decision{At: limiter.At(now), RetryAt: limiter.At(now) + 10}
	}
	return nil
}

func (denyingStore) DropDenial(*limiter.Rule, []byte) {}

// A window that denies a request twice reports only the first time that it is the first rejection of the key.
// An error before the wait stays the error.
func TestRetryKeepsTheFirstRejection(t *testing.T) {
	window := &limiter.Rule{Algorithm: limiter.Algorithm{Kind: limiter.FixedWindow}}
	for _, breach := range []bool{true, false} {
		app := &App{Rules: func() *zone.Snapshot { return nil }}
		e := Evaluation{
			Request:  zone.Request{HTTP: httptest.NewRequest("GET", "/", nil)},
			progress: progress{handler: &Handler{App: app, Store: denyingStore{}}, state: new(requestState)},
			checks: []check{{
				take: limiter.Take{Rule: window, Wait: 100, Decision: limiter.Decision{At: 5, RetryAt: 15, Breach: breach}},
				wait: waiting{forTurn: true},
			}},
		}
		before := errors.New("before")
		if _, err := e.takeAtRetry(time.Now(), before); err != before {
			t.Errorf("error = %v, want the one before the wait", err)
		}
		if d := e.checks[0].take.Decision; d.OK || d.Breach != breach || d.At == 5 {
			t.Errorf("denial after one with Breach %v: %+v, want the same, later", breach, d)
		}
	}
}
