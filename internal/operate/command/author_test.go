package command

import (
	"os"
	"os/user"
	"strings"
	"testing"
)

// Each command that changes something says who does it; the others do not.
func TestAuthor(t *testing.T) {
	t.Setenv("SUDO_USER", "")
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	current, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"override add user k --limit 1/1s", "override change a --limit 1/1s", "override remove a", "tier add user pro k",
		"tier change a --tier pro", "tier remove a", "access deny 192.0.2.1", "access allow 192.0.2.1", "access change a --reason b",
		"access remove a", "rules put -", "rules patch -", "rules rollback 1", "reset user k", "add-quota user 5 k", "emergency on",
		"emergency off",
	} {
		args := strings.Fields(command)
		if ran := runCommand(t, "{}", "{}", args...); ran.err != nil || ran.author != current.Username+"@"+host {
			t.Errorf("%s: %v, author %q, want %s@%s", command, ran.err, ran.author, current.Username, host)
		}
		if ran := runCommand(t, "{}", "{}", append(args, "--author", "billing job 7")...); ran.author != "billing job 7" {
			t.Errorf("%s with an author: %v, author %q", command, ran.err, ran.author)
		}
	}
	t.Setenv("SUDO_USER", "alice")
	if ran := runCommand(t, "", "{}", "override", "remove", "a"); ran.author != "alice@"+host {
		t.Errorf("with sudo the author is %q, want alice@%s", ran.author, host)
	}
	for _, command := range []string{"override list", "inspect user k", "status", "rules get"} {
		if ran := runCommand(t, "", "{}", strings.Fields(command)...); ran.author != "" {
			t.Errorf("%s: author %q, want none", command, ran.author)
		}
	}
}
