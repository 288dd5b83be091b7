package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetlimit/fleetlimit/rules"
)

var overrideCommands = &entryCommands[*rules.Override]{
	list: "overrides", name: "override", noun: "override",
	columns: []string{"ZONE", "KEY", "LIMIT", "ENDPOINT"}, atEndpoints: true, byKey: true,
	cells: func(o *rules.Override) []any {
		return []any{o.Zone, keyCell(&o.Key), overrideText(o), o.Endpoint}
	},
}

// overrideText says what an override changes.
func overrideText(o *rules.Override) string {
	var texts []string
	if o.Limit != "" || o.Multiplier != 0 {
		texts = append(texts, limitText(o.Limit, o.Multiplier))
	}
	if o.Concurrent != 0 {
		texts = append(texts, fmt.Sprintf("%d at once", o.Concurrent))
	}
	return strings.Join(texts, ", ")
}

func overrideCommand() *cobra.Command {
	c := overrideCommands
	limits := func(f *pflag.FlagSet) {
		f.String("limit", "", "Limit of the key, such as 5000/1m")
		f.Float64("multiplier", 0, "What multiplies the limit that the key has, in place of --limit")
		f.Int("concurrent", 0, "Requests of the key at once, beside or in place of --limit")
		endpointFlag(f)
	}
	add := apiCommand[*rules.Override]{
		use: "add <zone> [<key>]", short: "Gives a key another limit",
		long: "Gives a key another limit. It comes before all other limits of the key." + keyHelp,
		example: `  caddy rate-limit override add user sk_live_1 --limit 5000/1m --expires-in 2h --reason "launch day"
  caddy rate-limit override add user sk_live_1 --multiplier 5 --endpoint "POST /v1/search*"
  caddy rate-limit override add user sk_live_1 --concurrent 2 --expires-in 1h
  caddy rate-limit override add user --key-file - --limit block <key.txt`,
		least: 1, most: 2, ofZone: true,
		flags: func(f *pflag.FlagSet) {
			limits(f)
			addFlags(f)
		},
		request: func(cmd *cobra.Command, args []string) (*apiRequest, error) {
			body := usedFlags(cmd.Flags(), "limit", "multiplier", "concurrent", "endpoint", "missing")
			body["zone"] = args[0]
			if err := addKey(body, cmd, args[1:]); err != nil {
				return nil, err
			}
			return c.add(cmd.Flags(), body), nil
		},
		print: c.printOne,
	}.command()
	change := c.changeCommand("  caddy rate-limit override change launch --multiplier 10 --expires-in 1h", limits,
		func(f *pflag.FlagSet) map[string]any {
			patch := usedFlags(f, "limit", "multiplier", "concurrent", "endpoint")
			switch { // one of them comes in place of the other
			case f.Changed("limit") && !f.Changed("multiplier"):
				patch["multiplier"] = nil
			case f.Changed("multiplier") && !f.Changed("limit"):
				patch["limit"] = nil
			}
			return patch
		})
	return newGroup("override", "Limits of single keys", add, c.listCommand(), c.showCommand(), change, c.removeCommand())
}
