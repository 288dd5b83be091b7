package redistest

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
)

// oldest is the first major version of Redis that is supported.
const oldest = 7

const remedy = "run test/redistest/need-redis.sh, which installs it or says how"

// binary returns the path of the redis-server that all servers run.
var binary = sync.OnceValues(findBinary)

// findBinary looks for a redis-server that is new enough.
func findBinary() (path string, err error) {
	path, err = exec.LookPath("redis-server")
	if err != nil {
		return "", fmt.Errorf("redistest: redis-server %d.0 or newer is not in PATH: %s", oldest, remedy)
	}
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("redistest: %s --version: %w", path, err)
	}
	version, major := parseVersion(string(out))
	if major < oldest {
		return "", fmt.Errorf("redistest: %s has version %s, and %d.0 or newer is needed: %s", path, version, oldest, remedy)
	}
	return path, nil
}

var versionPattern = regexp.MustCompile(`\bv=((\d+)\.[0-9.]+)`)

// parseVersion returns the version in what redis-server --version prints, and its first number; "unknown" and 0 where
// there is none.
func parseVersion(printed string) (version string, major int) {
	m := versionPattern.FindStringSubmatch(printed)
	if m == nil {
		return "unknown", 0
	}
	major, err := strconv.Atoi(m[2])
	if err != nil {
		return "unknown", 0
	}
	return m[1], major
}
