package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/rules"
)

// entryCommands are the commands that the lists of the rules have in common.
type entryCommands[E rules.ListEntry] struct {
	list    string   // its name in the rules and in paths
	name    string   // name of the command
	noun    string   // what one entry is called
	columns []string // between the ID and what all entries have
	cells   func(E) []any

	atEndpoints bool // an entry may be about one endpoint
	byKey       bool // the API can list the entries of a key
}

// listCommand returns the command that lists entries.
func (c *entryCommands[E]) listCommand() *cobra.Command {
	return apiCommand[map[string]json.RawMessage]{
		use: "list", short: "Lists the " + c.list + " of the rules",
		example: "  caddy rate-limit " + c.name + " list --zone user",
		flags: func(f *pflag.FlagSet) {
			f.String("zone", "", "Only those of this zone")
			if c.byKey {
				f.String("key", "", "Only those of this key, with --zone")
				keyFlags(f)
			}
			f.Int("limit", api.DefaultEntries, fmt.Sprintf("How many, at most %d", api.MaxEntries))
			f.String("after", "", "Only those after the entry with this ID")
		},
		request: func(cmd *cobra.Command, args []string) (*apiRequest, error) {
			if f := cmd.Flags(); c.byKey && (f.Changed("key") || f.Changed("key-file")) {
				return c.lookup(cmd)
			}
			return getting(c.list, "zone", "limit", "after")(cmd, args)
		},
		print: func(t *table, answer *map[string]json.RawMessage) {
			var entries []E
			var next string                                 // absent on the last page
			_ = json.Unmarshal((*answer)[c.list], &entries) // the API has made it
			_ = json.Unmarshal((*answer)["next"], &next)
			c.print(t, entries...)
			if next != "" {
				t.line("There are more: use --after %s", printable(next))
			}
		},
	}.command()
}

// lookup returns the request for the entries of a key.
func (c *entryCommands[E]) lookup(cmd *cobra.Command) (*apiRequest, error) {
	f := cmd.Flags()
	zone, _ := f.GetString("zone")
	if zone == "" || f.Changed("limit") || f.Changed("after") {
		return nil, errors.New("a key needs its zone, and no page: use --zone with --key or --key-file")
	}
	body := usedFlags(f, "missing")
	if err := addKey(body, cmd, keyFlag(f)); err != nil {
		return nil, err
	}
	return newRequest(http.MethodPost, zonePath(zone, c.list), body), nil
}

// keyFlag returns the key of the flag --key, if there is one.
func keyFlag(f *pflag.FlagSet) []string {
	if key, _ := f.GetString("key"); key != "" {
		return []string{key}
	}
	return nil
}

// showCommand returns the command that shows an entry.
func (c *entryCommands[E]) showCommand() *cobra.Command {
	return apiCommand[E]{
		use: "show <id>", short: "Shows one " + c.noun, example: "  caddy rate-limit " + c.name + " show acme",
		least: 1, most: 1, complete: completeID(c.list),
		request: func(_ *cobra.Command, args []string) (*apiRequest, error) {
			return getRequest(c.path(args[0])), nil
		},
		print: c.printOne,
	}.command()
}

// removeCommand returns the command that removes an entry, by its ID or by its key.
func (c *entryCommands[E]) removeCommand() *cobra.Command {
	return apiCommand[api.WrittenVersion]{
		use: "remove [<id>]", short: "Removes one " + c.noun,
		long: "Removes one " + c.noun + ", by its ID, or with --zone and --key by its key." + keyHelp,
		example: "  caddy rate-limit " + c.name + ` remove acme --note "contract ended"
  caddy rate-limit ` + c.name + " remove --zone user --key sk_live_1",
		most: 1, complete: completeID(c.list),
		flags: func(f *pflag.FlagSet) {
			f.String("zone", "", "Zone of the key")
			f.String("key", "", "Key of the entry, in place of its ID")
			keyFlags(f)
			if c.atEndpoints {
				endpointFlag(f)
			}
			changeFlags(f)
		},
		request: func(cmd *cobra.Command, args []string) (*apiRequest, error) {
			r := newRequest(http.MethodDelete, c.list, nil)
			f := cmd.Flags()
			byKey := f.Changed("key") || f.Changed("key-file")
			switch {
			case len(args) > 0 && (byKey || f.Changed("zone")):
				return nil, errors.New("there are both an ID and a key: use one of them")
			case len(args) > 0:
				r.path = c.path(args[0])
				return r.withChangeFlags(f), nil
			case !byKey || !f.Changed("zone"):
				return nil, errors.New("there is no entry: use its ID, or --zone with --key or --key-file")
			}
			body := usedFlags(f, "zone", "missing")
			if c.atEndpoints {
				maps.Copy(body, usedFlags(f, "endpoint"))
			}
			if err := addKey(body, cmd, keyFlag(f)); err != nil {
				return nil, err
			}
			r.body = body
			return r.withChangeFlags(f), nil
		},
		print: printWrittenVersion,
	}.command()
}

