package config

import (
	"slices"
	"strings"
	"testing"
)

func TestCheckWord(t *testing.T) {
	for _, tc := range []struct{ setting, value, want string }{
		{"headers", "off", `headers is "off": use x, draft, all or none; did you mean none?`},
		{"mode", "leases", `mode is "leases": use strict or lease; did you mean lease?`},
		{"mode", "zzz", `mode is "zzz": use strict or lease`},
		{"algorithm", "fixed-window", `algorithm is "fixed-window": use token_bucket, sliding_window_log, sliding_window or ` +
			`fixed_window; did you mean fixed_window?`},
		{"algorithm", "token bucket", `algorithm is "token bucket": use token_bucket, sliding_window_log, sliding_window or ` +
			`fixed_window; did you mean token_bucket?`},
		{"algorithm", "GCRA", `algorithm is "GCRA": use token_bucket, sliding_window_log, sliding_window or fixed_window; did ` +
			`you mean token_bucket?`},
	} {
		if err := CheckWord(tc.setting, tc.value); err == nil || err.Error() != tc.want {
			t.Errorf("got  %v\nwant %s", err, tc.want)
		}
	}
	for _, value := range append(words["mode"], "") {
		if err := CheckWord("mode", value); err != nil {
			t.Errorf("mode %q: %v", value, err)
		}
	}
}

// Every synonym stands for a word that its setting has, and is none itself.
func TestSynonymsStandForWords(t *testing.T) {
	for setting := range words {
		for synonym, word := range remedies["setting "+setting] {
			word, _, _ := strings.Cut(word, ", with `") // and what to use beside it
			if !slices.Contains(words[setting], word) || slices.Contains(words[setting], synonym) {
				t.Errorf("%s %s stands for %s, want one of %v, which it is not itself", setting, synonym, word, words[setting])
			}
		}
	}
}
