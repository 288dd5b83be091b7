package config

import (
	"slices"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	const text = `{"apps": {
		"rate_limit": {"tiers": {"pro": "100/1m"}},
		"http": {"servers": {
			"b": {"routes": [{"handle": [{"handler": "subroute", "routes": [{"handle": [
				{"handler": "rate_limit", "place": "third"}, {"handler": "respond"}]}]}]}]},
			"a": {"errors": {"routes": [{"handle": [{"handler": "rate_limit", "place": "first"}]}]},
				"routes": [{"handle": [{"handler": "rate_limit", "place": "second", "allow": ["192.0.2.1"]}]}]}}}}}`
	app, handlers, err := Find([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	for _, h := range handlers {
		places = append(places, h.Place)
	}
	if !slices.Equal(places, []string{"first", "second", "third"}) || app.Tiers["pro"] == nil || len(handlers[1].Allow) != 1 {
		t.Errorf("found %+v and handlers at %q", app, places)
	}
	if app, handlers, err := Find([]byte("{}")); err != nil || app == nil || len(handlers) > 0 {
		t.Errorf("found %+v, %v in an empty configuration: %v", app, handlers, err)
	}
	_, _, err = Find([]byte(`{"apps": {"http": {"x": [{"handler": "rate_limit", "limits": {}}]}}}`))
	if err == nil || !strings.Contains(err.Error(), "rate_limits") {
		t.Errorf("an unknown setting: %v, want the nearest", err)
	}
}