// changeCommand returns the command that changes an entry by the flags that were used. flags adds
// the flags that only this list has, and body returns a merge patch with their values.
func (c *entryCommands[E]) changeCommand(
	example string, flags func(*pflag.FlagSet), body func(*pflag.FlagSet) map[string]any,
) *cobra.Command {
	return apiCommand[E]{
		use: "change <id>", short: "Changes one " + c.noun,
		long: "Changes what the flags name, and leaves the rest. An empty value removes what is there.", example: example,
		least: 1, most: 1, complete: completeID(c.list),
		flags: func(f *pflag.FlagSet) {
			flags(f)
			commonEntryFlags(f)
			changeFlags(f)
		},
		request: func(cmd *cobra.Command, args []string) (*apiRequest, error) {
			patch := body(cmd.Flags())
			maps.Copy(patch, usedFlags(cmd.Flags(), "expires-in", "expires-at", "reason"))
			if len(patch) == 0 {
				return nil, fmt.Errorf("nothing is changed: use the flags of %s --help", cmd.CommandPath())
			}
			for name, value := range patch {
				if value == "" {
					patch[name] = nil
				}
			}
			r := newRequest(http.MethodPatch, c.path(args[0]), patch)
			return r.withChangeFlags(cmd.Flags()), nil
		},
		print: c.printOne,
	}.command()
}

// add returns the request that adds an entry with the members of body and the common flags.
func (c *entryCommands[E]) add(f *pflag.FlagSet, body map[string]any) *apiRequest {
	maps.Copy(body, usedFlags(f, "id", "expires-in", "expires-at", "reason"))
	return newRequest(http.MethodPost, c.list, body).withChangeFlags(f)
}

// addFlags adds the flags of commands that add an entry.
func addFlags(f *pflag.FlagSet) {
	keyFlags(f)
	hashFlag(f)
	f.String("id", "", "ID of the entry; default: a random one")
	commonEntryFlags(f)
	ruleFlags(f)
}

func commonEntryFlags(f *pflag.FlagSet) {
	f.String("expires-in", "", "When it ends, such as 2h; default: never")
	f.String("expires-at", "", "When it ends, such as 2026-12-01T00:00:00Z")
	f.String("reason", "", "Why")
}

func (c *entryCommands[E]) path(id string) string { return c.list + "/" + url.PathEscape(id) }

// print writes entries.
func (c *entryCommands[E]) print(t *table, entries ...E) {
	head := []any{"ID"}
	for _, name := range c.columns {
		head = append(head, name)
	}
	t.row(append(head, "EXPIRES AT", "REASON", "CREATED BY")...)
	for _, e := range entries {
		common := e.Common()
		row := append([]any{common.ID}, c.cells(e)...)
		t.row(append(row, common.ExpiresAt, common.Reason, common.CreatedBy)...)
	}
}

func (c *entryCommands[E]) printOne(t *table, e *E) { c.print(t, *e) }

// keyCell returns the key of an entry.
func keyCell(k *rules.Key) string {
	text := k.Text
	if k.Base64 != "" {
		text = "base64 " + strconv.Quote(k.Base64)
	}
	if k.Missing {
		text += " (missing)"
	}
	return text
}

// storedCell returns the key of an entry as keyCell does. If stored is not "", it adds the key as
// the store has it.
func storedCell(k *rules.Key, stored string) string {
	text := keyCell(k)
	if stored != "" {
		text = strings.TrimSpace(text + " stored " + strconv.Quote(stored))
	}
	return text
}
