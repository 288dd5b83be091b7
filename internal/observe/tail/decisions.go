package tail

import "github.com/fleetlimit/fleetlimit/internal/api"

// Decisions are live tails of decisions.
type Decisions = List[api.DecisionFilter, *api.Decision]
