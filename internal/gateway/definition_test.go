package gateway

import (
	"maps"
	"testing"
)

// TestOneSubwindowIsDefined checks that `sliding_window` and `sliding_window 1` are one rule.
func TestOneSubwindowIsDefined(t *testing.T) {
	const plain = `{"key": "k", "limit": {"events": 5, "window": "1m"}, "algorithm": {"name": "sliding_window"}}`
	const one = `{"key": "k", "limit": {"events": 5, "window": "1m"}, "algorithm": {"name": "sliding_window", "subwindows": 1}}`
	const two = `{"key": "k", "limit": {"events": 5, "window": "1m"}, "algorithm": {"name": "sliding_window", "subwindows": 2}}`
	if a, b := definitionOf(t, "{}", plain), definitionOf(t, "{}", one); !maps.Equal(a, b) {
		t.Errorf("definitions\n%s\n%s\ndiffer, but mean the same", a, b)
	}
	if a, b := definitionOf(t, "{}", plain), definitionOf(t, "{}", two); maps.Equal(a, b) {
		t.Errorf("definition of 2 sub-windows is that of 1: %s", a)
	}
}
