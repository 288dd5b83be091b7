package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/text/spelling"
	"github.com/fleetlimit/fleetlimit/internal/text/strictjson"
)

// In the JSON configuration, a text may stand in place of an object: the arguments that a
// subdirective has in a Caddyfile. A setting is always marshalled in one form, so that two
// spellings of it are equal. Limits are marshalled as texts, because objects would take several
// times the memory in the copy of the configuration that Caddy keeps. Other settings are marshalled
// as objects and numbers.

// Zones are zones by name.
type Zones map[string]*Zone

// decode stores JSON in the struct that v points to. Its errors name the place and the remedy.
func decode(data []byte, v any) error {
	return spelling.Bound(strictjson.UnmarshalWith(fieldRemedy, data, v))
}

// fieldRemedy returns what to use instead of an unknown field, or "" if the nearest known field is
// to be suggested.
func fieldRemedy(field string, known []string) string {
	switch {
	case field == "max_overshoot": // a setting of earlier versions
		return remedies["block zone"][field]
	case field == "limit" && slices.Contains(known, "events"):
		return `use a rate such as "1000/1m" in place of the object, which is a limit itself, or "events" and "window"`
	}
	for _, name := range strings.Fields(remedies["json field"][strings.ToLower(field)]) {
		if slices.Contains(known, name) {
			return fmt.Sprintf("use %q", name)
		}
	}
	return ""
}

// UnmarshalJSON decodes JSON. Its errors name the place and the remedy.
func (h *Handler) UnmarshalJSON(data []byte) error {
	type fields Handler // without this method
	return decode(data, (*fields)(h))
}

// UnmarshalJSON decodes JSON. Its errors name the place and the remedy.
func (a *App) UnmarshalJSON(data []byte) error {
	type fields App // without this method
	return decode(data, (*fields)(a))
}

// limitFields is a Limit without its methods.
type limitFields Limit

// UnmarshalJSON accepts a rate, such as "100/1m burst 20".
func (l *Limit) UnmarshalJSON(data []byte) error { return unmarshalRate(data, l, (*limitFields)(l)) }

// tierFields is a Tier without its methods and those of its limit.
type tierFields struct {
	limitFields
	Enforcement
	Concurrent int `json:"concurrent,omitempty"`
}

// UnmarshalJSON accepts a rate in place of the whole tier.
func (t *Tier) UnmarshalJSON(data []byte) error {
	var object tierFields
	err := unmarshalRate(data, (*Limit)(&object.limitFields), &object)
	*t = Tier{Limit(object.limitFields), object.Enforcement, object.Concurrent}
	return err
}

// MarshalJSON writes a rate, such as "100/1m burst 20", or an object if no rate describes all of l.
func (l Limit) MarshalJSON() ([]byte, error) {
	if text, isRate := l.text(); isRate {
		return json.Marshal(text)
	}
	return json.Marshal(limitFields(l))
}

// MarshalJSON writes a tier that has only a limit as a rate.
func (t Tier) MarshalJSON() ([]byte, error) {
	if t == (Tier{Limit: t.Limit}) && t.Limited() {
		return json.Marshal(t.Limit)
	}
	return json.Marshal(tierFields{limitFields(t.Limit), t.Enforcement, t.Concurrent})
}

// text returns l as a rate. isRate reports whether the rate describes all of l.
func (l *Limit) text() (rate string, isRate bool) {
	if l.Check() != nil {
		return "", false
	}
	rate = l.String()
	parsed, err := ParseLimit(rate)
	return rate, err == nil && *parsed == *l
}

// unmarshalRate unmarshals a rate into limit, or an object into object, which contains limit.
func unmarshalRate(data []byte, limit *Limit, object any) error {
	return unmarshalText(data, limit, ParseLimit, object,
		`%s is not a limit: use a rate such as "100/1m", "unlimited" or "block", or an object such as {"events": 100, `+
			`"window": "1m"}`)
}

// unmarshalText unmarshals a text that parse parses into v, or an object into object, which has the
// fields of v and not its methods. mistake is the format of the error about anything else.
func unmarshalText[T any](data []byte, v *T, parse func(string) (*T, error), object any, mistake string) error {
	switch {
	case isText(data):
		parsed, err := parse(textOf(data))
		if err == nil {
			*v = *parsed
		}
		return err
	case isObject(data):
		return decode(data, object)
	}
	return fmt.Errorf(mistake, data)
}

// UnmarshalJSON accepts an algorithm and its sub-windows, such as "sliding_window 10".
func (a *Algorithm) UnmarshalJSON(data []byte) error {
	type fields Algorithm // without this method
	return unmarshalText(data, a, ParseAlgorithm, (*fields)(a),
		`%s is not an algorithm: use its name, such as "token_bucket" or "sliding_window 10"`)
}

// UnmarshalJSON accepts a number, and a placeholder, which `trusted` may follow.
func (c *Cost) UnmarshalJSON(data []byte) error {
	text := string(data)
	switch {
	case isObject(data):
		type fields Cost // without this method
		return decode(data, (*fields)(c))
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
		return decode(data, (*fields)(s))
	case isText(data):
		args := strings.Fields(textOf(data))
		if len(args) == 1 || len(args) == 2 {
			s.Name, s.URL = args[0], strings.Join(args[1:], "")
			return nil
		}
	}
	return errors.New(`rules is not a store: use "storage", "redis" or "postgres <url>"`)
}

// UnmarshalJSON accepts where records go as a text, such as "log postgres".
func (l *DecisionLog) UnmarshalJSON(data []byte) error {
	switch {
	case isObject(data):
		type fields DecisionLog // without this method
		return decode(data, (*fields)(l))
	case isText(data) && textOf(data) != "":
		l.To = strings.Fields(textOf(data))
		return nil
	}
	return errors.New(`decisions is not what is recorded: use "log", "postgres", "log postgres" or {}`)
}

func isText(data []byte) bool   { return bytes.HasPrefix(data, []byte(`"`)) }
func isObject(data []byte) bool { return bytes.HasPrefix(data, []byte(`{`)) }

// textOf returns the text of a JSON string.
func textOf(data []byte) (text string) {
	_ = json.Unmarshal(data, &text) // the decoder has checked the syntax
	return text
}
