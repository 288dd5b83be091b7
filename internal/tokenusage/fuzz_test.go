package tokenusage

import "testing"

// FuzzReader reads a body whole and in two parts, which must not differ. At most Kept bytes stay.
func FuzzReader(f *testing.F) {
	for _, b := range bodies {
		f.Add(b.body, b.contentType, uint16(len(b.body)/2))
	}
	f.Fuzz(func(t *testing.T, body, contentType string, at uint16) {
		i := min(int(at), len(body))
		whole, parts := read(contentType, body), read(contentType, body[:i], body[i:])
		for _, r := range []*Reader{whole, parts} {
			if cap(r.kept) > Kept {
				t.Errorf("%d bytes are kept", cap(r.kept))
			}
		}
		n, known := whole.Tokens()
		m, same := parts.Tokens()
		if n != m || known != same || whole.Events() != parts.Events() {
			t.Errorf("%d tokens, known %v, in %d events; in two parts %d, %v, %d", n, known, whole.Events(), m, same, parts.Events())
		}
		if n < 0 || m < 0 {
			t.Errorf("%d and %d tokens", n, m)
		}
	})
}
