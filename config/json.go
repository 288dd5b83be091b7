package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// The JSON configuration accepts what is one line of a Caddyfile as that text, too. It is always
// written as objects and numbers, so that two spellings of one setting are equal.

// Zones are zones by name.
type Zones map[string]*Zone

// UnmarshalJSON has errors name the zone, which encoding/json does not.
func (z *Zones) UnmarshalJSON(data []byte) error {
	var objects map[string]json.RawMessage
	if err := unmarshalStrict(data, &objects); err != nil {
		return fmt.Errorf("zones by name: %w", err)
	}
	*z = make(Zones, len(objects))
	for name, object := range objects {
		var zone *Zone
		if err := unmarshalStrict(object, &zone); err != nil {
			return fmt.Errorf("zone %q: %w", name, err)
		}
		(*z)[name] = zone
	}
	return nil
}

// UnmarshalJSON has errors name the remedy.
func (h *Handler) UnmarshalJSON(data []byte) error {
	type fields Handler // without this method
	return unmarshalStrict(data, (*fields)(h))
}

// UnmarshalJSON has errors name the remedy.
func (a *App) UnmarshalJSON(data []byte) error {
	type fields App // without this method
	return unmarshalStrict(data, (*fields)(a))
}

// UnmarshalJSON accepts a rate, such as "100/1m burst 20".
func (l *Limit) UnmarshalJSON(data []byte) error {
	var object limitObject
	err := unmarshalRate(data, &object.limitFields, &object)
	*l = Limit(object.limitFields)
	return err
}

// UnmarshalJSON accepts a rate in place of the whole tier.
func (t *Tier) UnmarshalJSON(data []byte) error {
	var object struct {
		limitObject
		Enforcement
		Nested json.RawMessage `json:"limit"`
	}
	err := unmarshalRate(data, &object.limitFields, &object)
	if err == nil && object.Nested != nil {
		return errors.New(`a tier is a limit itself: use a rate such as "1000/1m" in place of the object, or "events" and ` +
			`"window" in place of "limit"`)
	}
	*t = Tier{Limit(object.limitFields), object.Enforcement}
	return err
}

// limitFields is a Limit without its methods.
type limitFields Limit

// A limitObject is a limit in its form as an object.
type limitObject struct {
	limitFields
	Window jsonWindow `json:"window"`
}

// unmarshalRate unmarshals a rate into limit, or object, which contains limit.
func unmarshalRate(data []byte, limit *limitFields, object interface{ window() time.Duration }) error {
	switch {
	case isText(data):
		rate, err := ParseLimit(textOf(data))
		if err != nil {
			return fmt.Errorf("limit: %w", err)
		}
		*limit = limitFields(*rate)
		return nil
	case isObject(data):
		err := unmarshalStrict(data, object)
		limit.Window = caddy.Duration(object.window())
		return err
	}
	return fmt.Errorf(`%s is not a limit: use a rate such as "100/1m", "unlimited" or "block", or an object such as `+
		`{"events": 100, "window": "1m"}`, data)
}

func (o *limitObject) window() time.Duration { return time.Duration(o.Window) }

// A jsonWindow is the window of a limit: a text as in the Caddyfile, or nanoseconds.
type jsonWindow time.Duration

func (w *jsonWindow) UnmarshalJSON(data []byte) error {
	if isText(data) {
		window, err := parseWindow(textOf(data))
		*w = jsonWindow(window)
		return err
	}
	err := json.Unmarshal(data, (*time.Duration)(w))
	if d := time.Duration(*w); err != nil || d != 0 && d < limiter.MinWindow {
		return fmt.Errorf(`window %s is not a duration from 1ms, as numbers are nanoseconds: use a text with a unit, `+
			`such as "60s"`, data)
	}
	return nil
}

// UnmarshalJSON accepts an algorithm and its sub-windows, such as "sliding_window 10".
func (a *Algorithm) UnmarshalJSON(data []byte) error {
	switch {
	case isText(data):
		args := strings.Fields(textOf(data))
		if len(args) == 0 || len(args) > 2 {
			return fmt.Errorf(`%s is not an algorithm: use its name, such as "token_bucket" or "sliding_window 10"`, data)
		}
		parsed, err := parseAlgorithm(args)
		if err == nil {
			*a = *parsed
		}
		return err
	case isObject(data):
		type fields Algorithm // without this method
		return unmarshalStrict(data, (*fields)(a))
	}
	return fmt.Errorf(`%s is not an algorithm: use its name, such as "token_bucket" or "sliding_window 10"`, data)
}

// UnmarshalJSON accepts a number, and a placeholder with `trusted` or without.
func (c *Cost) UnmarshalJSON(data []byte) error {
	text := string(data)
	switch {
	case isObject(data):
		type fields Cost // without this method
		return unmarshalStrict(data, (*fields)(c))
	case isText(data):
		text = textOf(data)
	}
	args := strings.Fields(text)
	if len(args) == 0 || len(args) > 2 {
		return fmt.Errorf("%s is not a cost: use a number from 1, or a placeholder such as \"{http.vars.cost}\"", data)
	}
	parsed, err := parseCost(args)
	if err == nil {
		*c = *parsed
	}
	return err
}

// UnmarshalJSON accepts the store as a text, with the URL after it.
func (s *RuleStore) UnmarshalJSON(data []byte) error {
	switch {
	case isObject(data):
		type fields RuleStore // without this method
		return unmarshalStrict(data, (*fields)(s))
	case isText(data):
		args := strings.Fields(textOf(data))
		if len(args) == 1 || len(args) == 2 {
			s.Name, s.URL = args[0], strings.Join(args[1:], "")
			return nil
		}
	}
	return errors.New(`rules is not a store: use "storage", "redis" or "postgres <url>"`)
}

func isText(data []byte) bool   { return bytes.HasPrefix(data, []byte(`"`)) }
func isObject(data []byte) bool { return bytes.HasPrefix(data, []byte(`{`)) }

// textOf returns the text of a JSON string.
func textOf(data []byte) (text string) {
	_ = json.Unmarshal(data, &text) // the decoder has checked the syntax
	return text
}
