package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

func statusCommand() *cobra.Command {
	cmd := apiCommand[api.Status]{
		use: "status", short: "Shows health, rules, nodes and emergency mode",
		example: `  caddy rate-limit status
  caddy rate-limit status --address unix//run/caddy/admin.sock
  caddy rate-limit status zones`,
		request: getting("status"),
		print:   printStatus, ok: isHealthy,
		long: `
Shows health, rules, nodes and emergency mode. The exit code is 1 if the node
is not healthy: a primary of Redis fails, rules were never read, or Caddy shuts
down.`,
	}.command()
	cmd.AddCommand(zonesCommand(), nodesCommand())
	cmd.Args = refuseUnknownCommand
	cmd.ValidArgsFunction = nil // there are only subcommands
	return cmd
}

// healthCommand returns a command for monitoring, whose exit codes are those of monitoring checks.
func healthCommand() *cobra.Command {
	var probe string
	cmd := apiCommand[api.Status]{
		use: "health", short: "Checks whether the node is healthy",
		long: `
Checks whether the node is healthy. What that is depends on the probe:

  live     Caddy answers (for programs that restart nodes)
  serving  and does not shut down (for load balancers)
  ready    and no primary of Redis fails, and rules were read (for alerts)

Requests are served while stores fail, and a restart makes that worse. The exit
code is 0 if the node is healthy, and 1 if it is not. It is 2 if that cannot be
told, because Caddy does not answer.`,
		example: `  caddy rate-limit health
  caddy rate-limit health --probe live`,
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&probe, "probe", api.ProbeReady, "What healthy is: live, serving or ready")
		},
		request: func(*cobra.Command, []string) (*apiRequest, error) {
			if !slices.Contains(api.Probes, probe) {
				return nil, fmt.Errorf("--probe is %q: use %s", probe, strings.Join(api.Probes, ", "))
			}
			if probe == api.ProbeLive {
				return getRequest("health/live"), nil // a Caddy that limits nothing has no status
			}
			return getRequest("status"), nil
		},
		print: printHealth, isCheck: true,
		ok: func(s *api.Status) bool {
			return isHealthy(s) || probe == api.ProbeServing && s.Status == api.HealthDegraded
		},
	}.command()
	_ = cmd.RegisterFlagCompletionFunc("probe", cobra.FixedCompletions(api.Probes, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func isHealthy(s *api.Status) bool { return s.Status == api.HealthOK }

// printHealth writes the status of a node, and what is wrong.
func printHealth(t *table, s *api.Status) {
	t.row("status", string(s.Status))
	for _, store := range s.Stores {
		t.rowIf("store", prefixed(store.Store+": ", store.Error))
		for _, p := range store.Primaries {
			t.rowIf("primary", prefixed(p.Address+": ", p.Error))
		}
	}
	for _, rules := range s.UnreadRules {
		t.row("unread rules", rules.Store+": "+rules.Error)
	}
	for _, m := range s.Mismatches {
		t.row("mismatch", fmt.Sprintf("zone %s differs at %s in %s", m.Zone, m.Node, strings.Join(m.Settings, ", ")))
	}
}

func printStatus(t *table, s *api.Status) {
	printHealth(t, s)
	if p := s.UntrustedProxy; p != nil {
		t.row("proxy", fmt.Sprintf("%s sends %s to zone %s: %s", p.Address, p.Header, p.Zone, p.Cause.Text()))
	}
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
	t.rowIf("rules error", s.Rules.Error)
	printEmergency(t, &s.Emergency)
}

func zonesCommand() *cobra.Command {
	return apiCommand[api.Zones]{
		use: "zones", short: "Lists the limits in force, and where they are from",
		example: "  caddy rate-limit status zones",
		request: getting("zones"),
		print: func(t *table, answer *api.Zones) {
			t.row("ZONE", "ENDPOINT", "TIER", "LIMIT", "ALGORITHM", "FROM", "DRY RUN", "COMPARED WITH")
			for _, z := range answer.Zones {
				for _, e := range z.Limits {
					for _, limit := range e.Tiers {
						tier := limit.Tier
						if limit.Missing {
							tier = "without key"
						}
						t.row(z.Name, e.Endpoint, tier, limit.Limit, limit.Algorithm, originTexts(limit.From), z.DryRun,
							comparedText(&z, &limit))
					}
				}
			}
		},
	}.command()
}

// comparedText returns what a limit is compared with, and for which keys.
func comparedText(z *api.ZoneLimits, limit *api.TierLimit) string {
	if limit.Compared == nil {
		return ""
	}
	return fmt.Sprintf("%s %s (%s of keys)", limit.Compared.Limit, limit.Compared.Algorithm, z.Compare)
}

func nodesCommand() *cobra.Command {
	return apiCommand[api.Nodes]{
		use: "nodes", short: "Lists the nodes that share the counts",
		example: "  caddy rate-limit status nodes",
		request: getting("nodes"),
		print: func(t *table, answer *api.Nodes) {
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
