package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
)

// Cost is the number of events that a request counts as: a number, a placeholder such as
// `{http.vars.cost}`, which `trusted` may follow, or an object in which exactly one of `events` and
// `placeholder` is set.
type Cost struct {
	// A fixed number, from 1 to what the limit allows at once.
	Events int64 `json:"events,omitempty"`

	// A placeholder that expands to the number, such as `{http.vars.cost}`. A value above what the
	// limit allows at once counts as that much. A value below 1, or one that is not a number, counts
	// as 1.
	Placeholder string `json:"placeholder,omitempty"`

	// Accepts a placeholder whose value clients control. Default: false.
	Trusted bool `json:"trusted,omitempty"`
}

// parseCost parses a number, or a placeholder and the word that may follow it.
func parseCost(args []string) (*Cost, error) {
	c := new(Cost)
	if strings.HasPrefix(args[0], "{") {
		c.Placeholder = args[0]
		return c, parseTrusted(args, &c.Trusted)
	}
	n, err := ParseEvents(args[0])
	if err != nil || n < 1 {
		return nil, fmt.Errorf("%q is not a cost: use a number from 1, or a placeholder such as {http.vars.cost}", args[0])
	}
	if len(args) > 1 {
		return nil, fmt.Errorf("unexpected %q: use `%s`", args[1], costUsage)
	}
	c.Events = n
	return c, nil
}

// parseTrusted parses the word `trusted`, which may follow the placeholder of a cost or a tier.
// args are the placeholder and the rest of the line. Without the word, parseTrusted refuses a
// placeholder that clients control.
func parseTrusted(args []string, trusted *bool) error {
	if *trusted = len(args) > 1; *trusted && args[1] != "trusted" {
		return fmt.Errorf("unexpected %q after %s: use `trusted` or nothing", args[1], args[0])
	}
	_, err := keytemplate.ParsePlaceholder(args[0], *trusted)
	if err == nil || errors.Is(err, keytemplate.ErrUnset) {
		return nil
	}
	return err
}
