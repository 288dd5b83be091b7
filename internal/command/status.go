package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
)

func statusCommand() *cobra.Command {
	cmd := apiCommand[adminapi.Status]{
		use: "status", short: "Shows health, rules, nodes and emergency mode",
		example: `  caddy rate-limit status
  caddy rate-limit status --address unix//run/caddy/admin.sock
  caddy rate-limit status zones`,
		request: func(*cobra.Command, []string) (*apiRequest, error) { return getRequest("status"), nil },
		print:   printStatus,
	}.command()
	cmd.AddCommand(zonesCommand(), nodesCommand())
	cmd.Args = refuseUnknownCommand
	cmd.ValidArgsFunction = nil // there are only subcommands
	return cmd
}

func printStatus(t *table, s *adminapi.Status) {
	t.row("status", string(s.Status))
	t.row("counts", s.Store)
	t.row("nodes", s.Nodes)
	t.row("zones", s.Zones)
	t.row("rules", s.Rules.Store)
	t.row("version", s.Rules.Version)
	t.row("written", s.Rules.Time)
	t.row("author", s.Rules.Author)
	t.row("overrides", s.Rules.Overrides)
	t.row("tiers", s.Rules.Tiers)
	t.row("access", s.Rules.Access)
	t.row("failed polls", s.Rules.FailedPolls)
	printEmergency(t, &s.Emergency)
}

func zonesCommand() *cobra.Command {
	return apiCommand[adminapi.Zones]{
		use: "zones", short: "Lists the limits in force, and where they are from",
		example: "  caddy rate-limit status zones",
		request: func(*cobra.Command, []string) (*apiRequest, error) { return getRequest("zones"), nil },
		print: func(t *table, answer *adminapi.Zones) {
			t.row("ZONE", "ENDPOINT", "TIER", "LIMIT", "ALGORITHM", "FROM", "DRY RUN", "COMPARED WITH")
			for _, z := range answer.Zones {
				for _, e := range z.Limits {
					for _, limit := range e.Tiers {
						t.row(z.Name, e.Endpoint, limit.Tier, limit.Limit, limit.Algorithm, originTexts(limit.From), z.DryRun,
							comparedText(&z, &limit))
					}
				}
			}
		},
	}.command()
}

// comparedText returns what a limit is compared with, and for which keys.
func comparedText(z *adminapi.Zone, limit *adminapi.TierLimit) string {
	if limit.Compared == nil {
		return ""
	}
	return fmt.Sprintf("%s %s (%s of keys)", limit.Compared.Limit, limit.Compared.Algorithm, z.Compare)
}

func nodesCommand() *cobra.Command {
	return apiCommand[adminapi.Nodes]{
		use: "nodes", short: "Lists the nodes that share the counts",
		example: "  caddy rate-limit status nodes",
		request: func(*cobra.Command, []string) (*apiRequest, error) { return getRequest("nodes"), nil },
		print: func(t *table, answer *adminapi.Nodes) {
			t.row("NODE", "SEEN", "SELF")
			for _, n := range answer.Nodes {
				seen, self := "", ""
				if n.SeenAgo != "" {
					seen = n.SeenAgo + " ago"
				}
				if n.Name == answer.Self {
					self = "yes"
				}
				t.row(n.Name, seen, self)
			}
		},
	}.command()
}
