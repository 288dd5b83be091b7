package fleetlimit

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/ipset"
	"github.com/fleetlimit/fleetlimit/rules"
)

// addressEntries are the client addresses that the rules in force exempt from all zones, or deny. They
// are immutable. nil has none.
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
		if e == nil || e.Address == "" {
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

// check returns whether an address is exempt or denied at the instant that now returns. Denials come
// first.
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
