package command

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/rules"
)

func topCommand() *cobra.Command {
	cmd := apiCommand[api.Top]{
		use: "top <zone>", short: "Lists the keys that use a zone most",
		long: `Lists the keys that use a zone most, in events per second of the last 30 to 60
seconds: those that were taken, those that were rejected, and their sum, the
demand. Of a busy zone, a sample is counted. The column +- says how much more
demand a key may have.

The answer is that of the node that is asked, or with --fleet of all nodes: that
takes some seconds, until all have answered.

Keys may be secrets. So they are shown shortened, with the hash by which logs
name them, unless they are addresses or the configuration has log_key.`,
		example: `  caddy rate-limit top user
  caddy rate-limit top user --watch --fleet
  caddy rate-limit top user --by rejected --limit 100 --endpoint "POST /v1/search*"`,
		least: 1, most: 1, ofZone: true,
		flags: func(f *pflag.FlagSet) {
			endpointFlag(f)
			f.Int("limit", api.DefaultTop, "How many, at most "+strconv.Itoa(api.MaxTop))
			f.String("by", api.ByDemand, "What they are sorted by: demand, taken, rejected or utilisation")
			f.Bool("fleet", false, "All nodes")
			f.Bool("watch", false, "Show them again every two seconds")
		},
		request: func(cmd *cobra.Command, args []string) (*apiRequest, error) {
			return getting(zonePath(args[0], "top"), "limit", "endpoint", "by", "fleet")(cmd, args)
		},
		print: printTop,
	}.command()
	_ = cmd.RegisterFlagCompletionFunc("by", cobra.FixedCompletions(api.TopOrders, cobra.ShellCompDirectiveNoFileComp))
	once := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		watch, _ := cmd.Flags().GetBool("watch")
		for {
			if watch {
				clearScreen(cmd.OutOrStdout())
			}
			if err := once(cmd, args); err != nil || !watch {
				return err
			}
			select {
			case <-cmd.Context().Done():
				return nil
			case <-time.After(watchEvery):
			}
		}
	}
	return cmd
}

// watchEvery is the time between two answers with --watch. Nodes tell each other their lists as
// often.
const watchEvery = 2 * time.Second

// clearScreen clears w if w is a terminal. Elsewhere, one answer follows the other.
func clearScreen(w io.Writer) {
	if isTerminal(w) {
		_, _ = fmt.Fprint(w, "\x1b[H\x1b[2J")
	}
}

func printTop(t *table, top *api.Top) {
	if f := top.Fleet; f != nil {
		t.row("nodes", fmt.Sprintf("%d of %d have answered", f.Answered, f.Nodes))
	} else {
		t.row("node", top.Node)
	}
	if top.Unlisted > 0 {
		t.row("other keys", "at most "+decimal(top.Unlisted)+"/s each")
	}
	t.line("")
	t.row("KEY", "HASH", "ENDPOINT", "LIMIT", "TAKEN/S", "REJECTED/S", "DEMAND/S", "+-", "UTILISATION")
	for i := range top.Keys {
		k := &top.Keys[i]
		errors := ""
		if k.Error > 0 {
			errors = decimal(k.Error)
		}
		t.row(shownKeyCell(&k.ShownKey), k.Hash, k.Endpoint, k.Limit, decimal(k.Taken), decimal(k.Rejected), decimal(k.Demand), errors,
			strconv.FormatFloat(100*k.Utilisation, 'f', 1, 64)+" %")
	}
}

func shownKeyCell(k *api.ShownKey) string {
	if k.Shortened != "" {
		return keyCell(&rules.Key{Text: k.Shortened, Missing: k.Missing})
	}
	return storedCell(&rules.Key{Text: k.Key, Base64: k.Base64, Missing: k.Missing}, k.Stored)
}

func decimal(n float64) string { return strconv.FormatFloat(n, 'f', 2, 64) }
