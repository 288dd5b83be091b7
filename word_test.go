package fleetlimit

import (
	"slices"
	"testing"
)

func TestUnknownWord(t *testing.T) {
	algorithms := []string{"token_bucket", "sliding_window_log", "sliding_window", "fixed_window"}
	for _, tc := range []struct {
		setting, value string
		words          []string
		want           string
	}{
		{"headers", "off", []string{"x", "draft", "all", "none"}, `headers is "off": use x, draft, all or none; did you mean none?`},
		{"mode", "leases", []string{"strict", "lease"}, `mode is "leases": use strict or lease; did you mean lease?`},
		{"mode", "zzz", []string{"strict", "lease"}, `mode is "zzz": use strict or lease`},
		{"algorithm", "fixed-window", algorithms, `algorithm is "fixed-window": use token_bucket, sliding_window_log, ` +
			`sliding_window or fixed_window; did you mean fixed_window?`},
		{"algorithm", "token bucket", algorithms, `algorithm is "token bucket": use token_bucket, sliding_window_log, ` +
			`sliding_window or fixed_window; did you mean token_bucket?`},
		{"algorithm", "GCRA", algorithms, `algorithm is "GCRA": use token_bucket, sliding_window_log, sliding_window or ` +
			`fixed_window; did you mean token_bucket?`},
	} {
		if got := unknownWord(tc.setting, tc.value, tc.words...).Error(); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

// Every synonym stands for a word that its setting has, and is none itself.
func TestSynonymsStandForWords(t *testing.T) {
	words := map[string][]string{
		"algorithm":        {"token_bucket", "sliding_window_log", "sliding_window", "fixed_window"},
		"headers":          {"x", "draft", "all", "none"},
		"log_rejections":   {"first", "all", "none"},
		"mode":             {"strict", "lease"},
		"on_ambiguous_key": {"reject", "missing"},
		"redis":            {"standalone", "sentinel", "cluster"},
		"reject":           {"json", "problem", "error"},
	}
	for setting, table := range synonyms {
		for synonym, word := range table {
			if !slices.Contains(words[setting], word) || slices.Contains(words[setting], synonym) {
				t.Errorf("%s %s stands for %s, want one of %v, which it is not itself", setting, synonym, word, words[setting])
			}
		}
	}
}
