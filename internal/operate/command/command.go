// Package command is the command `caddy rate-limit`: it shows and changes limits while traffic
// runs, through the admin API. Each subcommand sends one request and shows the answer.
package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

// RateLimit returns the command `caddy rate-limit`, for Caddy to register.
func RateLimit() caddycmd.Command {
	return caddycmd.Command{
		Name:  "rate-limit",
		Usage: "<command>",
		Short: "Shows and changes rate limits while traffic runs",
		Long: `
Shows and changes the rate limits of a Caddy that runs, through its admin
endpoint. What changes is in force at once, on all nodes that share the rules.

The endpoint is that of --address, else that of the configuration file of
--config, else Caddy's default. With --client-cert and --client-key, --address
is Caddy's remote admin endpoint. The rules belong to the running configuration:
none of the commands reads or writes a Caddyfile otherwise.

The answers are tables. With --json they are those of the admin API, for
scripts. The exit code is 0 if it was done, 1 if Caddy has refused it or cannot
be reached, and 2 if the command is used wrongly. That of status is 1 if the
node is not healthy too; health has its own.

A key in the arguments can be seen in the list of processes. Use --key-file to
read secret keys from a file, or --key-file - from the standard input.
`,
		CobraFunc: configureRateLimit,
	}
}

// configureRateLimit makes cmd the command `rate-limit`.
func configureRateLimit(cmd *cobra.Command) {
	cmd.Example = `  caddy rate-limit status
  caddy rate-limit inspect user sk_live_1
  caddy rate-limit override add user sk_live_1 --limit 5000/1m --expires-in 2h --reason "launch day"`
	f := cmd.PersistentFlags()
	f.String("address", "", "Address of Caddy's admin endpoint")
	f.StringP("config", "c", "", "Configuration file that says which address it is")
	f.StringP("adapter", "a", "", "Name of the config adapter for the configuration file")
	remoteFlags(f)
	f.Bool("json", false, "Print the answer of the admin API")
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return wrongUsage(cmd, fmt.Errorf("%w: use %s --help to see which flags there are", err, cmd.CommandPath()))
	})
	asGroup(cmd, statusCommand(), healthCommand(), decisionsCommand(), explainCommand(), planCommand(), inspectCommand(),
		historyCommand(), topCommand(), resetCommand(), addQuotaCommand(), overrideCommand(), tierCommand(), accessCommand(), rulesCommand(),
		emergencyCommand(), pageCommand(), simulateCommand())
}

// newGroup returns a command that has only subcommands.
func newGroup(use, short string, subcommands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short}
	asGroup(cmd, subcommands...)
	return cmd
}

func asGroup(cmd *cobra.Command, subcommands ...*cobra.Command) {
	cmd.AddCommand(subcommands...)
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = refuseUnknownCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// refuseUnknownCommand refuses arguments, because they stand in the place of a subcommand.
func refuseUnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	names := cmd.SuggestionsFor(args[0])
	if len(names) == 0 {
		for _, sub := range cmd.Commands() {
			names = append(names, sub.Name())
		}
	}
	return wrongUsage(cmd,
		fmt.Errorf("%s has no command %q: use %s", cmd.CommandPath(), args[0], strings.Join(names, " or ")))
}

// A codeTwoError ends Caddy with exit code 2. Other errors end it with 1.
type codeTwoError struct {
	error
	exit error // the error by which Caddy knows the exit code
}

func (e *codeTwoError) Unwrap() []error { return []error{e.error, e.exit} }

// wrongUsage returns err as an error about how a command is used.
func wrongUsage(cmd *cobra.Command, err error) error { return withCodeTwo(cmd, err) }

func withCodeTwo(cmd *cobra.Command, err error) error {
	exit := caddycmd.WrapCommandFuncForCobra(func(caddycmd.Flags) (int, error) { return 2, nil })
	return &codeTwoError{err, exit(cmd, nil)}
}

// errNotOK ends Caddy with exit code 1 after an answer that says why.
var errNotOK = errors.New("the answer is that something is wrong")

