package command

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

func historyCommand() *cobra.Command {
	return apiCommand[api.History]{
		use: "history [<key>]", short: "Shows what has happened to a key or a zone",
		long: `Shows what has happened to a key or a zone, the newest first: limits, overrides,
tiers and access that were made, changed, ended and expired, resets and added
quota, under the names of those who did it; and what the node that is asked has
seen since it has the zone: reloads, other tiers of a key, and first rejections.

Without --zone, it looks in all zones that can have the key. A reload has no
author, as Caddy does not say who asks for it.` + keyHelp,
		example: `  caddy rate-limit history sk_live_1
  caddy rate-limit history --key-hash 2bd806c97f0e --zone user
  caddy rate-limit history --zone user --limit 20`,
		most: 1,
		flags: func(f *pflag.FlagSet) {
			f.String("key", "", "The key, if it is no argument; default: the zone with all keys")
			f.String("zone", "", "Zone; default: all that can have the key")
			shownKeyFlags(f)
			f.Int("limit", api.DefaultEvents, "How many events, at most "+strconv.Itoa(api.MaxEvents))
			f.Int("versions", api.DefaultHistoryVersions, "How many versions of the rules it looks at, at most "+strconv.Itoa(api.MaxEvents))
		},
		request: historyRequest,
		print:   printHistory,
	}.command()
}

func historyRequest(cmd *cobra.Command, args []string) (*apiRequest, error) {
	f := cmd.Flags()
	body, keys := usedFlags(f, "zone", "missing", "limit", "versions"), append(keyFlag(f), args...)
	switch {
	case len(keys) > 1:
		return nil, errors.New("there are both a key and --key: use one of them")
	case len(keys) > 0 || f.Changed("key-file") || f.Changed("key-hash"):
		if err := addKey(body, cmd, keys); err != nil {
			return nil, err
		}
	}
	return newRequest(http.MethodPost, "history", body), nil
}

func printHistory(t *table, h *api.History) {
	t.row("zones", strings.Join(h.Zones, ", "))
	t.rowIf("key", shownKeyCell(&h.ShownKey))
	t.row("node", h.Node)
	t.row("  has seen", fmt.Sprintf("reloads, tiers and rejections since %s", cell(h.Since)))
	switch {
	case h.RulesError != "":
		t.row("rules", "not all versions: "+h.RulesError)
	case h.OldestVersion > 0:
		t.row("rules", fmt.Sprintf("back to version %d", h.OldestVersion))
	default:
		t.row("rules", "no versions")
	}
	t.row("other nodes", "have seen other rejections, tiers and reloads: ask each with --address")
	if h.Missed > 0 {
		t.row("left out", fmt.Sprintf("%d events, as many began in one second", h.Missed))
	}
	t.line("")
	ofZone := h.Key == "" && h.Base64 == "" && h.Stored == "" && h.Shortened == ""
	head := []any{"TIME", "WHAT", "ZONE"}
	if ofZone {
		head = append(head, "KEY", "HASH")
	}
	t.row(append(head, "ENDPOINT", "TIER", "DETAIL", "BY", "WHY")...)
	for i := range h.Events {
		e := &h.Events[i]
		cells := []any{e.Time, strings.ReplaceAll(e.Kind, "_", " "), e.Zone}
		if ofZone {
			cells = append(cells, shownKeyCell(&e.ShownKey), e.Hash)
		}
		t.row(append(cells, e.Endpoint, e.Tier, eventText(e), cmp.Or(e.Author, e.Node), e.Reason)...)
	}
	if h.More {
		t.line("There are more: use --limit or --versions")
	}
}

// eventText says what has happened, where and how often.
func eventText(e *api.HistoryEvent) string {
	text := e.What
	switch {
	case e.Until != nil:
		text += fmt.Sprintf(", until %s, in %d windows", e.Until.UTC().Format(time.RFC3339), e.Times)
	case e.Times == 1:
		text += ", in 1 window"
	}
	if e.Method != "" {
		text += fmt.Sprintf(", first %s %s from %s", e.Method, e.Path, cmp.Or(e.ClientIP, "an unknown address"))
	}
	if text == "" {
		return counted("version %d", e.Version)
	}
	return text + counted(" (version %d)", e.Version)
}
