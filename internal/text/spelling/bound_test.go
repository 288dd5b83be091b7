package spelling

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBound(t *testing.T) {
	for _, n := range []int{0, 1, 1499, 1500, 5000, 1_000_000} {
		whole := fmt.Errorf("tier %q is unknown: %w: use a name", strings.Repeat("€", n), io.EOF)
		err := Bound(whole)
		text := err.Error()
		if len(whole.Error()) <= 4096 && err != whole {
			t.Errorf("%d runes: an error of %d bytes is replaced", n, len(whole.Error()))
		}
		if len(text) > 4096 || !utf8.ValidString(text) || !errors.Is(err, io.EOF) ||
			!strings.HasPrefix(text, `tier "`) || !strings.HasSuffix(text, "is unknown: EOF: use a name") {
			t.Errorf("%d runes: %d bytes, %q", n, len(text), text)
		}
	}
	if Bound(nil) != nil {
		t.Error("no error has become one")
	}
}
