package sim

// An Agreement compares the decisions of a zone with those that a log says the gateway has made.
type Agreement struct {
	Decisions int64 `json:"decisions"` // decisions of the gateway in the log
	Equal     int64 `json:"equal"`

	// OffByMinute is the sum, over all minutes, of the difference between the two numbers of rejections
	// in a minute.
	OffByMinute int64 `json:"off_by_minute"`

	minute     int64
	difference int64
}

const minute = 60_000_000 // µs

// add compares the decision ok of the zone with what r says.
func (a *Agreement) add(r Arrival, ok bool) {
	if r.Said == Unsaid {
		return
	}
	if m := int64(r.At)/minute + 1; m != a.minute {
		a.minute, a.difference = m, 0
	}
	a.Decisions++
	if ok == (r.Said == Admitted) {
		a.Equal++
		return
	}
	was := max(a.difference, -a.difference)
	if ok {
		a.difference--
	} else {
		a.difference++
	}
	a.OffByMinute += max(a.difference, -a.difference) - was
}
