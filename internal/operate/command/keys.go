package command

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

const keyHelp = `

A key is written as the key template of the zone makes it. A key in the
arguments can be seen in the list of processes: --key-file reads keys from a
file, one a line, and --key-file - from the standard input.`

// keyFlags adds the flags of commands that are about keys.
func keyFlags(f *pflag.FlagSet) {
	f.String("key-file", "", "File with a key in each line; - is the standard input")
	f.Bool("base64", false, "The key is in base64, as it is not valid UTF-8")
	f.Bool("missing", false, "The key is one that on_missing_key has made")
}

// shownKeyFlags adds the flags of commands that also take a key as logs and top show it.
func shownKeyFlags(f *pflag.FlagSet) {
	keyFlags(f)
	f.Bool("stored", false, "The key is in base64 as the store has it, as top shows it")
	hashFlag(f)
}

// hashFlag adds the flag of commands that take a key by its hash.
func hashFlag(f *pflag.FlagSet) {
	f.String("key-hash", "", "Hash of the key, as logs and top show it")
}

// endpointFlag adds the flag of commands that can be about one endpoint.
func endpointFlag(f *pflag.FlagSet) {
	f.String("endpoint", "", `Endpoint of the zone, such as "POST /v1/search*"; default: all of the zone`)
}

// keysOf returns the keys in the arguments args, or in the file of --key-file.
func keysOf(cmd *cobra.Command, args []string) ([]string, error) {
	name, _ := cmd.Flags().GetString("key-file")
	base64, _ := cmd.Flags().GetBool("base64")
	stored, _ := cmd.Flags().GetBool("stored")
	switch {
	case base64 && stored:
		return nil, errors.New("there are both --base64 and --stored: use one of them")
	case name != "" && len(args) > 0:
		return nil, errors.New("there are both a key and --key-file: use one of them")
	case name == "" && len(args) == 0:
		return nil, errors.New("there is no key: use one as an argument, or --key-file")
	case name == "":
		return args, nil
	}
	text, err := readFileOrInput(cmd, name)
	if err != nil {
		return nil, fmt.Errorf("reading the keys: %w", err)
	}
	var keys []string
	for line := range strings.Lines(string(text)) {
		if key := strings.TrimRight(line, "\r\n"); key != "" {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("the file of --key-file has no key: use one with a key in each line")
	}
	return keys, nil
}

// addHash adds the hash of --key-hash to the body of a request, and reports whether there is one.
func addHash(body map[string]any, cmd *cobra.Command, args []string) (found bool, err error) {
	hash, _ := cmd.Flags().GetString("key-hash")
	if hash == "" {
		return false, nil
	}
	for _, other := range []string{"key-file", "base64", "stored"} {
		if cmd.Flags().Changed(other) {
			return false, fmt.Errorf("there are both --key-hash and --%s: use one of them", other)
		}
	}
	if len(args) > 0 {
		return false, errors.New("there are both a key and --key-hash: use one of them")
	}
	body["key_hash"] = hash
	return true, nil
}

// addKeys adds the keys in args, in the file of --key-file, or of --key-hash, to the body of a
// request.
func addKeys(body map[string]any, cmd *cobra.Command, args []string) error {
	if found, err := addHash(body, cmd, args); found || err != nil {
		return err
	}
	keys, err := keysOf(cmd, args)
	if err != nil {
		return err
	}
	member := "key"
	for flag, other := range map[string]string{"base64": "key_base64", "stored": "key_stored"} {
		used, _ := cmd.Flags().GetBool(flag)
		switch {
		case used && len(keys) > 1:
			return fmt.Errorf("there are %d keys with --%s: use one", len(keys), flag)
		case used:
			member = other
		}
	}
	if len(keys) > 1 {
		body["keys"] = keys
	} else {
		body[member] = keys[0]
	}
	return nil
}

// addKey adds a key as addKeys does, and refuses several keys.
func addKey(body map[string]any, cmd *cobra.Command, args []string) error {
	err := addKeys(body, cmd, args)
	if keys, several := body["keys"].([]string); several {
		return fmt.Errorf("there are %d keys: use one", len(keys))
	}
	return err
}

// usedFlags returns the flags among names that were used, as members of an object.
func usedFlags(f *pflag.FlagSet, names ...string) map[string]any {
	members := map[string]any{}
	for _, name := range names {
		if !f.Changed(name) {
			continue
		}
		member := strings.ReplaceAll(name, "-", "_")
		switch text := f.Lookup(name).Value.String(); f.Lookup(name).Value.Type() {
		case "bool":
			members[member] = text == "true"
		case "int":
			members[member], _ = f.GetInt(name)
		case "float64":
			members[member], _ = f.GetFloat64(name)
		default:
			members[member] = text
		}
	}
	return members
}

func resetCommand() *cobra.Command {
	return apiCommand[api.WrittenVersion]{
		use: "reset <zone> [<key>...]", short: "Gives keys their full limits again",
		long: "Gives keys their full limits again, on all nodes at once." + keyHelp,
		example: `  caddy rate-limit reset user sk_live_1 --reason "ticket 4711"
  caddy rate-limit reset user --key-file - <keys.txt`,
		least: 1, most: -1, ofZone: true, flags: operationFlags,
		request: func(cmd *cobra.Command, args []string) (*apiRequest, error) {
			return operationRequest(cmd, zonePath(args[0], "reset"), nil, args[1:])
		},
		print: printWrittenVersion,
	}.command()
}

func addQuotaCommand() *cobra.Command {
	return apiCommand[api.WrittenVersion]{
		use: "add-quota <zone> <events> [<key>...]", short: "Gives keys back some of what they have consumed",
		long: "Gives keys back some of what they have consumed, never more than their full limits:\n" +
			"for more, add an override." + keyHelp,
		example: `  caddy rate-limit add-quota user 500 sk_live_1 --reason "ticket 4711"
  caddy rate-limit add-quota user 500 --key-file - <keys.txt`,
		least: 2, most: -1, ofZone: true, flags: operationFlags,
		request: func(cmd *cobra.Command, args []string) (*apiRequest, error) {
			events, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%q is no number of events: use one such as 500", args[1])
			}
			return operationRequest(cmd, zonePath(args[0], "quota"), map[string]any{"events": events}, args[2:])
		},
		print: printWrittenVersion,
	}.command()
}

func operationFlags(f *pflag.FlagSet) {
	shownKeyFlags(f)
	endpointFlag(f)
	f.String("reason", "", "Why, for the history of the rules")
	authorFlag(f)
}

// operationRequest returns a request that changes the counts of keys. body has the members that are
// not about keys.
func operationRequest(cmd *cobra.Command, path string, body map[string]any, keys []string) (*apiRequest, error) {
	members := usedFlags(cmd.Flags(), "missing", "endpoint", "reason")
	maps.Copy(members, body)
	if err := addKeys(members, cmd, keys); err != nil {
		return nil, err
	}
	return newRequest(http.MethodPost, path, members), nil
}
