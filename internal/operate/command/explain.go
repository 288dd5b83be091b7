package command

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

func explainCommand() *cobra.Command {
	return apiCommand[api.Explanation]{
		use: "explain [<method>] <path or address>", short: "Shows what would happen to a request, and why",
		long: "Shows what would happen to a request: which rate_limit handlers it comes to, which zones limit it,\n" +
			"and what they would decide now. Nothing is taken, and no other handler runs. With --set, give the\n" +
			"values of placeholders that other handlers provide.\n\n" +
			"A header in the arguments can be seen in the list of processes. Use --header-file for secret ones.",
		example: `  caddy rate-limit explain /export -H "X-Api-Key: sk_live_1"
  caddy rate-limit explain POST https://api.example.com/v1/search --from 192.0.2.7 --set http.auth.user.id=bob`,
		least: 1, most: 2,
		flags: func(f *pflag.FlagSet) {
			f.StringArrayP("header", "H", nil, "Header of the request, such as \"X-Api-Key: sk_live_1\"; may be repeated")
			f.String("header-file", "", "File with headers of the request, one a line; - is the standard input")
			f.String("host", "", "Host of the request; default: that of the site")
			f.String("from", "", "Address of the client; default: 127.0.0.1")
			f.StringArray("set", nil, "Value of a placeholder, such as http.auth.user.id=bob; may be repeated")
			f.String("server", "", "Name of the server in the configuration; default: by the port, or the only one")
		},
		request: explainRequest,
		print:   printExplanation,
	}.command()
}

func explainRequest(cmd *cobra.Command, args []string) (*apiRequest, error) {
	body := usedFlags(cmd.Flags(), "host", "from", "server")
	body["uri"] = args[len(args)-1]
	if len(args) > 1 {
		body["method"] = strings.ToUpper(args[0])
	}
	lines, _ := cmd.Flags().GetStringArray("header")
	if name, _ := cmd.Flags().GetString("header-file"); name != "" {
		text, err := readFileOrInput(cmd, name)
		if err != nil {
			return nil, fmt.Errorf("reading the headers: %w", err)
		}
		lines = append(lines, strings.Split(strings.TrimSpace(string(text)), "\n")...)
	}
	headers := make(map[string][]string)
	for _, line := range lines {
		name, value, found := strings.Cut(line, ":")
		if !found {
			return nil, fmt.Errorf("%q is no header: use a name and a value, such as \"X-Api-Key: sk_live_1\"", line)
		}
		name = strings.TrimSpace(name)
		headers[name] = append(headers[name], strings.TrimSpace(value))
	}
	set := make(map[string]string)
	texts, _ := cmd.Flags().GetStringArray("set")
	for _, text := range texts {
		name, value, found := strings.Cut(text, "=")
		if !found {
			return nil, fmt.Errorf("%q sets nothing: use a placeholder and a value, such as http.auth.user.id=bob", text)
		}
		set[name] = value
	}
	body["headers"], body["set"] = headers, set
	return newRequest(http.MethodPost, "explain", body), nil
}

func printExplanation(t *table, x *api.Explanation) {
	t.row("request", fmt.Sprintf("%s %s to %s, from %s", x.Request.Method, x.Request.URI, x.Request.Host, x.Request.ClientIP))
	t.row("server", x.Request.Server)
	t.row("rules", fmt.Sprintf("version %d", x.Version))
	for _, h := range x.Handlers {
		t.line("\nrate_limit%s: %s", at(h.Place), statusText(h.Outcome, h.Status))
		t.rowIf("  address", decidedText(h.Access))
		if h.Emergency {
			t.row("  emergency", "its limit rejects the request, before all zones")
		}
		for _, z := range h.Zones {
			printExplainedZone(t, &z, x.Request.URI)
		}
	}
	const most = 20
	for i, m := range x.Missed {
		if i == most {
			t.line("\nnot reached: %d more: use --json to see them", len(x.Missed)-most)
			break
		}
		t.line("\nnot reached: rate_limit%s with zone %s: %s", at(m.Place), printable(strings.Join(m.Zones, ", ")), printable(m.Why))
	}
	for _, text := range x.Unknown {
		t.line("\nnot known: %s", printable(text))
	}
	t.line("\nresponse: %s", responseText(&x.Response))
}

