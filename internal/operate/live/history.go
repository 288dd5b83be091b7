package live

import "time"

const (
	pointSpan = 5 * time.Second
	maxPoints = int(15 * time.Minute / pointSpan)
)

// A Point has the mean rates of a span of five seconds.
type Point struct {
	Time int64 `json:"time"` // end of the span, in milliseconds since 1970
	Rates
}

// A history has the newest points of all zones together and of each zone. The zero value has none.
type history struct {
	total  series
	byZone map[string]*series
}

// add adds the rates of a snapshot at an instant.
func (h *history) add(now time.Time, zones []ZoneRates) {
	var sum Rates
	seen := make(map[string]*series, len(zones))
	for i := range zones {
		z := &zones[i]
		s := h.byZone[z.Zone]
		if s == nil {
			s = new(series)
		}
		seen[z.Zone] = s
		s.add(now, &z.Rates)
		sum.add(&z.Rates)
	}
	h.byZone = seen // so removed zones are removed here, too
	h.total.add(now, &sum)
}

// points returns the points of a zone since an instant.
func (h *history) points(zone string, since time.Time) []Point {
	if s := h.byZone[zone]; s != nil {
		return s.since(since)
	}
	return []Point{}
}

// A series is a ring of points.
type series struct {
	points []Point
	next   int // where the next one goes, once there are maxPoints

	// The point that is not complete yet is the mean of n rates, whose sum is pending.
	pending Rates
	n       int
	ends    time.Time
}

func (s *series) add(now time.Time, r *Rates) {
	if s.n > 0 && now.After(s.ends) {
		s.complete()
	}
	if s.n == 0 {
		s.ends = now.Truncate(pointSpan).Add(pointSpan)
	}
	s.pending.add(r)
	s.n++
}

// complete ends the pending point.
func (s *series) complete() {
	p := Point{s.ends.UnixMilli(), s.pending}
	p.scale(1 / float32(s.n))
	s.pending, s.n = Rates{}, 0
	if len(s.points) < maxPoints {
		s.points = append(s.points, p)
		return
	}
	s.points[s.next] = p
	s.next = (s.next + 1) % maxPoints
}

// since returns the complete points after an instant, the oldest first.
func (s *series) since(t time.Time) []Point {
	all := make([]Point, 0, len(s.points))
	for i := range s.points {
		if p := s.points[(s.next+i)%len(s.points)]; p.Time > t.UnixMilli() {
			all = append(all, p)
		}
	}
	return all
}
