package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
)

// oldest is the oldest major version of PostgreSQL that is supported.
const oldest = 14

// folders are where systems have the programs when these are not in PATH. need-postgres.sh searches the same
// folders.
var folders = []string{
	"/usr/lib/postgresql/*/bin",         // Debian, Ubuntu
	"/usr/pgsql-*/bin",                  // the packages of postgresql.org for Fedora and its kin
	"/usr/libexec/postgresql*",          // Alpine
	"/opt/homebrew/opt/postgresql*/bin", // macOS
	"/usr/local/opt/postgresql*/bin",
}

// programs returns the folder of the programs that all servers run.
var programs = sync.OnceValues(func() (folder string, err error) { return findPrograms(os.Getenv("PATH"), folders) })

// findPrograms returns the folder with the newest initdb and postgres.
func findPrograms(path string, patterns []string) (folder string, err error) {
	candidates := filepath.SplitList(path)
	for _, pattern := range patterns {
		found, _ := filepath.Glob(pattern) // it fails only for a wrong pattern
		candidates = append(candidates, found...)
	}
	newest := 0
	for _, candidate := range candidates {
		version, err := majorVersion(candidate)
		if err == nil && version > newest {
			newest, folder = version, candidate
		}
	}
	if newest < oldest {
		found := "is neither in PATH nor in " + fmt.Sprint(patterns)
		if newest > 0 {
			found = fmt.Sprintf("is version %d in %s", newest, folder)
		}
		return "", fmt.Errorf("pgtest: the server of PostgreSQL %d or newer is needed, and %s: use "+
			"test/pgtest/need-postgres.sh, which installs it", oldest, found)
	}
	return folder, nil
}

// majorVersion returns the version of the programs in a folder, which must have both.
func majorVersion(folder string) (version int, err error) {
	if _, err := exec.LookPath(filepath.Join(folder, "initdb")); err != nil {
		return 0, err
	}
	printed, err := exec.Command(filepath.Join(folder, "postgres"), "--version").Output()
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscanf(string(printed), "postgres (PostgreSQL) %d", &version)
	return version, err
}

// credential returns the user as whom servers run. It returns nil for the user of the test, unless that is
// root.
func credential() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	names := []string{"postgres", "nobody"}
	i := slices.IndexFunc(names, func(name string) bool { _, err := user.Lookup(name); return err == nil })
	if i < 0 {
		return nil, fmt.Errorf("pgtest: PostgreSQL does not run as root, and there is no user %v: use adduser", names)
	}
	u, err := user.Lookup(names[i])
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
