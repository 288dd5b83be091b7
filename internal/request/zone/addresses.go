package zone

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/key/ipset"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/rules"
)

// An Addresses exempts client addresses from all zones, or denies them.
type Addresses struct {
	allow, deny ipset.Set
}

func NewAddresses(allow, deny []string) (f Addresses, err error) {
	if f.allow, err = parseAddresses(allow); err != nil {
		return f, fmt.Errorf("allow: %w", err)
	}
	if f.deny, err = parseAddresses(deny); err != nil {
		return f, fmt.Errorf("deny: %w", err)
	}
	return f, nil
}

// Warnings returns what is probably a mistake in the lists.
func (f *Addresses) Warnings() (warnings []error) {
	for _, r := range f.allow {
		if r.Bits() == 0 {
			warnings = append(warnings, fmt.Errorf("allow %s exempts all those clients from every zone: use a narrower range, or "+
				"`limit unlimited` in a zone", r))
		}
		for _, d := range f.deny {
			if d.Bits() <= r.Bits() && d.Contains(r.Addr()) {
				warnings = append(warnings, fmt.Errorf("allow %s has no effect, because deny %s comes first: use a narrower deny",
					ipset.Format(r), ipset.Format(d)))
			}
		}
	}
	for _, d := range f.deny {
		if d.Bits() == 0 {
			warnings = append(warnings, fmt.Errorf("deny %s answers 403 to all those clients: use a narrower range, or "+
				"`respond 403` to close a site", d))
		}
	}
	return warnings
}

// parseAddresses reads a list of addresses and ranges. It expands placeholders that do not depend
// on a request, such as {env.OFFICE}.
func parseAddresses(texts []string) (ipset.Set, error) {
	expanded := make([]string, len(texts))
	for i, text := range texts {
		var err error
		if expanded[i], err = caddy.NewReplacer().ReplaceOrErr(text, true, true); err != nil {
			return nil, fmt.Errorf("address %q: %w when the configuration loads: use one that has a value", text, err)
		}
	}
	return ipset.Parse(expanded)
}

// Exempts reports whether the list exempts any address.
func (f *Addresses) Exempts() bool { return len(f.allow) > 0 }

// Check reports whether the request is exempt from all zones, or denied, by the lists or by the
// rules of s.
func (f *Addresses) Check(r *http.Request, s *Snapshot) (exempt, denied bool, err error) {
	return f.check(r, s.addresses)
}

// check reports whether the request is exempt from all zones, or denied, by the lists or by rules;
// deny comes before allow. A client without an address, as on a Unix socket, is on no list. The
// address of a 0-RTT request is unverified and decides nothing: the answer is 425.
func (f *Addresses) check(r *http.Request, rules *addressEntries) (exempt, denied bool, err error) {
	if len(f.allow) == 0 && len(f.deny) == 0 && rules == nil {
		return false, false, nil
	}
	addr, ok, early := ClientAddr(r)
	switch {
	case early:
		return false, false, caddyhttp.Error(http.StatusTooEarly, keytemplate.ErrEarlyData)
	case !ok:
		return false, false, nil
	}
	exempt, denied = rules.check(addr, time.Now)
	switch {
	case denied || f.deny.Contains(addr):
		return false, true, nil
	case exempt || f.allow.Contains(addr):
		return true, false, nil
	}
	return false, false, nil
}

// Covers reports whether the lists allow or deny all addresses of a range.
func (f *Addresses) Covers(p netip.Prefix) (allowed, denied bool) {
	return f.allow.Covers(p), f.deny.Covers(p)
}

// ClientAddr returns the address of the client as Caddy determines it, which regards trusted
// proxies. IPv4 is never written as IPv6, and there is no zone. ok is false if the client has no
// address, as on a Unix socket. early reports that the address is unverified: it must not decide
// anything.
func ClientAddr(r *http.Request) (addr netip.Addr, ok, early bool) {
	text, _ := caddyhttp.GetVar(r.Context(), caddyhttp.ClientIPVarKey).(string)
	addr, ok = ipset.ParseAddr(text)
	return addr, ok, keytemplate.EarlyData(r)
}

// addressEntries are the client addresses that the rules in force exempt from all zones, or deny.
// They are immutable. nil has none.
type addressEntries struct {
	all     ipset.Set // to be quick with other addresses
	lengths []int     // of the prefixes, each once
	access  map[netip.Prefix][]expiring[bool]
}

// newAddressEntries compiles the entries of a document that have addresses.
// The errors are about those that are left out, as their addresses are none.
func newAddressEntries(entries []*rules.AccessEntry) (_ *addressEntries, left []error) {
	t, texts := &addressEntries{access: make(map[netip.Prefix][]expiring[bool])}, []string(nil)
	for _, e := range entries {
		if e.Address == "" {
			continue
		}
		p, err := ipset.ParsePrefix(e.Address)
		if err != nil {
			left = append(left, fmt.Errorf("access %s: %w", e.ID, err))
			continue
		}
		t.access[p] = append(t.access[p], newExpiring(e.Action == rules.Allow, &e.Entry))
		t.lengths, texts = append(t.lengths, p.Bits()), append(texts, e.Address)
	}
	if len(texts) == 0 {
		return nil, left
	}
	slices.Sort(t.lengths)
	t.lengths = slices.Compact(t.lengths)
	t.all, _ = ipset.Parse(texts) // each was parsed before
	return t, left
}

// check returns whether an address is exempt or denied at the instant that now returns. Denials
// come first.
func (t *addressEntries) check(a netip.Addr, now func() time.Time) (exempt, denied bool) {
	if t == nil || !t.all.Contains(a) {
		return false, false
	}
	entries := keyEntries{}
	for _, bits := range t.lengths {
		if p, err := a.Prefix(bits); err == nil {
			entries.access = append(entries.access, t.access[p]...)
		}
	}
	return entries.accessAt(now())
}
