package docs

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/config"
)

// TestEverySettingIsDocumented looks for the JSON name of each field of the configuration.
func TestEverySettingIsDocumented(t *testing.T) {
	text := read(t, "docs/configuration.md") + read(t, "docs/migrating-from-caddy-ratelimit.md")
	names := settings(reflect.TypeFor[config.Handler](), nil)
	names = settings(reflect.TypeFor[config.App](), names)
	for _, name := range names {
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(text) {
			t.Errorf("the setting %s is not in docs/configuration.md", name)
		}
	}
	if !slices.Contains(names, "rate_limits") || !slices.Contains(names, "on_missing_key") {
		t.Errorf("settings = %v: settings does not find all fields of the configuration", names)
	}
}

// settings appends the JSON names of the fields of a type, and of the types of its fields.
func settings(of reflect.Type, names []string) []string {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return settings(of.Elem(), names)
	case reflect.Struct:
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if name == "" || slices.Contains(names, name) && name != "tiers" {
				continue
			}
			names = append(names, name)
			if of.Field(i).Type != reflect.TypeFor[json.RawMessage]() {
				names = settings(of.Field(i).Type, names)
			}
		}
	}
	return names
}