// An apiCommand is a command that sends one request to the admin API, which answers with an A.
type apiCommand[A any] struct {
	use, short, long, example string

	// least and most are the bounds of the number of arguments. A negative most stands for any number.
	least, most int

	ofZone   bool                 // whether the first argument is the name of a zone
	complete cobra.CompletionFunc // completes the arguments; nil to complete a zone if ofZone, or nothing
	flags    func(*pflag.FlagSet)

	// request returns what to send. Its errors are about how the command is used.
	request func(cmd *cobra.Command, args []string) (*apiRequest, error)

	// print writes the answer for people.
	print func(t *table, answer *A)

	// ok reports whether the answer is good news. If the answer is not, Caddy ends with exit code 1.
	// If ok is nil, all answers are good news.
	ok func(answer *A) bool

	// isCheck is set by commands that monitoring runs: without an answer, Caddy ends with exit code 2.
	isCheck bool
}

func (c apiCommand[A]) command() *cobra.Command {
	cmd := &cobra.Command{
		Use: c.use, Short: c.short, Long: cmp.Or(strings.TrimSpace(c.long), c.short+"."), Example: c.example, RunE: c.run,
		Args: argumentsBetween(c.least, c.most), ValidArgsFunction: cobra.NoFileCompletions,
	}
	if c.flags != nil {
		c.flags(cmd.Flags())
	}
	switch {
	case c.complete != nil:
		cmd.ValidArgsFunction = c.complete
	case c.ofZone:
		cmd.ValidArgsFunction = completeFirstZone
	}
	for flag, complete := range map[string]cobra.CompletionFunc{
		"zone": completeZone, "tier": completeTier(c.ofZone), "endpoint": completeEndpoint(c.ofZone),
	} {
		if cmd.Flags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, complete) // it fails only without the flag
		}
	}
	return cmd
}

// argumentsBetween refuses fewer arguments than least, and more than most. A negative most stands
// for any number.
func argumentsBetween(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return wrongUsage(cmd, fmt.Errorf("the number of arguments is %d: use %s", len(args), cmd.UseLine()))
		}
		return nil
	}
}

func (c apiCommand[A]) run(cmd *cobra.Command, args []string) error {
	request, err := c.request(cmd, args)
	if err != nil {
		return wrongUsage(cmd, err)
	}
	body, etag, err := request.send(cmd)
	if err == nil {
		err = c.show(cmd, request.isDryRun(), body, etag)
	}
	if err != nil && err != errNotOK && c.isCheck {
		return withCodeTwo(cmd, err)
	}
	return err
}

// show shows the answer to a request. Its error is errNotOK if the answer is bad news.
func (c apiCommand[A]) show(cmd *cobra.Command, isDryRun bool, body []byte, etag string) error {
	printWarnings(cmd, body)
	t := newTable(cmd.OutOrStdout())
	t.etag = strings.Trim(etag, `"`)
	var err error
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		_, err = cmd.OutOrStdout().Write(body)
	} else if isDryRun {
		err = withAnswer(body, func(v *api.WrittenVersion) { printWrittenVersion(t, v) })
		printLimits(t, body)
	} else {
		err = withAnswer(body, func(answer *A) { c.print(t, answer) })
		printLimits(t, body)
	}
	if err = errors.Join(err, t.Flush()); err != nil || c.ok == nil {
		return err
	}
	good := false
	if err := withAnswer(body, func(answer *A) { good = c.ok(answer) }); err != nil || good {
		return err
	}
	cmd.SilenceErrors = true // the answer was shown
	return errNotOK
}

// printWarnings writes what an answer warns about to the standard error.
func printWarnings(cmd *cobra.Command, body []byte) {
	var answer struct {
		Warnings []string `json:"warnings"`
	}
	_ = json.Unmarshal(body, &answer) // an answer that is no object has no warnings
	for _, warning := range answer.Warnings {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", printable(asCommands(warning))) // nobody may be reading
	}
}

// printLimits writes the limits that an override results in, if the answer is about an override.
func printLimits(t *table, body []byte) {
	var answer struct {
		Limits []api.OverriddenLimit `json:"limits"`
	}
	if json.Unmarshal(body, &answer) != nil || len(answer.Limits) == 0 || answer.Limits[0].Was == "" {
		return
	}
	t.line("")
	t.row("ENDPOINT", "TIER", "LIMIT WITH THE OVERRIDE", "WITHOUT IT")
	for _, l := range answer.Limits {
		t.row(cmp.Or(l.Endpoint, "rest of the zone"), l.Tier, l.Limit, l.Was)
	}
}

// withAnswer calls do with the answer in a body.
func withAnswer[A any](body []byte, do func(*A)) error {
	answer := new(A)
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("the answer of the admin API is not what is expected: %w: use the same version of Caddy here "+
			"and there, or --json", err)
	}
	do(answer)
	return nil
}
