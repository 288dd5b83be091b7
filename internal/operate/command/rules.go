package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/operate/adminapi"
	"github.com/fleetlimit/fleetlimit/rules"
)

func rulesCommand() *cobra.Command {
	return newGroup("rules", "All rules, their history, and how to undo",
		rulesGetCommand(), rulesPutCommand(), rulesPatchCommand(), rulesHistoryCommand(), rulesDiffCommand(),
		rulesRollbackCommand())
}

func rulesGetCommand() *cobra.Command {
	return apiCommand[json.RawMessage]{
		use: "get [<version>]", short: "Prints all rules, or those of an older version",
		long: "Prints the rules in force as YAML, with their version. With the number of a version it\n" +
			"prints who wrote it, what it changed, and its rules.",
		example: `  caddy rate-limit rules get >rules.yaml
  caddy rate-limit rules get 7`,
		most: 1,
		request: func(_ *cobra.Command, args []string) (*apiRequest, error) {
			if len(args) > 0 {
				return getRequest(versionPath(args[0])), nil
			}
			return getRequest("rules"), nil
		},
		print: func(t *table, answer *json.RawMessage) {
			if t.etag != "" {
				t.line("# version %s", t.etag)
			}
			text, err := adminapi.EncodeYAML(answer)
			if err != nil {
				t.line("# %v", err)
			}
			_, _ = t.Write(text) // Flush reports errors
		},
	}.command()
}

func versionPath(number string) string { return "rules/versions/" + url.PathEscape(number) }

func rulesPutCommand() *cobra.Command {
	return rulesWriteCommand(http.MethodPut, "put <file>", "Replaces all rules by those of a file",
		`  caddy rate-limit rules get >rules.yaml
  caddy rate-limit rules put rules.yaml --if-match 9 --dry-run
  caddy rate-limit rules put rules.yaml --if-match 9 --note "new prices"`)
}

func rulesPatchCommand() *cobra.Command {
	return rulesWriteCommand(http.MethodPatch, "patch <file>", "Changes the rules by a merge patch in a file",
		`  echo '{"zones": {"user": {"limit": "50/1m"}}}' | caddy rate-limit rules patch - --note flood`)
}

// rulesWriteCommand returns a command that sends a file.
func rulesWriteCommand(method, use, short, example string) *cobra.Command {
	cmd := apiCommand[api.WrittenVersion]{
		use: use, short: short, example: example,
		long:  short + ". The file is YAML or JSON; - is the standard input.",
		least: 1, most: 1,
		flags: changeFlags,
		request: func(cmd *cobra.Command, args []string) (*apiRequest, error) {
			text, err := readFileOrInput(cmd, args[0])
			if err != nil {
				return nil, err
			}
			r := newRequest(method, "rules", text)
			if !json.Valid(text) {
				if r.body, err = adminapi.DecodeYAML(text); err != nil {
					return nil, fmt.Errorf("%s: %w", printable(args[0]), err)
				}
			}
			return r.withChangeFlags(cmd.Flags()), nil
		},
		print: printWrittenVersion,
	}.command()
	cmd.ValidArgsFunction = nil // files
	return cmd
}

// readFileOrInput reads a file, or the standard input if name is -.
func readFileOrInput(cmd *cobra.Command, name string) (text []byte, err error) {
	if name == "-" {
		text, err = io.ReadAll(cmd.InOrStdin())
	} else {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: use a file that can be read, or - for the standard input", err)
	}
	return text, nil
}

func rulesHistoryCommand() *cobra.Command {
	return apiCommand[api.Versions]{
		use: "history", short: "Lists the versions of the rules, the newest first",
		example: "  caddy rate-limit rules history --limit 10",
		flags: func(f *pflag.FlagSet) {
			f.Int("limit", api.DefaultVersions, fmt.Sprintf("How many, at most %d", api.MaxVersions))
			f.Int64("before", 0, "Only versions before this one")
		},
		request: getting("rules/versions", "limit", "before"),
		print: func(t *table, answer *api.Versions) {
			t.row("VERSION", "TIME", "AUTHOR", "NOTE", "WHAT")
			for _, v := range answer.Versions {
				t.row(v.Number, v.Time, v.Author, v.Note, cmp.Or(v.Summary, actionsText(v.Actions)))
			}
			if answer.Next > 0 {
				t.line("There are more: use --before %d", answer.Next)
			}
		},
	}.command()
}

// actionsText says what was done to counts.
func actionsText(actions []rules.Action) string {
	if len(actions) == 0 {
		return ""
	}
	a := actions[0]
	text := a.Kind + " " + a.Zone + " " + storedCell(&a.Key, a.Stored)
	if more := len(actions) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func rulesDiffCommand() *cobra.Command {
	return apiCommand[api.Diff]{
		use: "diff [<from> <to>]", short: "Shows what two versions differ in",
		long: "Shows what two versions differ in. Default: the version in force, and the one before it.",
		example: `  caddy rate-limit rules diff
  caddy rate-limit rules diff 3 7`,
		most: 2,
		request: func(_ *cobra.Command, args []string) (*apiRequest, error) {
			r := getRequest("rules/diff")
			switch len(args) {
			case 1:
				return nil, errors.New("there is one version: use two, or none")
			case 2:
				r.query = url.Values{"from": args[:1], "to": args[1:]}
			}
			return r, nil
		},
		print: func(t *table, answer *api.Diff) {
			t.line("version %d to %d", answer.From, answer.To)
			printChanges(t, answer.Changes, answer.More)
		},
	}.command()
}

func rulesRollbackCommand() *cobra.Command {
	return apiCommand[api.WrittenVersion]{
		use: "rollback <version>", short: "Restores the rules of an older version",
		long:    "Restores the rules of an older version, as a new version. Version 0 has no rules.",
		example: `  caddy rate-limit rules rollback 7 --note "the flood is over"`,
		least:   1, most: 1,
		flags: changeFlags,
		request: func(cmd *cobra.Command, args []string) (*apiRequest, error) {
			r := newRequest(http.MethodPost, versionPath(args[0])+"/rollback", struct{}{})
			return r.withChangeFlags(cmd.Flags()), nil
		},
		print: printWrittenVersion,
	}.command()
}

// printWrittenVersion writes a version that was written, or would be.
func printWrittenVersion(t *table, a *api.WrittenVersion) {
	what := "version"
	if a.DryRun {
		what = "dry run: this would be version"
	}
	note := prefixed(": ", printable(a.Note))
	t.line("%s %d by %s at %s%s", what, a.Version, printable(a.Author), cell(a.Time), note)
	if len(a.Changes) > 0 {
		printChanges(t, a.Changes, a.More)
	}
}

// printChanges writes differences of rules. more is the number of further differences.
func printChanges(t *table, changes []rules.Difference, more int) {
	t.row("PATH", "FROM", "TO")
	for _, d := range changes {
		t.row(d.Path, d.From, d.To)
	}
	if more > 0 {
		t.line("and %d more", more)
	}
}
