package command

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

func inspectCommand() *cobra.Command {
	return apiCommand[api.Inspection]{
		use: "inspect <zone> [<key>]", short: "Shows what is known of a key",
		long: "Shows the limits of a key, where they are from, and what it has left." + keyHelp,
		example: `  caddy rate-limit inspect user sk_live_1
  caddy rate-limit inspect user sk_live_1 --endpoint "POST /v1/search*" --tier pro
  caddy rate-limit inspect user --key-hash 2bd806c97f0e
  pass show customer | caddy rate-limit inspect user --key-file -`,
		least: 1, most: 2, ofZone: true,
		flags: func(f *pflag.FlagSet) {
			shownKeyFlags(f)
			endpointFlag(f)
			f.String("tier", "", "Tier that the placeholder of requests would give")
		},
		request: func(cmd *cobra.Command, args []string) (*apiRequest, error) {
			body := usedFlags(cmd.Flags(), "missing", "endpoint", "tier")
			if err := addKey(body, cmd, args[1:]); err != nil {
				return nil, err
			}
			return newRequest(http.MethodPost, zonePath(args[0], "inspect"), body), nil
		},
		print: printInspection,
	}.command()
}

func printInspection(t *table, i *api.Inspection) {
	t.row("zone", i.Zone)
	t.row("key", cmp.Or(i.Key, i.Base64, i.Stored, i.Shortened))
	t.rowIf("hash", i.Hash)
	if i.Missing {
		t.row("missing", "yes")
	}
	t.row("access", decidedText(i.Access))
	t.row("tier", tierText(i.Tier))
	t.row("rules", fmt.Sprintf("version %d", i.Version))
	t.line("")
	t.row("ENDPOINT", "TIER", "LIMIT", "CONSUMED", "REMAINING", "RETRY AT", "RESET AT", "LEASED", "FROM")
	for _, c := range i.Counts {
		if c.Count == nil {
			t.row(c.Endpoint, c.Tier, c.Limit, "", "", "", "", "", originTexts(c.From))
			continue
		}
		t.row(c.Endpoint, c.Tier, c.Limit, c.Count.Consumed, c.Count.Remaining, c.Count.RetryAt, c.Count.ResetAt,
			c.Count.Leased, originTexts(c.From))
	}
	for _, c := range i.Concurrent {
		leased := counted(", which has leased %d", c.Leased)
		by := prefixed(" by override ", printable(c.Override))
		t.line("\nin flight%s: %d of %d%s on this node%s", at(c.Endpoint), c.InFlight, c.Limit, by, leased)
	}
	for place, c := range i.Counts {
		if place > 0 && i.Counts[place-1].Endpoint == c.Endpoint && i.Counts[place-1].Tier != c.Tier {
			continue // the same count under the limit of another tier
		}
		where := at(c.Endpoint)
		if c.Error != "" {
			t.line("\nno count%s: %s", where, printable(c.Error))
		}
		if c.Node != nil {
			t.line("\nthis node%s:", where)
			printNode(t, c.Node)
		}
	}
}

// at returns " at " with a place, or "" if there is no place.
func at(place string) string { return prefixed(" at ", printable(place)) }

// printNode writes what a node holds of a count.
func printNode(t *table, n *api.NodeState) {
	for _, l := range n.Leases {
		t.row("lease", fmt.Sprintf("%d events until %s", l.Events, cell(l.ExpiresAt)))
	}
	t.row("debt", n.Debt)
	t.row("denied until", n.DeniedUntil)
}

// decidedText says what decides something about a key.
func decidedText(by *api.DecidedBy) string {
	if by == nil {
		return ""
	}
	return by.Action + by.Name + " (" + by.Source + prefixed(" ", by.Entry) + ")"
}

// tierText says what decides the tier of a key.
func tierText(by *api.DecidedBy) string {
	if by != nil && by.Source == api.FromPlaceholder {
		return "each request decides, by " + by.Placeholder + ": use --tier to show one"
	}
	return decidedText(by)
}

// originTexts says where a limit is from: the widest place first, and the one in force last.
func originTexts(from []api.Origin) string {
	texts := make([]string, len(from))
	for i, o := range from {
		texts[i] = o.Place + " " + limitText(o.Limit, o.Multiplier) + " (" + o.Source + prefixed(" ", o.Override) + ")"
	}
	return strings.Join(texts, ", ")
}

// limitText returns a limit or a multiplier.
func limitText(limit string, multiplier float64) string {
	if limit != "" {
		return limit
	}
	return fmt.Sprintf("x%v", multiplier)
}
