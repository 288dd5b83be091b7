package limiter

import "math/rand/v2"

func oneOf[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }
