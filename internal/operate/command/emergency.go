package command

import (
	"net/http"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

func emergencyCommand() *cobra.Command {
	const about = `
Emergency mode is a hard limit for every client address, in front of all zones.
It ends by itself. By default, only the node that is asked has it.`
	show := apiCommand[api.Emergency]{
		use: "show", short: "Shows whether emergency mode is on", example: "  caddy rate-limit emergency show",
		request: getting("emergency"),
		print:   printEmergency,
	}.command()
	on := apiCommand[api.Emergency]{
		use: "on", short: "Switches emergency mode on, or changes it", long: about,
		example: `  caddy rate-limit emergency on
  caddy rate-limit emergency on --limit 5/1s --expires-in 1h --reason flood --all-nodes`,
		flags: func(f *pflag.FlagSet) {
			f.String("limit", api.DefaultEmergency, "Rate of each client address")
			f.String("expires-in", api.DefaultExpiresIn, "When it ends, at most 24h")
			f.String("reason", "", "Why, for the log")
			f.Bool("all-nodes", false, "Switch it on at all nodes that share the rules")
			authorFlag(f)
		},
		request: func(cmd *cobra.Command, _ []string) (*apiRequest, error) {
			body := usedFlags(cmd.Flags(), "limit", "expires-in", "reason", "all-nodes")
			return newRequest(http.MethodPost, "emergency", body), nil
		},
		print: printEmergency,
	}.command()
	off := apiCommand[api.Emergency]{
		use: "off", short: "Switches emergency mode off", long: about,
		example: `  caddy rate-limit emergency off
  caddy rate-limit emergency off --all-nodes`,
		flags: func(f *pflag.FlagSet) {
			f.Bool("all-nodes", false, "Switch off what --all-nodes has switched on")
			authorFlag(f)
		},
		request: func(cmd *cobra.Command, _ []string) (*apiRequest, error) {
			r := newRequest(http.MethodDelete, "emergency", nil)
			if allNodes, _ := cmd.Flags().GetBool("all-nodes"); allNodes {
				r.query.Set("all_nodes", "true")
			}
			return r, nil
		},
		print: printEmergency,
	}.command()
	return newGroup("emergency", "Limits every client address at once", show, on, off)
}

func printEmergency(t *table, e *api.Emergency) {
	if !e.Active {
		t.row("emergency", "off")
		return
	}
	nodes := "this one"
	if e.AllNodes {
		nodes = "all"
	}
	t.row("emergency", "on")
	t.row("  limit", e.Limit)
	t.row("  expires", e.ExpiresAt)
	t.row("  nodes", nodes)
	t.row("  reason", e.Reason)
	t.row("  started by", e.StartedBy)
}
