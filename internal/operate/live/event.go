package live

import (
	"encoding/json"
	"slices"
)

// An event is one of Server-Sent Events, encoded for all viewers.
type event struct {
	name string
	text []byte
}

// newEvent returns an event with v as JSON, which has no line breaks.
func newEvent(name string, v any) event {
	data, err := json.Marshal(v)
	if err != nil { // of a number that is none
		data = []byte("null")
	}
	return event{name, slices.Concat([]byte("event: "+name+"\ndata: "), data, []byte("\n\n"))}
}

// newestOf returns older with those of newer in their place.
func newestOf(older, newer []event) []event {
	kept := slices.DeleteFunc(slices.Clone(older), func(o event) bool {
		return slices.ContainsFunc(newer, func(e event) bool { return e.name == o.name })
	})
	return append(kept, newer...)
}
