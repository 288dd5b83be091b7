package fleetlimit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A rule is the effective limit for an endpoint and a tier of a zone, with the texts that responses say about it.
type rule struct {
	*limiter.Rule // nil: unlimited or block
	block         bool
	window        time.Duration // of the limit; for block, how long to stay away
	texts         ruleTexts
}

// blockedFor is what a blocked client is told to wait: nothing changes for it until the configuration does.
const blockedFor = 24 * time.Hour

// newRule makes the rule of limit in a zone; base says all that the limit does not.
func newRule(zone string, base limiter.Rule, limit *Limit) (*rule, error) {
	if err := limit.validate(); err != nil {
		return nil, err
	}
	r := &rule{block: limit.Block}
	if limit.Block {
		r.window = blockedFor
		if limit.Window > 0 {
			r.window = time.Duration(limit.Window)
		}
	}
	if limit.Block || limit.Unlimited {
		r.texts = newRuleTexts(zone, r)
		return r, nil
	}
	if limit.Burst > 0 && base.Algorithm.Kind != limiter.TokenBucket {
		return nil, fmt.Errorf("limit: only token_bucket has a burst: remove it, or change the algorithm %v", base.Algorithm.Kind)
	}
	base.Limit = limiter.Limit{Events: limit.Events, Window: time.Duration(limit.Window), Burst: limit.Burst}
	var err error
	if r.Rule, err = limiter.NewRule(base); err != nil {
		return nil, err
	}
	r.window = base.Limit.Window
	r.texts = newRuleTexts(zone, r)
	return r, nil
}

// unlimited reports whether r limits nothing.
func (r *rule) unlimited() bool { return r.Rule == nil && !r.block }

// validate returns an error that says what to write instead when l does not make sense.
func (l *Limit) validate() error {
	counted := l.Events != 0 || l.Burst != 0 || (l.Window != 0 && !l.Block)
	switch {
	case l.Unlimited && (l.Block || counted) || l.Block && counted:
		return fmt.Errorf("limit: say one of events with window, unlimited, and block")
	case l.Unlimited || l.Block:
		return nil
	case l.Events == 0:
		return fmt.Errorf("limit: events is 0: say block to reject every request")
	}
	return limiter.Limit{Events: l.Events, Window: time.Duration(l.Window), Burst: l.Burst}.Validate()
}

// MarshalJSON leaves out what is the default, so that zones which mean the same are written the same.
func (a Algorithm) MarshalJSON() ([]byte, error) {
	type plain Algorithm
	if a.Subwindows == 1 {
		a.Subwindows = 0
	}
	return json.Marshal(plain(a))
}

// compile returns the algorithm that a names, the token bucket for none.
func (a *Algorithm) compile() (limiter.Algorithm, error) {
	if a == nil || *a == (Algorithm{}) {
		return limiter.Algorithm{}, nil
	}
	kind, err := limiter.ParseKind(a.Name)
	if err != nil {
		return limiter.Algorithm{}, err
	}
	compiled := limiter.Algorithm{Kind: kind, SubWindows: a.Subwindows}
	if kind == limiter.SlidingWindow {
		compiled.SubWindows = cmp.Or(a.Subwindows, 1)
	}
	return compiled, compiled.Validate()
}

// amount returns a number with the noun it counts.
func amount(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.FormatInt(n, 10) + " " + noun + "s"
}
