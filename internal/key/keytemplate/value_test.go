package keytemplate

import "testing"

func TestPlainValues(t *testing.T) {
	for _, tc := range []struct {
		value   string
		escaped bool
		want    string
		has     Presence
	}{
		{"", false, "", Missing},
		{" \t", false, "", Missing},
		{"a", false, "a", Present},
		{" sk_1\t", false, "sk_1", Present},
		{"a\tb c", false, "a\tb c", Present},
		{"Zo\u00eb", false, "Zo\u00eb", Present},
		{"andr\u00e0", false, "andr\u00e0", Present}, // the last byte of its UTF-8 is 0xA0
		{"\u0420", false, "\u0420", Present},
		{"\u2026", false, "\u2026", Present},
		{"jos\xe9", false, "jos\xe9", Present},
		{"a\u00a0b", false, "a\u00a0b", Present},
		{"a\nb", true, "a\nb", Present},
		{"a\r\nb\r\nc", true, "a\r\nb\r\nc", Present},
		{"a\xa0", false, "", Ambiguous},
		{"\xa0", false, "", Ambiguous},
		{"\x85a", false, "", Ambiguous},
		{" \xa0 a", false, "", Ambiguous},
		{"a\x85 ", false, "", Ambiguous},
		{"\u00a0a", false, "", Ambiguous},
		{"a\u0085", false, "", Ambiguous},
		{"a\u2003", false, "", Ambiguous},
		{"a\u2028", false, "", Ambiguous},
		{"\u3000a", false, "", Ambiguous},
		{"\ufeffa", false, "", Ambiguous},
		{"a\u200b", false, "", Ambiguous},
		{"a\n", true, "", Ambiguous},
		{"\ra", true, "", Ambiguous},
		{"a\x00", true, "", Ambiguous},
		{"a\x00b", true, "", Ambiguous},
		{"a\x1fb", true, "", Ambiguous},
		{"a\x7fb", true, "", Ambiguous},
	} {
		if got, has := plain(tc.value, tc.escaped); got != tc.want || has != tc.has {
			t.Errorf("plain value of %q = %q, %v; want %q, %v", tc.value, got, has, tc.want, tc.has)
		}
	}
}

// plain does not allocate.
func TestPlainValuesDoNotAlloc(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { plain("sk_live_0123456789", true); plain("andr\u00e0", false) }); n != 0 {
		t.Errorf("a plain value makes %v allocations, want 0", n)
	}
}
