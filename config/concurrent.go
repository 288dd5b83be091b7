package config

import (
	"errors"
	"fmt"

	"github.com/fleetlimit/fleetlimit/internal/subdirective"
)

// maxConcurrent is the highest number of requests at once.
const maxConcurrent = 1_000_000_000

// CheckConcurrent refuses a number of requests at once that is out of bounds. 0 is none.
func CheckConcurrent(n int) error {
	if n < 0 || n > maxConcurrent {
		return fmt.Errorf("concurrent is %d: use 1 to %d, or the limit block to reject every request", n, maxConcurrent)
	}
	return nil
}

// concurrentLine is a subdirective with a number of requests at once.
func concurrentLine(n *int) subdirective.Line {
	l := subdirective.Number("concurrent", 1, maxConcurrent, n)
	parse := l.Parse
	l.Parse = func(args []string) error {
		if args[0] == "0" {
			return errors.New("concurrent 0 admits nothing: use `limit block` to reject every request")
		}
		return parse(args)
	}
	return l
}
