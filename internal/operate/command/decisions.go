package command

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/caddyserver/caddy/v2"
	"github.com/spf13/cobra"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/rules"
)

func decisionsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "decisions [<key>]", Short: "Follows decisions as they are made",
		Long: `Shows the decisions of this node as they are made: all of a key, or else all
rejections and 1 % of what passes. A reload of Caddy does not end it.` + keyHelp,
		Example: `  caddy rate-limit decisions
  caddy rate-limit decisions sk_live_1 --for 30s
  caddy rate-limit decisions --zone user --outcome rejected --outcome denied
  caddy rate-limit decisions --sample 100% --limit 20 --json`,
		Args: argumentsBetween(0, 1), ValidArgsFunction: cobra.NoFileCompletions, RunE: runDecisions,
	}
	f := cmd.Flags()
	keyFlags(f)
	f.StringArray("zone", nil, "Only the decisions of this zone, or of several")
	f.StringArray("outcome", nil, "Only decisions with this outcome, or with several")
	f.String("for", api.DefaultTail, "How long, at most 10m")
	f.String("sample", "", "The part of the admitted, allowed and degraded to show, such as 5%")
	f.Int64("limit", 0, "The most decisions to show")
	_ = cmd.RegisterFlagCompletionFunc("zone", completeZone) // they fail only without the flags
	_ = cmd.RegisterFlagCompletionFunc("outcome", cobra.FixedCompletions(api.Outcomes, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func runDecisions(cmd *cobra.Command, args []string) error {
	f := cmd.Flags()
	request, err := decisionsRequest(cmd, args)
	if err != nil {
		return wrongUsage(cmd, err)
	}
	lines := &decisionLines{out: cmd.OutOrStdout()}
	lines.json, _ = f.GetBool("json")
	limit, _ := f.GetInt64("limit")
	duration, _ := caddy.ParseDuration(request.query.Get("for")) // the API refuses what is no duration
	for until := time.Now().Add(duration); ; {
		resp, err := request.open(cmd)
		if err != nil {
			return err
		}
		end, err := lines.copy(resp.Body)
		_ = resp.Body.Close()
		left := time.Until(until).Truncate(time.Millisecond)
		if err != nil || end != api.EndReload || left <= 0 || limit > 0 && lines.decisions >= limit {
			return err
		}
		// The new configuration has an admin endpoint of its own, unless Caddy stops.
		request.query.Set("for", left.String())
		if limit > 0 {
			request.query.Set("limit", strconv.FormatInt(limit-lines.decisions, 10))
		}
	}
}

// decisionsRequest returns the request that the arguments and flags of cmd mean.
func decisionsRequest(cmd *cobra.Command, args []string) (*apiRequest, error) {
	f := cmd.Flags()
	request := getRequest("decisions")
	request.query = usedQuery(f, "sample", "limit")
	request.query.Set("for", f.Lookup("for").Value.String())
	for _, name := range []string{"zone", "outcome"} {
		if values, _ := f.GetStringArray(name); len(values) > 0 {
			request.query[name] = values
		}
	}
	if len(args) > 0 || f.Changed("key-file") || f.Changed("base64") || f.Changed("missing") {
		body := usedFlags(f, "missing")
		if err := addKey(body, cmd, args); err != nil {
			return nil, err
		}
		request.method, request.body = http.MethodPost, body
	}
	return request, nil
}

// decisionLines shows the lines of tails.
type decisionLines struct {
	out       io.Writer
	json      bool
	widths    []int // widths of the columns; nil if there is no row yet
	decisions int64
}

// copy shows the lines of a tail until it ends, and returns the reason that the tail gives for its
// end.
func (l *decisionLines) copy(from io.Reader) (end string, err error) {
	if !l.json && l.widths == nil {
		l.widths = []int{24, 12, 8, 16, 9, 8, 12, 0} // widths of usual cells
		if err := l.row("TIME", "OUTCOME", "ZONE", "KEY", "REMAINING", "WAIT", "CLIENT", "REQUEST"); err != nil {
			return "", err
		}
	}
	lines := bufio.NewReader(from)
	for {
		text, err := lines.ReadBytes('\n')
		switch {
		case err == io.EOF && len(text) == 0:
			return end, nil
		case err != nil && err != io.EOF:
			return "", fmt.Errorf("the connection to the admin endpoint is cut: %w: use the command again", err)
		}
		var line api.DecisionLine
		if err := json.Unmarshal(text, &line); err != nil {
			return "", fmt.Errorf("the answer of the admin API is not what is expected: %w: use the same version of Caddy here "+
				"and there", err)
		}
		end = cmp.Or(line.End, end)
		if line.Decision != nil {
			l.decisions++
		}
		if err := l.show(text, &line); err != nil {
			return "", err
		}
	}
}

// show writes a line, whose JSON is text.
func (l *decisionLines) show(text []byte, line *api.DecisionLine) error {
	switch d := line.Decision; {
	case l.json:
		_, err := l.out.Write(text)
		return err
	case d != nil:
		return l.row(d.Time.UTC().Format("2006-01-02T15:04:05.000Z"), outcomeText(d), d.Zone, keyText(d),
			countText(d), waitText(d), d.ClientIP, d.Method+" "+d.Host+d.Path)
	case line.Dropped > 0:
		_, err := fmt.Fprintf(l.out, "%d decisions are missing here: they came too fast\n", line.Dropped)
		return err
	case line.End == api.EndReload:
		_, err := fmt.Fprintln(l.out, "Caddy loads a configuration, or stops")
		return err
	}
	return nil
}

// row writes cells. A column becomes wider when a cell needs it, because later rows are not known
// yet.
func (l *decisionLines) row(cells ...string) error {
	var b strings.Builder
	for i, text := range cells {
		text = cell(text)
		b.WriteString(text)
		if i < len(cells)-1 {
			n := utf8.RuneCountInString(text)
			l.widths[i] = max(l.widths[i], n)
			b.WriteString(strings.Repeat(" ", l.widths[i]-n+2))
		}
	}
	_, err := fmt.Fprintln(l.out, b.String())
	return err
}

// outcomeText says what became of a request, with the reason if the decision has one.
func outcomeText(d *api.Decision) string {
	if d.Reason != "" {
		return d.Outcome + " (" + d.Reason + ")"
	}
	return d.Outcome
}

func keyText(d *api.Decision) string {
	if d.Key == "" && d.Base64 == "" && d.KeyHash != "" { // the key is too long
		return "hash " + d.KeyHash
	}
	return keyCell(&rules.Key{Text: d.Key, Base64: d.Base64, Missing: d.Missing})
}

// countText says what remains of a limit.
func countText(d *api.Decision) string {
	switch {
	case d.Limit == nil:
		return ""
	case d.Remaining == nil:
		return fmt.Sprintf("?/%d", *d.Limit)
	}
	return fmt.Sprintf("%d/%d", *d.Remaining, *d.Limit)
}

func waitText(d *api.Decision) string {
	if wait := max(d.Wait, d.Waited); wait > 0 {
		return wait.String()
	}
	return ""
}
