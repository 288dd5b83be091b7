package docs

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit"
)

// TestEverySettingIsDocumented looks for the JSON name of each field of the configuration.
func TestEverySettingIsDocumented(t *testing.T) {
	text := read(t, "docs/configuration.md") + read(t, "docs/migrating-from-caddy-ratelimit.md")
	names := settings(reflect.TypeFor[fleetlimit.Handler](), nil)
	names = settings(reflect.TypeFor[fleetlimit.App](), names)
	for _, name := range names {
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(text) {
			t.Errorf("the setting %s is not in docs/configuration.md", name)
		}
	}
	if !slices.Contains(names, "rate_limits") || !slices.Contains(names, "on_missing_key") {
		t.Errorf("settings = %v: fields of the configuration are not found", names)
	}
}

// settings appends to names the JSON names of the fields of a type, and of what it contains.
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

// TestEveryMetricIsDocumented compares the metrics of a configuration with those of the page. Caddy has no way to end what
// ProvisionContext begins, so the configuration lives as long as the test process; no other test here has a zone named so.
func TestEveryMetricIsDocumented(t *testing.T) {
	var config caddy.Config
	raw := adapt(t, &example{info: []string{"caddyfile", "handler"}, text: "zone metrics_of_docs {\nkey all\nlimit 1/1m\n}"})
	if err := caddy.StrictUnmarshalJSON(raw, &config); err != nil {
		t.Fatal(err)
	}
	ctx, err := caddy.ProvisionContext(&config)
	if err != nil {
		t.Fatal(err)
	}
	families, err := ctx.GetMetricsRegistry().Gather()
	if err != nil {
		t.Fatal(err)
	}

	var offered []string
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "caddy_rate_limit_") {
			offered = append(offered, f.GetName())
		}
	}
	if len(offered) == 0 {
		t.Fatal("the configuration offers no metrics")
	}
	documented := regexp.MustCompile("(?m)^\\| `(caddy_rate_limit_\\w+)").FindAllStringSubmatch(read(t, "docs/metrics.md"), -1)
	var page []string
	for _, match := range documented {
		page = append(page, match[1])
	}
	slices.Sort(offered)
	slices.Sort(page)
	if !slices.Equal(offered, page) {
		t.Errorf("metrics are\n%v\nand docs/metrics.md has\n%v", offered, page)
	}
}
