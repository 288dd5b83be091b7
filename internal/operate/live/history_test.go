package live

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

// ratesOf returns the rates of one zone that admits this number of requests a second.
func ratesOf(zone string, admitted float32) []ZoneRates {
	z := ZoneRates{Zone: zone}
	z.Outcomes[0] = admitted
	return []ZoneRates{z}
}

func TestHistory(t *testing.T) {
	var h history
	start := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	for second := range 20 * 60 {
		now := start.Add(time.Duration(second)*time.Second + time.Millisecond)
		h.add(now, append(ratesOf("a", float32(second/5)), ratesOf("b", 1)...))
	}
	end := start.Add(20 * time.Minute)
	points := h.points("a", start)
	if len(points) != maxPoints {
		t.Fatalf("points = %d, want the newest %d", len(points), maxPoints)
	}
	for i, p := range points {
		number := 20*12 - 1 - maxPoints + i // the last span is not complete
		want := Point{Time: start.Add(time.Duration(number+1) * pointSpan).UnixMilli()}
		want.Outcomes[0] = float32(number)
		if p != want {
			t.Fatalf("point %d = %v, want %v", i, p, want)
		}
	}
	total := h.total.since(end.Add(-time.Minute))
	if n := len(total); n != 11 || total[n-1].Outcomes[0] != points[maxPoints-1].Outcomes[0]+1 {
		t.Errorf("points of all zones in the last minute = %v, want 11, the sums of both zones", total)
	}
	h.add(end.Add(time.Minute), ratesOf("b", 1))
	if left := h.points("a", start); len(left) != 0 {
		t.Errorf("a zone that has gone has %d points, want none", len(left))
	}
}

// The figures have the order that the viewers are told.
func TestOrderOfOutcomes(t *testing.T) {
	if len(api.Outcomes) != outcomes {
		t.Fatalf("outcomes = %d, want as many as %v", outcomes, api.Outcomes)
	}
	z := zoneWithCounts()
	got, want := read(z), count{}
	for i, outcome := range api.Outcomes {
		want.outcomes[i] = countOf[outcome]
	}
	want.sources = [len(want.sources)]uint64{
		countOf[api.Admitted] + countOf[api.WouldReject], 0, countOf[api.Rejected], 0,
		countOf[api.Degraded] + countOf[api.Unavailable],
	}
	if got != want {
		t.Errorf("counts = %v, want %v", got, want)
	}
}
