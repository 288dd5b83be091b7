package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/spelling"
)

// unmarshalStrict refuses unknown fields, as Caddy does: encoding/json does not hand that option on
// to an UnmarshalJSON.
func unmarshalStrict(data []byte, v any) error {
	err := caddy.StrictUnmarshalJSON(data, v)
	if err == nil {
		return nil
	}
	// What follows the field is the remedy that the UnmarshalJSON of a part has added.
	if m := unknownField.FindStringSubmatch(err.Error()); m != nil {
		field, names := m[1], fieldNames(reflect.TypeOf(v))
		if field == maxOvershoot {
			return fmt.Errorf("%w: %s", err, maxOvershootRemedy)
		}
		if nearest := cmp.Or(fieldSynonym(field, names), spelling.Nearest(field, names)); nearest != "" {
			return fmt.Errorf("%w: did you mean %s?", err, nearest)
		}
		slices.Sort(names)
		return fmt.Errorf("%w: use one of %s", err, strings.Join(slices.Compact(names), ", "))
	}
	if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
		return fmt.Errorf("%s has the type %s: use %s", cmp.Or(jsonPath(wrong.Field), "the value"), wrong.Value,
			jsonKind(wrong.Type))
	}
	if strings.HasPrefix(err.Error(), "time: ") {
		return fmt.Errorf(`%w: use a number with its unit, such as "50ms" or "1m"`, err)
	}
	return err
}

var unknownField = regexp.MustCompile(`unknown field "([^"]*)"$`)

// jsonPath removes the names of embedded Go types, which are no JSON names, from a path of fields.
func jsonPath(path string) string {
	fields := strings.Split(path, ".")
	return strings.Join(slices.DeleteFunc(fields, func(f string) bool { return strings.ToLower(f) != f }), ".")
}

// fieldSynonym returns the one of names that people call word, or "".
func fieldSynonym(word string, names []string) string {
	for _, name := range map[string][]string{
		"zone": {"rate_limits", "zones"}, "zones": {"rate_limits"}, "rate_limits": {"zones"},
		"rate": {"limit"}, "requests": {"events", "limit"}, "per": {"window"}, "period": {"window"}, "type": {"name", "mode"},
		"max_events": {"events"}, "address": {"addresses"}, "host": {"addresses"},
	}[strings.ToLower(word)] {
		if slices.Contains(names, name) {
			return name
		}
	}
	return ""
}

// fieldNames returns the JSON names of the fields that encoding/json itself sets in a type.
func fieldNames(t reflect.Type) (names []string) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return fieldNames(t.Elem())
	case reflect.Struct:
		if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
			return nil
		}
		for i := range t.NumField() {
			if !t.Field(i).IsExported() && !t.Field(i).Anonymous {
				continue
			}
			if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" {
				names = append(names, name)
			}
			names = append(names, fieldNames(t.Field(i).Type)...)
		}
	}
	return names
}

// jsonKind describes the JSON values that a Go type takes.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text in quotes"
	case reflect.Bool:
		return "true or false, without quotes"
	case reflect.Slice:
		return "a list in square brackets"
	case reflect.Struct, reflect.Map:
		return "an object in braces"
	}
	return "a whole number without quotes"
}
