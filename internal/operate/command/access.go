package command

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetlimit/fleetlimit/rules"
)

var accessCommands = &entryCommands[*rules.AccessEntry]{
	list: "access", name: "access", noun: "entry of the access list",
	columns: []string{"ACTION", "ADDRESS", "ZONE", "KEY"},
	cells: func(a *rules.AccessEntry) []any {
		if a.Key == nil {
			return []any{a.Action, a.Address, "", ""}
		}
		return []any{a.Action, "", a.Zone, keyCell(a.Key)}
	},
}

func accessCommand() *cobra.Command {
	c := accessCommands
	change := c.changeCommand("  caddy rate-limit access change scraper --expires-in 24h",
		func(f *pflag.FlagSet) { f.String("action", "", "allow or deny") },
		func(f *pflag.FlagSet) map[string]any { return usedFlags(f, "action") })
	return newGroup("access", "Keys and addresses that pass, or get 403",
		accessAddCommand(rules.Allow, "Lets an address pass all limits, or a key those of a zone"),
		accessAddCommand(rules.Deny, "Answers 403 to an address, or to a key of a zone"),
		c.listCommand(), c.showCommand(), change, c.removeCommand())
}

// accessAddCommand returns the command that adds an entry with an action, which names it.
func accessAddCommand(action, short string) *cobra.Command {
	return apiCommand[*rules.AccessEntry]{
		use: action + " [<address> | <key>]", short: short,
		long: short + ".\nThe argument is an address or a prefix, or with --zone a key." + keyHelp,
		example: "  caddy rate-limit access " + action + " 192.0.2.0/24 --expires-in 1h --reason scraper\n" +
			"  caddy rate-limit access " + action + " --zone user sk_live_1",
		most: 1,
		flags: func(f *pflag.FlagSet) {
			f.String("zone", "", "Zone of the key")
			addFlags(f)
		},
		request: func(cmd *cobra.Command, args []string) (*apiRequest, error) {
			body := usedFlags(cmd.Flags(), "zone", "missing")
			body["action"] = action
			switch f := cmd.Flags(); {
			case f.Changed("zone"):
				if err := addKey(body, cmd, args); err != nil {
					return nil, err
				}
			case f.Changed("key-file") || f.Changed("missing") || f.Changed("base64") || f.Changed("key-hash"):
				return nil, errors.New("a key has no zone: use --zone")
			case len(args) == 0:
				return nil, errors.New("there is no address: use one, or --zone with a key")
			default:
				body["address"] = args[0]
			}
			return accessCommands.add(cmd.Flags(), body), nil
		},
		print: accessCommands.printOne,
	}.command()
}
