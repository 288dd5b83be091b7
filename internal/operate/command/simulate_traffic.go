package command

import (
	"errors"
	"fmt"

	"github.com/fleetlimit/fleetlimit/sim/traffic"
)

// madeUpTraffic returns the options of --traffic, or nil without that flag. There must be either
// traffic or logs.
func madeUpTraffic(f *simulateFlags, logs []string) (*traffic.Options, error) {
	switch {
	case f.traffic == "" && len(logs) == 0:
		return nil, errors.New(`there is no log: use the name of one, or --traffic such as "daily rate=50/s for=24h"`)
	case f.traffic == "":
		return nil, nil
	case len(logs) > 0:
		return nil, errors.New("there is both a log and --traffic: use one of them")
	case f.Changed("from") || f.Changed("to"):
		return nil, errors.New("--from and --to are about logs: use for= in --traffic")
	}
	o, err := traffic.Parse(f.traffic, f.seed)
	if err != nil {
		return nil, fmt.Errorf("--traffic: %w", err)
	}
	return o, nil
}