func printExplainedZone(t *table, z *api.ExplainedZone, uri string) {
	outcome := z.Outcome
	if !z.Applies {
		outcome = "does not apply"
	}
	if z.DryRun {
		outcome += ", in a dry run"
	}
	t.row("  zone "+z.Zone, outcome+prefixed(": ", z.Why))
	if z.Path != "" {
		text := z.Path
		if sent, err := url.Parse(uri); err == nil && sent.Path != text {
			text += ", which was sent as " + sent.Path
		}
		t.row("    path", text)
	}
	for _, v := range z.Values {
		text := fmt.Sprintf("%s is %s", v.Placeholder, v.Presence)
		if v.Presence == "present" {
			text = fmt.Sprintf("%s is %s", v.Placeholder, printable(v.Value))
		}
		t.row("    reads", v.Of+": "+text)
	}
	if key := cmp.Or(z.Key, z.Base64); key != "" {
		if z.Missing {
			key += ", in place of a missing one"
		}
		t.row("    key", key)
	}
	t.rowIf("    access", decidedText(z.Access))
	tier := decidedText(z.Tier)
	if z.TierUnknown != "" {
		tier = cmp.Or(tier, "none") + ", as the zone has no tier " + z.TierUnknown
	}
	t.rowIf("    tier", tier)
	for _, l := range z.Limits {
		printExplainedLimit(t, &l)
	}
	for _, c := range z.Concurrent {
		printExplainedConcurrent(t, &c)
	}
	if a := z.Adaptive; a != nil {
		t.row("    adaptive", fmt.Sprintf("%d requests at once of all keys, of which %d are in flight on this node", a.Limit, a.InFlight))
	} else if z.Outcome == api.Admitted && len(z.Limits)+len(z.Concurrent) == 0 {
		t.row("    limit", "none here")
	}
	for _, text := range z.Rejection {
		t.row("    if rejected", text.Setting+": "+text.Text)
	}
}

func printExplainedLimit(t *table, l *api.ExplainedLimit) {
	t.rowIf("    endpoint", l.Rule.Endpoint)
	t.row("    limit", l.Rule.Limit+", from "+originTexts(l.Rule.From))
	if l.Rule.Count == nil && l.Rule.Error == "" {
		return
	}
	if l.Charge != "" {
		t.row("    reserves", l.Cost)
		t.row("    charge", l.Charge)
	} else {
		t.row("    cost", l.Cost)
	}
	t.rowIf("    counts", prefixed("if the status is one of ", l.CountStatus))
	if l.Rule.Count != nil {
		text := fmt.Sprintf("%d of %d left", l.Rule.Count.Remaining, l.Rule.Count.Limit)
		t.row("    count", text+counted(", %d leased to nodes", l.Rule.Count.Leased))
	} else {
		t.row("    count", "none: "+l.Rule.Error)
	}
	if n := l.Rule.Node; n != nil && len(n.Leases) > 0 {
		var events int64
		for _, lease := range n.Leases {
			events += lease.Events
		}
		t.row("    this node", fmt.Sprintf("%d leased", events))
	}
	printExplainedDecision(t, &l.ExplainedDecision, "for ")
}

func printExplainedConcurrent(t *table, c *api.ExplainedConcurrent) {
	t.rowIf("    endpoint", c.Rule.Endpoint)
	t.row("    concurrent", c.Rule.Limit)
	t.row("    in flight", fmt.Sprintf("%d on this node", c.Rule.InFlight)+counted(", which has leased %d", c.Rule.Leased))
	if c.Held {
		t.row("    decision", "none: an earlier rate_limit counts the request")
		return
	}
	printExplainedDecision(t, &c.ExplainedDecision, "for at most ")
}

func printExplainedDecision(t *table, d *api.ExplainedDecision, wait string) {
	text := d.Outcome + prefixed(" by ", d.Source)
	if d.Wait > 0 {
		text += ", " + wait + d.Wait.String()
	}
	t.row("    decision", text)
}

func statusText(outcome string, status int) string {
	if status == 0 {
		return outcome
	}
	return fmt.Sprintf("%s with %d", cmp.Or(outcome, "failed"), status)
}

// responseText says what the client gets.
func responseText(r *api.ExplainedResponse) string {
	text := "of " + r.By + at(r.Place)
	if r.By == "" {
		text = "empty, as no handler answers"
	}
	return counted("%d ", int64(r.Status)) + text + prefixed(", Retry-After: ", printable(r.Headers["Retry-After"]))
}
