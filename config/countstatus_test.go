package config

import (
	"strings"
	"testing"
)

// TestStatusSetText has sets whose texts are what `count_status` takes.
func TestStatusSetText(t *testing.T) {
	for text, want := range map[string]string{
		"403 401":       "401 403",
		"5xx":           "5xx",
		"!2xx":          "1xx 3xx 4xx 5xx",
		"4xx !404 200":  "200 4xx !404",
		"101":           "1xx",
		"!401 !5xx":     "1xx 2xx 3xx 4xx !401",
		"599 2xx 4xx":   "2xx 4xx 599",
		"4xx !400 !499": "4xx !400 !499",
	} {
		set, err := Statuses(strings.Fields(text)).Compile()
		if err != nil {
			t.Fatal(err)
		}
		if got := set.String(); got != want {
			t.Errorf("text of %s = %s, want %s", text, got, want)
		}
		if again, err := Statuses(strings.Fields(set.String())).Compile(); err != nil || *again != *set {
			t.Errorf("%s is another set than %s: %v", set, text, err)
		}
	}
}
