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

// authorOf returns the author of a change: the one of --author, or else the user of the shell at
// this host. It returns "" for commands that change nothing. Without --author, it also returns ""
// for the remote admin endpoint, where the client certificate names the author.
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
