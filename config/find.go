package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Find returns the settings of the app and of all handlers in a configuration of Caddy, which is JSON.
func Find(text []byte) (app *App, handlers []*Handler, err error) {
	var whole struct {
		Apps struct {
			RateLimit *App `json:"rate_limit"`
			HTTP      any  `json:"http"`
		} `json:"apps"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&whole); err != nil {
		return nil, nil, fmt.Errorf("the configuration: %w: use the JSON that `caddy adapt` prints", err)
	}
	if app = whole.Apps.RateLimit; app == nil {
		app = new(App)
	}
	handlers, err = findHandlers(nil, whole.Apps.HTTP)
	return app, handlers, err
}

// findHandlers appends the handlers in a value, in a fixed order.
func findHandlers(found []*Handler, in any) (_ []*Handler, err error) {
	switch v := in.(type) {
	case []any:
		for _, element := range v {
			if found, err = findHandlers(found, element); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		if v["handler"] == "rate_limit" {
			h, err := handlerOf(v)
			return append(found, h), err
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if found, err = findHandlers(found, v[name]); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// handlerOf returns the handler that an object of JSON describes.
func handlerOf(object map[string]any) (*Handler, error) {
	object = maps.Clone(object)
	delete(object, "handler")
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	h := new(Handler)
	return h, h.UnmarshalJSON(text)
}
