package fleetlimit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
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

// The words of Zone.OnMissingKey. Any other text is a template.
const (
	onMissingSkip   = "skip"
	onMissingDeny   = "deny"
	onMissingShared = "shared"
)

// newMissingKey compiles what config does with requests without a key. o are the options of the
// template that it may have.
func (z *zone) newMissingKey(config *Zone, o keytemplate.Options) (m missingKey, err error) {
	if err := checkOnMissingKey(config.OnMissingKey, config.OnMissingLimit); err != nil {
		return m, err
	}
	m.limited = config.OnMissingLimit != nil
	switch config.OnMissingKey {
	case onMissingSkip:
		m.action = missingSkip
		return m, nil
	case onMissingDeny:
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
	if m.key, err = z.parseKey(config.OnMissingKey, o); err != nil {
		return m, fmt.Errorf("on_missing_key: %w", err)
	}
	if config.OnMissingKey != onMissingShared && len(m.key.Placeholders()) == 0 {
		return m, fmt.Errorf("on_missing_key %s is the same for all requests: use shared", config.OnMissingKey)
	}
	return m, nil
}

// checkMissingKey refuses a substitute that is missing whenever the key is. It warns about settings
// for missing keys if the key is never missing.
func (z *zone) checkMissingKey(config *Zone) error {
	names := z.key.Placeholders()
	switch {
	case config.OnMissingKey == "" && config.OnMissingLimit == nil:
	case len(names) == 0:
		z.warnings = append(z.warnings, fmt.Errorf("on_missing_key has no effect, because the key %q has no placeholder "+
			"that can be missing: use a key such as {http.request.header.X-Api-Key}, or no on_missing_key", config.Key))
	case len(names) == 1 && "{"+names[0]+"}" != clientIP && z.missing.key != nil &&
		slices.Contains(z.missing.key.Placeholders(), names[0]):
		return fmt.Errorf("on_missing_key %s is missing whenever the key is: use another placeholder, such as {client_ip}, "+
			"or shared, skip or deny", config.OnMissingKey)
	}
	return nil
}

// wrongOnMissingKey has what people write instead of a value of on_missing_key, in lower case.
var wrongOnMissingKey = map[string]string{
	"skip": onMissingSkip, "allow": onMissingSkip, "none": onMissingSkip, "ignore": onMissingSkip,
	"pass": onMissingSkip, "off": onMissingSkip, "unlimited": onMissingSkip, "bypass": onMissingSkip,

	"deny": onMissingDeny, "reject": onMissingDeny, "block": onMissingDeny, "refuse": onMissingDeny,
	"forbid": onMissingDeny, "error": onMissingDeny, "403": onMissingDeny,

	"shared": onMissingShared, "share": onMissingShared, "static": onMissingShared, "global": onMissingShared,

	"ip": "{client_ip}", "client_ip": "{client_ip}", "remote_ip": "{client_ip}", "address": "{client_ip}",
	"remote_host": "{remote_host}",
}

// checkOnMissingKey refuses texts that are neither a word of on_missing_key nor a template: they
// would be one key, whose count all clients without a key share. limit is that of such requests.
func checkOnMissingKey(text string, limit *Limit) error {
	words := strings.Fields(strings.ReplaceAll(text, "}", "} ")) // {client_ip}10/1m has a rate too
	rate := slices.IndexFunc(words, func(word string) bool {
		_, err := parseEventsPerWindow(word)
		return err == nil
	})
	switch {
	case (text == onMissingSkip || text == onMissingDeny) && limit != nil:
		return fmt.Errorf("on_missing_key %s has no limit: use it without one, or {client_ip} or shared in its place", text)
	case text == "", text == onMissingSkip, text == onMissingDeny, text == onMissingShared:
		return nil
	case rate >= 0:
		key := strings.Join(words[:rate], " ")
		if key == "" || key == onMissingSkip || key == onMissingDeny {
			key = "{client_ip}"
		}
		return fmt.Errorf("on_missing_key has a rate in the text %q: use `on_missing_key %s %s` without quotes, or in JSON "+
			"on_missing_limit for the rate", text, key, strings.Join(words[rate:], " "))
	case strings.Contains(text, "{"):
		return nil
	}
	right := wrongOnMissingKey[strings.ToLower(text)]
	if right == "" && len(words) == 1 && strings.Contains(text, ".") {
		right = "{" + text + "}"
	}
	if right != "" {
		return fmt.Errorf("on_missing_key is %q: use %s", text, right)
	}
	return fmt.Errorf("on_missing_key is %q, which has no placeholder: use `shared` to count all requests without a key "+
		"together, or a template such as {client_ip}, or skip, or deny", text)
}

// substituteKey returns the template that counts a request without a usable key. It returns nil if
// the zone does not apply to such requests, or forbids them.
func (e *evaluation) substituteKey(z *zone, has keytemplate.Presence) (*keytemplate.Template, error) {
	if err := z.checkAmbiguous("key", has); err != nil {
		return nil, err
	}
	e.warnNoAddress(z, z.key) // also if the zone skips or denies the request
	substitute, isMissing := z.cookieKey, has != keytemplate.AmbiguousCookie
	if isMissing {
		z.counters.missingKeys.Add(1)
		switch z.missing.action {
		case missingSkip:
			return nil, nil
		case missingDeny:
			e.forbidden = forbidden{reason: noKey, zone: z}
			return nil, nil
		}
		substitute = z.missing.key
	}
	switch {
	case e.warnNoAddress(z, substitute):
		return z.socketKey, nil
	case isMissing && z.missing.action == missingDefault && !z.warned.Swap(true):
		e.handler.logger.Warn("requests without a key are counted by the client's address: use on_missing_key to "+
			"change that", zap.String("zone", z.name), placeField(z.place), zap.String("key", z.key.String()))
	}
	return substitute, nil
}

// warnNoAddress reports whether a template has the client's address and the request none, which is
// so on a Unix socket. It logs that once per zone.
func (e *evaluation) warnNoAddress(z *zone, template *keytemplate.Template) bool {
	if !template.LacksAddress(e.request, e.repl) {
		return false
	}
	if !z.warnedAddress.Swap(true) {
		e.handler.logger.Warn("requests have no client address, as on a Unix socket, so they share one count unless "+
			"on_missing_key says otherwise: use {client_ip} with `trusted_proxies_unix` in the global option `servers`, and "+
			"a proxy that sends X-Forwarded-For", zap.String("zone", z.name), placeField(z.place),
			zap.String("key", z.key.String()))
	}
	return true
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
		b.withoutKey, err = b.rule(base, limit, b.zone.Consistency.or(b.app.defaults.Consistency))
	}
	if err != nil {
		return fmt.Errorf("on_missing_key: %w", err)
	}
	return nil
}

