package command

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

func planCommand() *cobra.Command {
	failIfReset := false
	return apiCommand[api.Plan]{
		use: "plan", short: "Shows what a reload would change of the limits",
		long: "Shows what a reload with the configuration file of --config would change: zones and limits, counts that\n" +
			"would start from zero, keys that would be above their new limit, and rules that would not be in force\n" +
			"any more. Nothing is reloaded. Without --config, the file is that of caddy reload.",
		example: `  caddy rate-limit plan --config Caddyfile
  caddy rate-limit plan --config Caddyfile --fail-if-reset`,
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&failIfReset, "fail-if-reset", false, "End with exit code 1 if counts would start from zero")
		},
		request: func(cmd *cobra.Command, _ []string) (*apiRequest, error) {
			text, err := loadConfig(cmd.Flags())
			if err != nil {
				return nil, err
			}
			r := newRequest(http.MethodPost, "plan", text)
			r.config = text
			r.header.Set("Content-Type", "application/json")
			return r, nil
		},
		print: printPlan,
		ok:    func(answer *api.Plan) bool { return !failIfReset || !answer.Resets },
	}.command()
}

// loadConfig returns the configuration of --config, or of the file that caddy reload takes, as
// JSON.
func loadConfig(f *pflag.FlagSet) ([]byte, error) {
	name, _ := f.GetString("config")
	adapter, _ := f.GetString("adapter")
	text, _, _, err := caddycmd.LoadConfig(name, adapter)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the configuration: %w: use --config with a file that caddy adapt accepts", err)
	case len(text) == 0:
		return nil, errors.New("there is no configuration file: use --config")
	}
	return text, nil
}

func printPlan(t *table, p *api.Plan) {
	if len(p.Zones)+len(p.Rules) == 0 {
		t.line("no zone, limit, count or rule changes")
	}
	for _, z := range p.Zones {
		t.line("zone %s: %s", printable(z.Zone), z.Change)
		t.rowIf("  settings", strings.Join(z.Settings, ", "))
		for _, l := range z.Limits {
			t.row("  limit", l.String())
		}
		t.rowIf("  dry run", z.DryRun)
		for _, text := range z.Masked {
			t.row("  masked", text+", but rules decide")
		}
		for _, text := range z.Reset {
			t.row("  counts reset", text)
		}
		if len(z.Reset) > 0 {
			t.row("  from zero", fmt.Sprintf("%d counts of the keys that use the zone most", z.Counts))
		}
		for _, k := range z.Above {
			what := "  above limit"
			if k.DryRunEnds {
				what = "  dry run ends"
			}
			t.row(what, fmt.Sprintf("%s has consumed %d of %s", shownKeyCell(&k.ShownKey), k.Consumed, k.Limit))
		}
	}
	for _, text := range p.Rules {
		t.line("not in force any more: %s", printable(text))
	}
}
