package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Algorithm is a way to enforce a limit: a text such as `fixed_window` or `sliding_window 10`, or
// an object.
type Algorithm struct {
	// One of `token_bucket`, `sliding_window_log`, `sliding_window` and `fixed_window`.
	Name string `json:"name,omitempty"`

	// Cuts the window of `sliding_window` into this many parts, 1 to 1000. More parts are more exact
	// and need more memory. Default: 1.
	Subwindows int `json:"subwindows,omitempty"`
}

// MarshalJSON leaves out the default number of sub-windows, so that equal zones have equal texts.
func (a Algorithm) MarshalJSON() ([]byte, error) {
	type plain Algorithm
	if a.Subwindows == 1 {
		a.Subwindows = 0
	}
	return json.Marshal(plain(a))
}

// ParseAlgorithm parses an algorithm such as `fixed_window` or `sliding_window 10`.
func ParseAlgorithm(text string) (*Algorithm, error) {
	words := strings.Fields(text)
	if len(words) == 0 || len(words) > 2 {
		return nil, fmt.Errorf("%q is not an algorithm: use its name, such as token_bucket or sliding_window 10", text)
	}
	return parseAlgorithm(words)
}

// parseAlgorithm parses an algorithm and the number of sub-windows that may follow it.
func parseAlgorithm(args []string) (*Algorithm, error) {
	a := &Algorithm{Name: args[0]}
	if _, err := parseKind(args[0]); err != nil && len(args) > 1 {
		_, err = parseKind(strings.Join(args, " "))
		return nil, err
	}
	if len(args) > 1 {
		n, err := ParseEvents(args[1])
		if err != nil || n < 1 || n > limiter.MaxSubWindows {
			return nil, fmt.Errorf("%q is not a number of sub-windows: use 1 to %d", args[1], limiter.MaxSubWindows)
		}
		a.Subwindows = int(n)
	}
	if a.Subwindows > 0 && a.Name != "sliding_window" {
		return nil, fmt.Errorf("%s has no sub-windows: use it alone, or `sliding_window %d`", a.Name, a.Subwindows)
	}
	if _, err := a.Compile(); err != nil {
		return nil, err
	}
	return a, nil
}

// Compile returns the algorithm, which by default is the token bucket.
func (a *Algorithm) Compile() (limiter.Algorithm, error) {
	if a == nil || *a == (Algorithm{}) {
		return limiter.Algorithm{}, nil
	}
	kind, err := parseKind(a.Name)
	if err != nil {
		return limiter.Algorithm{}, err
	}
	if a.Subwindows < 0 || a.Subwindows > limiter.MaxSubWindows {
		return limiter.Algorithm{}, fmt.Errorf("subwindows is %d: use 1 to %d", a.Subwindows, limiter.MaxSubWindows)
	}
	compiled := limiter.Algorithm{Kind: kind, SubWindows: a.Subwindows}
	if kind == limiter.SlidingWindow {
		compiled.SubWindows = cmp.Or(a.Subwindows, 1)
	}
	return compiled, compiled.Validate()
}

func parseKind(name string) (limiter.Kind, error) {
	kind, err := limiter.ParseKind(name)
	if err != nil {
		return 0, unknownWord("algorithm", name)
	}
	return kind, nil
}
