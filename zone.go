package fleetlimit

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/fleetlimit/fleetlimit/internal/glob"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A zone is a Zone of a configuration, compiled: what can be settled when the configuration loads is settled.
type zone struct {
	*zoneState
	legacy   bool // spelled in the syntax of caddy-ratelimit
	matchers caddyhttp.MatcherSets
	key      *template
	missing  missingKey

	ambiguousIsMissing bool      // instead of an error
	cookieKey          *template // counts requests with an ambiguous cookie

	allow     glob.Set
	deny      glob.Set
	tiers     *tierFinder     // nil: no tiers
	endpoints []endpointRules // of the endpoints in written order, and of the zone itself at the end

	auth []string // the placeholders of authentication that key and tier read

	warned     atomic.Bool // of a missing key
	warnedAuth atomic.Bool // of authentication that comes later
}

// missingKey says what to do with a request whose key is missing.
type missingKey struct {
	action missingAction
	key    *template // for the actions that count
}

type missingAction uint8

const (
	missingDefault missingAction = iota // count it by the client's address, as nothing else is said, and warn
	missingCount                        // count it by another key
	missingSkip                         // leave it out of the zone
	missingDeny                         // answer 403
)

// clientIP is the placeholder for the client's address as Caddy determines it.
const clientIP = "{http.vars.client_ip}"

// newZone compiles config into rules that hold handle. Its matchers and state are the caller's to set.
func newZone(name string, config *Zone, app *App, handle limiter.Zone) (*zone, error) {
	legacy := config.legacy()
	if err := validateZoneName(name, legacy); err != nil {
		return nil, err
	}
	if legacy {
		var err error
		if config, err = fromLegacy(config); err != nil {
			return nil, err
		}
	} else if config.Key == "" {
		return nil, fmt.Errorf("has no key: say what to count, such as \"key\": %q", clientIP)
	}
	z := &zone{legacy: legacy}
	var err error
	if err = z.compileKeys(config, legacy && config.OnMissingKey == ""); err != nil {
		return nil, err
	}
	if z.allow, err = glob.Parse(config.AllowKeys); err != nil {
		return nil, fmt.Errorf("allow_key: %w", err)
	}
	if z.deny, err = glob.Parse(config.DenyKeys); err != nil {
		return nil, fmt.Errorf("deny_key: %w", err)
	}
	if z.tiers, err = newTierFinder(config.Tier, app.Tiers); err != nil {
		return nil, fmt.Errorf("tier: %w", err)
	}
	if z.endpoints, err = compileEndpoints(name, config, z.tiers, app, handle); err != nil {
		return nil, err
	}
	z.auth = slices.DeleteFunc(append(z.key.placeholders(), z.tiers.placeholders()...), func(p string) bool {
		return !strings.HasPrefix(p, "http.auth.")
	})
	return z, nil
}

// compileKeys compiles the templates of the key and of its substitute.
//
// lenient keys are what the replacer makes of them, as in caddy-ratelimit: nothing about them is ever missing.
func (z *zone) compileKeys(config *Zone, lenient bool) error {
	o := templateOptions{ipv4Bits: 32, ipv6Bits: 64, space: spaceKey, lenient: lenient}
	if z.legacy {
		o.ipv6Bits = 128
	}
	if p := config.IPv4Prefix; p != nil {
		if *p < 0 || *p > 32 {
			return fmt.Errorf("ipv4_prefix is %d: say 0 to 32", *p)
		}
		o.ipv4Bits, o.maskAll = *p, true
	}
	if p := config.IPv6Prefix; p != nil {
		if *p < 0 || *p > 128 {
			return fmt.Errorf("ipv6_prefix is %d: say 0 to 128", *p)
		}
		o.ipv6Bits, o.maskAll = *p, true
	}
	var err error
	if z.key, err = newTemplate(config.Key, o); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	if err := z.compileAmbiguous(config.OnAmbiguousKey, o); err != nil {
		return err
	}
	switch config.OnMissingKey {
	case "skip":
		z.missing.action = missingSkip
		return nil
	case "deny":
		z.missing.action = missingDeny
		return nil
	case "":
		z.missing.key = z.cookieKey
		return nil
	}
	z.missing.action = missingCount
	o.space, o.lenient = spaceMissing, false
	if z.missing.key, err = newTemplate(config.OnMissingKey, o); err != nil {
		return fmt.Errorf("on_missing_key: %w", err)
	}
	return nil
}

// compileAmbiguous compiles what to do with ambiguous keys. Those of cookies always count by the client's address, also
// where requests without a key are left out or turned away: browsers send them, and the upstream may read a session.
func (z *zone) compileAmbiguous(action string, o templateOptions) (err error) {
	switch action {
	case "", "reject":
		z.ambiguousIsMissing = z.legacy
	case "missing":
		z.ambiguousIsMissing = true
	default:
		return fmt.Errorf("on_ambiguous_key is %q: use reject or missing", action)
	}
	o.space, o.lenient = spaceMissing, false
	z.cookieKey, err = newTemplate(clientIP, o)
	return err
}

// checkAmbiguous counts a request in which what, the key, tier or cost, is ambiguous. It returns the error that answers
// the request unless an ambiguous value counts as a missing one.
func (z *zone) checkAmbiguous(what string, has presence) error {
	if has < ambiguousCookie {
		return nil
	}
	z.counters.ambiguous.Add(1)
	if has == ambiguousCookie || z.ambiguousIsMissing {
		return nil
	}
	return caddyhttp.Error(http.StatusBadRequest, fmt.Errorf("the %s of zone %q is ambiguous: send its header or query "+
		"parameter once, in its own spelling", what, z.name))
}

// validateZoneName refuses what would not fit into headers and paths. Zones in the syntax of caddy-ratelimit may have any
// name, as there.
func validateZoneName(name string, legacy bool) error {
	if legacy {
		return nil
	}
	ok := len(name) >= 1 && len(name) <= 64
	for i := range len(name) {
		c := name[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_.-", c) >= 0)
	}
	if !ok {
		return fmt.Errorf("the name is not valid: use 1 to 64 of the characters A-Z, a-z, 0-9, _, . and -")
	}
	return nil
}
