package command

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetlimit/fleetlimit/rules"
)

var tierCommands = &entryCommands[*rules.TierAssignment]{
	list: "tiers", name: "tier", noun: "tier of a key",
	columns: []string{"ZONE", "KEY", "TIER"},
	cells:   func(a *rules.TierAssignment) []any { return []any{a.Zone, keyCell(&a.Key), a.Tier} },
}

func tierCommand() *cobra.Command {
	c := tierCommands
	add := apiCommand[*rules.TierAssignment]{
		use: "add <zone> <tier> [<key>]", short: "Gives a key a tier",
		long: "Gives a key a tier of the zone. It comes before the zone's own ways to find a tier." + keyHelp,
		example: `  caddy rate-limit tier add user pro sk_live_1 --reason "contract 12"
  caddy rate-limit tier add user pro --key-file - <key.txt`,
		least: 2, most: 3, ofZone: true, complete: completeZoneAndTier,
		flags: addFlags,
		request: func(cmd *cobra.Command, args []string) (*apiRequest, error) {
			body := usedFlags(cmd.Flags(), "missing")
			body["zone"], body["tier"] = args[0], args[1]
			if err := addKey(body, cmd, args[2:]); err != nil {
				return nil, err
			}
			return c.add(cmd.Flags(), body), nil
		},
		print: c.printOne,
	}.command()
	change := c.changeCommand("  caddy rate-limit tier change acme --tier free",
		func(f *pflag.FlagSet) { f.String("tier", "", "Tier of the key") },
		func(f *pflag.FlagSet) map[string]any { return usedFlags(f, "tier") })
	return newGroup("tier", "Tiers of single keys", add, c.listCommand(), c.showCommand(), change, c.removeCommand())
}
