package limiter_test

import (
	"fmt"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

func ExampleNewRule() {
	rule, err := limiter.NewRule(limiter.Rule{
		Algorithm: limiter.Algorithm{Kind: limiter.TokenBucket},
		Limit:     limiter.Limit{Events: 100, Window: time.Minute, Burst: 150},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("at once:", rule.Capacity())
	fmt.Println("fills in:", rule.FillTime())
	// Output:
	// at once: 150
	// fills in: 1m30s
}

// A rule that cannot be enforced is an error that names the field and its bounds.
func ExampleNewRule_invalid() {
	_, err := limiter.NewRule(limiter.Rule{Limit: limiter.Limit{Events: 0, Window: time.Minute}})
	fmt.Println(err)
	// Output:
	// limiter: events = 0, want 1 to 1000000000000
}

func ExampleNewCount() {
	algorithm := limiter.Algorithm{Kind: limiter.SlidingWindowLog}
	rule, err := limiter.NewRule(limiter.Rule{
		Algorithm: algorithm,
		Limit:     limiter.Limit{Events: 2, Window: time.Minute},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	count := limiter.NewCount(algorithm)
	start := time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC)
	for _, after := range []time.Duration{0, 20 * time.Second, 30 * time.Second, time.Minute} {
		now := limiter.At(start.Add(after))
		d := count.Take(rule, now, 1)
		fmt.Printf("after %v: ok %t, %d left, retry in %d s\n", after, d.OK, d.Remaining, d.RetryAt.SecondsUntil(now))
	}
	// Output:
	// after 0s: ok true, 1 left, retry in 0 s
	// after 20s: ok true, 0 left, retry in 0 s
	// after 30s: ok false, 0 left, retry in 30 s
	// after 1m0s: ok true, 0 left, retry in 0 s
}

// A changed limit applies to the next take, because a count holds what was consumed.
func ExampleNewCount_changedLimit() {
	algorithm := limiter.Algorithm{Kind: limiter.FixedWindow}
	count := limiter.NewCount(algorithm)
	now := limiter.At(time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC))
	for _, events := range []int64{5, 8, 3} {
		rule, err := limiter.NewRule(limiter.Rule{
			Algorithm: algorithm,
			Limit:     limiter.Limit{Events: events, Window: time.Minute},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		d := count.Take(rule, now, 4)
		fmt.Printf("4 of %d: ok %t, %d left\n", events, d.OK, d.Remaining)
	}
	// Output:
	// 4 of 5: ok true, 1 left
	// 4 of 8: ok true, 0 left
	// 4 of 3: ok false, 0 left
}
