package live

import (
	"encoding/json"
	"slices"
)

// An event is a Server-Sent Event, encoded once for all viewers.
type event struct {
	name string
	text []byte
}

// newEvent returns an event with v as JSON, which has no line breaks.
func newEvent(name string, v any) event {
	data, err := json.Marshal(v)
	if err != nil { // v has a number that JSON cannot have, such as NaN
		data = []byte("null")
	}
	return event{name, slices.Concat([]byte("event: "+name+"\ndata: "), data, []byte("\n\n"))}
}

// newestOf returns the events of both lists. An event in newer replaces the one of its name in
// older.
func newestOf(older, newer []event) []event {
	kept := slices.DeleteFunc(slices.Clone(older), func(o event) bool {
		return slices.ContainsFunc(newer, func(e event) bool { return e.name == o.name })
	})
	return append(kept, newer...)
}
