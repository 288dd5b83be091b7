package keytemplate

import (
	"slices"
	"strings"
	"testing"
)

// A key that no request can have has no text.
func TestTextOfRefuses(t *testing.T) {
	substitute := masked
	substitute.Substitute = true
	for _, tc := range []struct {
		raw, key string
		options  Options
	}{
		{"static", "", masked},
		{"static", "kx", masked},
		{"static", "m", masked},
		{"static", "k", substitute},
		{"{header.X-Api-Key}", "k", masked},
		{"{header.X-Api-Key}", "kxa", masked},
		{"{header.X-Api-Key}", "ka\xe0\xc0\x00\x02\x01", masked}, // a masked address, but the template masks none
		{"{header.X-Api-Key}", "d" + strings.Repeat("x", 32), masked},
		{"{client_ip}", "ka", masked},
		{"{client_ip}", "ka\xe0\xc0\x00\x02", masked},
		{"{client_ip}", "ka\xff\xc0\x00\x02\x01", masked},
		{"{client_ip}", "ka\xd8\xc0\x00\x02", masked}, // a prefix of 24 bits, but addresses count by 32
		{"{client_ip}", "ka\x81", masked},
		{"{client_ip}{host}", "k", masked},
		{"{client_ip}{host}", "k\x02", masked},
		{"{client_ip}{host}", "k\x02a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", masked},
		{"{client_ip}{host}", "k\x02a\x02bc", masked},
	} {
		if text, ok := mustTemplate(t, tc.raw, tc.options).TextOf([]byte(tc.key)); ok {
			t.Errorf("text of %q in %s = %q, want none", tc.key, tc.raw, text)
		}
	}
}

// IsDigest and IsSubstitute look at the first byte of a key, which its text does not show.
func TestKindsOfKeys(t *testing.T) {
	substitute := masked
	substitute.Substitute = true
	r, repl := keyRequest("192.0.2.1", "X-Api-Key", strings.Repeat("x", 63))
	for _, tc := range []struct {
		raw         string
		options     Options
		digest, sub bool
	}{
		{"{header.X-Api-Key}", masked, true, false},
		{"{client_ip}", masked, false, false},
		{"{client_ip}", substitute, false, true},
	} {
		key := []byte(keyOf(t, mustTemplate(t, tc.raw, tc.options), r, repl))
		if IsDigest(key) != tc.digest || IsSubstitute(key) != tc.sub {
			t.Errorf("%s: key %q: digest %v, substitute %v", tc.raw, key, IsDigest(key), IsSubstitute(key))
		}
	}
}

// FuzzTextOf passes any bytes as a key, as a store may have them. If the bytes have a text, and KeyOf
// returns a key for that text, then that key has a text, too.
func FuzzTextOf(f *testing.F) {
	for _, key := range []string{
		"k", "ktsk_1", "ka\xe0\xc0\x00\x02\x01", "ka\x40\x20\x01\x0d\xb8\x00\x00\x00\x00", "k\x06a|b\x0b\xe0\xc0\x00\x02\x01",
	} {
		f.Add([]byte(key))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		for _, raw := range []string{"static", "{header.X-Api-Key}", "{client_ip}", "{header.X-Api-Key}|{client_ip}"} {
			tmpl := mustTemplate(t, raw, masked)
			text, ok := tmpl.TextOf(key)
			if !ok {
				continue
			}
			again, err := tmpl.KeyOf(text)
			if err != nil || slices.Equal(again, key) || IsDigest(again) {
				continue
			}
			if other, ok := tmpl.TextOf(again); !ok {
				t.Errorf("%s: the key %q of the text %q has the text %q, %v", raw, again, text, other, ok)
			}
		}
	})
}
