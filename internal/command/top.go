package command

import (
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/rules"
)

func topCommand() *cobra.Command {
	return apiCommand[adminapi.Top]{
		use: "top <zone>", short: "Lists the keys that use a zone most",
		long: `Lists the keys that use a zone most right now, as the node that is asked sees it:
"status nodes" lists the others. With Redis they are sorted by the events per
second of the last seconds, in memory by what they have consumed.

What stands behind "base64" or "stored" can be copied into inspect, reset and
add-quota with the flag of that name.`,
		example: `  caddy rate-limit top user
  caddy rate-limit top user --limit 100 --endpoint "POST /v1/search*"`,
		least: 1, most: 1, ofZone: true,
		flags: func(f *pflag.FlagSet) {
			endpointFlag(f)
			f.Int("limit", adminapi.DefaultTop, "How many, at most "+strconv.Itoa(adminapi.MaxTop))
		},
		request: func(cmd *cobra.Command, args []string) (*apiRequest, error) {
			r := getRequest(zonePath(args[0], "top"))
			r.query = usedQuery(cmd.Flags(), "limit", "endpoint")
			return r, nil
		},
		print: printTop,
	}.command()
}

func printTop(t *table, top *adminapi.Top) {
	t.row("node", top.Node)
	t.line("")
	use := "PER SECOND"
	if top.By == adminapi.ByConsumed {
		use = "CONSUMED"
	}
	t.row("KEY", "ENDPOINT", "LIMIT", use, "DENIED", "RETRY AT")
	for i := range top.Keys {
		k := &top.Keys[i]
		events, denied := "", ""
		switch {
		case k.Demand != nil:
			events = strconv.FormatFloat(*k.Demand, 'f', 2, 64)
		case k.Consumed != nil:
			events = strconv.FormatInt(*k.Consumed, 10)
		}
		if k.Denied {
			denied = "yes"
		}
		key := rules.Key{Text: k.Key, Base64: k.Base64, Missing: k.Missing}
		t.row(storedCell(&key, k.Stored), k.Endpoint, k.Limit, events, denied, k.RetryAt)
	}
}
