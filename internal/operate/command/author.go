package command

import (
	"cmp"
	"os"
	"os/user"

	"github.com/spf13/pflag"
)

// authorFlag adds the flag of commands that change something.
func authorFlag(f *pflag.FlagSet) {
	f.String("author", "", "Who, for the history; default: the user of the shell at this host, or of the client certificate")
}

// authorOf returns who changes something: what --author says, else the user of the shell at this
// host. It is empty for commands that change nothing, and by default for clients whose certificate
// says who they are.
func authorOf(f *pflag.FlagSet) string {
	if f.Lookup("author") == nil {
		return ""
	}
	author, _ := f.GetString("author")
	if author != "" || isRemote(f) {
		return author
	}
	name := os.Getenv("SUDO_USER")
	if current, err := user.Current(); name == "" && err == nil {
		name = current.Username
	}
	name = cmp.Or(name, os.Getenv("USER"))
	host, err := os.Hostname()
	if name == "" || err != nil {
		return name
	}
	return name + "@" + host
}