// ruleWithoutKey returns the rule of requests without a key at e, whose other rules are compiled.
// What e itself sets for keys of an unknown tier stays if it is lower than on_missing_limit. What no
// limit of the zone applies to has none.
func (b *ruleBuilder) ruleWithoutKey(e *Endpoint, compiled *endpointRules) (*rule, error) {
	own, tier := e.Limit, noTier
	if b.tiers != nil {
		tier = b.tiers.fallback
		if t := e.Tiers[b.tiers.names[tier]]; t.limited() {
			own = &t.Limit
		}
	}
	switch {
	case b.withoutKey == nil, compiled.empty():
		return nil, nil
	case own != nil && (own.Unlimited || own.lowerThan(b.zone.OnMissingLimit)):
		return compiled.rules[tier], nil
	}
	if err := compiled.cost.fits(b.withoutKey); err != nil {
		return nil, fmt.Errorf("on_missing_key: %w", err)
	}
	return b.withoutKey, nil
}

// lowerThan reports whether l admits less than other in the long run, or as much with a smaller
// burst.
func (l *Limit) lowerThan(other *Limit) bool {
	switch {
	case l.Unlimited || other.Block:
		return false
	case l.Block || other.Unlimited:
		return true
	}
	rate := func(l *Limit) float64 { return float64(l.Events) / float64(l.Window) }
	burst := func(l *Limit) int64 { return cmp.Or(l.Burst, l.Events) }
	return cmp.Or(cmp.Compare(rate(l), rate(other)), cmp.Compare(burst(l), burst(other))) < 0
}
