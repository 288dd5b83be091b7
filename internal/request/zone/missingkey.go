package zone

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
)

// missingKey decides what happens to a request whose key is missing.
type missingKey struct {
	action  missingAction
	key     *keytemplate.Template // for missingDefault and missingCount
	limited bool                  // such requests have a limit of their own: endpointRules.withoutKey
}

type missingAction uint8

const (
	missingDefault missingAction = iota // count it by the client's address and warn
	missingCount                        // count it by another key
	missingSkip                         // leave it out of the zone
	missingDeny                         // answer 403
)

// newMissingKey compiles what settings do with requests without a key. o are the options of the
// template that it may have.
func (z *Zone) newMissingKey(settings *config.Zone, o keytemplate.Options) (m missingKey, err error) {
	if err := config.CheckOnMissingKey(settings.OnMissingKey, settings.OnMissingLimit); err != nil {
		return m, err
	}
	m.limited = settings.OnMissingLimit != nil
	switch settings.OnMissingKey {
	case config.OnMissingSkip:
		m.action = missingSkip
		return m, nil
	case config.OnMissingDeny:
		m.action = missingDeny
		return m, nil
	case "":
		m.key = z.cookieKey
		if m.limited { // then the configuration expects them
			m.action = missingCount
		}
		return m, nil
	}
	m.action = missingCount
	if m.key, err = z.parseKey(settings.OnMissingKey, o); err != nil {
		return m, fmt.Errorf("on_missing_key: %w", err)
	}
	if settings.OnMissingKey != config.OnMissingShared && len(m.key.Placeholders()) == 0 {
		return m, fmt.Errorf("on_missing_key %s is the same for all requests: use shared", settings.OnMissingKey)
	}
	return m, nil
}

// MissingKey returns the template that counts requests without a key. It returns nil if such
// requests are not counted. limited reports whether they have a limit of their own.
func (z *Zone) MissingKey() (t *keytemplate.Template, limited bool) {
	return z.missing.key, z.missing.limited
}

// checkMissingKey refuses a substitute that is missing whenever the key is. It warns about settings
// for missing keys if the key is never missing.
func (z *Zone) checkMissingKey(settings *config.Zone) error {
	names := z.Key.Placeholders()
	switch {
	case settings.OnMissingKey == "" && settings.OnMissingLimit == nil:
	case len(names) == 0:
		z.Warnings = append(z.Warnings, fmt.Errorf("on_missing_key has no effect, because the key %q has no placeholder "+
			"that can be missing: use a key such as {http.request.header.X-Api-Key}, or no on_missing_key", settings.Key))
	case len(names) == 1 && "{"+names[0]+"}" != clientIP && z.missing.key != nil &&
		slices.Contains(z.missing.key.Placeholders(), names[0]):
		return fmt.Errorf("on_missing_key %s is missing whenever the key is: use another placeholder, such as {client_ip}, "+
			"or shared, skip or deny", settings.OnMissingKey)
	}
	return nil
}

// compileWithoutKey compiles the limit of requests without a key, if the zone has one. It is one
// rule for the whole zone.
func (b *ruleBuilder) compileWithoutKey() error {
	limit := b.zone.OnMissingLimit
	if limit == nil {
		return nil
	}
	base, err := b.base(nil, cmp.Or(b.zone.OnMissingKey, clientIP), "on_missing_key")
	if err == nil {
		b.withoutKey, err = b.shared(base, limit, b.zone.Enforcement.Or(b.set.Defaults.Enforcement), b.unitOf(new(config.Endpoint)))
	}
	if err != nil {
		return config.ErrorIn("on_missing_key", fmt.Errorf("on_missing_key: %w", err))
	}
	return nil
}

// ruleWithoutKey returns the rule of requests without a key at e, whose other rules are compiled.
// What e itself sets for keys of an unknown tier stays if it is lower than on_missing_limit. What
// no limit of the zone applies to has none.
func (b *ruleBuilder) ruleWithoutKey(e *config.Endpoint, compiled *endpointRules) (*rule, error) {
	tier := b.tiers.numbered("")
	own := b.ownLimit(e, tier)
	switch {
	case b.withoutKey == nil, compiled.empty():
		return nil, nil
	case own != nil && (own.Unlimited || own.LowerThan(b.zone.OnMissingLimit)):
		return compiled.rules[tier], nil
	}
	if err := compiled.cost.fits(b.withoutKey); err != nil {
		return nil, config.ErrorIn("on_missing_key", fmt.Errorf("on_missing_key: %w", err))
	}
	return b.withoutKey, nil
}
