package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// A Found is a handler in a configuration of Caddy.
type Found struct {
	*Handler
	Around []any // the matchers of the routes around it, as decoded JSON, the outermost first
}

// Find returns the settings of the app and of all handlers in a configuration of Caddy, which is
// JSON.
func Find(text []byte) (app *App, handlers []Found, err error) {
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
	handlers, err = findHandlers(nil, whole.Apps.HTTP, nil)
	return app, handlers, err
}

// findHandlers appends the handlers in a value to found, in a fixed order. around are the matchers
// of the routes around the value.
func findHandlers(found []Found, in any, around []any) (_ []Found, err error) {
	switch v := in.(type) {
	case []any:
		for _, element := range v {
			if found, err = findHandlers(found, element, around); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		if v["handler"] == "rate_limit" {
			h, err := handlerOf(v)
			return append(found, Found{h, around}), err
		}
		if _, isRoute := v["handle"]; isRoute && v["match"] != nil {
			around = append(slices.Clip(around), v["match"])
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if found, err = findHandlers(found, v[name], around); err != nil {
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
