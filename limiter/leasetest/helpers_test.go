package leasetest

import (
	"cmp"
	"math/rand/v2"

	"github.com/fleetlimit/fleetlimit/limiter"
)

const (
	ms  = 1_000
	sec = 1_000_000
)

// epoch is when tests and simulations begin, by the store's clock.
const epoch limiter.Instant = 1_800_000_000 * sec

var (
	bucket = limiter.Algorithm{Kind: limiter.TokenBucket}
	fixed  = limiter.Algorithm{Kind: limiter.FixedWindow}
	log    = limiter.Algorithm{Kind: limiter.SlidingWindowLog}
)

func sliding(subWindows int) limiter.Algorithm {
	return limiter.Algorithm{Kind: limiter.SlidingWindow, SubWindows: subWindows}
}

// algorithms are those that all rules of the tests are tested with.
var algorithms = []struct {
	name string
	limiter.Algorithm
}{
	{"bucket", bucket},
	{"log", log},
	{"sliding-1", sliding(1)},
	{"sliding-2", sliding(2)},
	{"sliding-5", sliding(5)},
	{"sliding-60", sliding(60)},
	{"fixed", fixed},
}

// mustRule returns r. By default, no take is admitted that the store could not decide.
func mustRule(r limiter.Rule) *limiter.Rule {
	r.OnOutage = cmp.Or(r.OnOutage, limiter.OutageClosed)
	made, err := limiter.NewRule(r)
	if err != nil {
		panic(err)
	}
	return made
}

// oneOf returns one of choices.
func oneOf[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }
