package keytemplate

import (
	"strings"
	"testing"
)

// TestLongTemplates checks the longest templates, and templates that are too long.
func TestLongTemplates(t *testing.T) {
	for _, tc := range []struct{ raw, says string }{
		{strings.Repeat("k", maxTemplateLen), ""},
		{strings.Repeat("k", maxTemplateLen+1), "has 4097 bytes: use at most 4096"},
		{strings.Repeat(`\{`, 1<<19), "has 1048576 bytes: use at most 4096"},
		{strings.Repeat("{client_ip}", maxPlaceholders), ""},
		{strings.Repeat("{client_ip}", maxPlaceholders+1), "has more than 16 placeholders: use at most 16"},
	} {
		_, err := Parse(tc.raw, defaults)
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%.20q... of %d bytes: the error is %v, want %q", tc.raw, len(tc.raw), err, tc.says)
		}
		if err != nil && len(err.Error()) > 200 {
			t.Errorf("%.20q... of %d bytes: the error has %d bytes, want at most 200", tc.raw, len(tc.raw), len(err.Error()))
		}
	}
}
