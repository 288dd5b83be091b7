package command

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

// patienceOfCompletion is how long a shell waits for names.
const patienceOfCompletion = 2 * time.Second

// ask returns the answer to GET of a path. It is nil if Caddy does not answer soon.
func ask(cmd *cobra.Command, path string) []byte {
	found := make(chan []byte, 1)
	go func() {
		body, _, _ := getRequest(path).send(cmd) // without an answer there are no names
		found <- body
	}()
	select {
	case body := <-found:
		return body
	case <-time.After(patienceOfCompletion):
		return nil
	}
}

// completion returns the names that a shell offers, sorted and each once.
func completion(names []string) ([]string, cobra.ShellCompDirective) {
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}

// zonesToComplete returns the zones of the configuration, or the one that the arguments or --zone
// name.
func zonesToComplete(cmd *cobra.Command, args []string, ofZone bool) []api.ZoneLimits {
	var answer api.Zones
	_ = json.Unmarshal(ask(cmd, "zones"), &answer)
	name, _ := cmd.Flags().GetString("zone")
	if ofZone && len(args) > 0 {
		name = args[0]
	}
	if name == "" {
		return answer.Zones
	}
	return slices.DeleteFunc(answer.Zones, func(z api.ZoneLimits) bool { return z.Name != name })
}

// completeZone completes the name of a zone.
func completeZone(cmd *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	for _, z := range zonesToComplete(cmd, nil, false) {
		names = append(names, z.Name)
	}
	return completion(names)
}

// completeFirstZone completes a first argument that is the name of a zone.
func completeFirstZone(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeZone(cmd, args, toComplete)
}

// completeZoneAndTier completes the arguments of a command that takes a zone and one of its tiers.
func completeZoneAndTier(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return completeTier(true)(cmd, args, toComplete)
	}
	return completeFirstZone(cmd, args, toComplete)
}

// completeTier returns a function that completes the name of a tier. With ofZone, the first
// argument is the name of a zone.
func completeTier(ofZone bool) cobra.CompletionFunc {
	return completeOfLimits(ofZone, func(l *api.EndpointLimits) (names []string) {
		for _, t := range l.Tiers {
			names = append(names, t.Tier)
		}
		return names
	})
}

// completeEndpoint returns a function that completes an endpoint, as completeTier does a tier.
func completeEndpoint(ofZone bool) cobra.CompletionFunc {
	return completeOfLimits(ofZone, func(l *api.EndpointLimits) []string { return []string{l.Endpoint} })
}

// completeOfLimits returns a function that completes the names that namesOf returns for the limits
// of zones, except "".
func completeOfLimits(ofZone bool, namesOf func(*api.EndpointLimits) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		for _, z := range zonesToComplete(cmd, args, ofZone) {
			for i := range z.Limits {
				names = append(names, namesOf(&z.Limits[i])...)
			}
		}
		return completion(slices.DeleteFunc(names, func(name string) bool { return name == "" }))
	}
}

// completeID completes a first argument that is the ID of an entry of a list.
func completeID(list string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (ids []string, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var answer map[string]json.RawMessage
		var entries []struct {
			ID string `json:"id"`
		}
		_ = json.Unmarshal(ask(cmd, list), &answer)
		_ = json.Unmarshal(answer[list], &entries) // without an answer there are none
		for _, e := range entries {
			ids = append(ids, e.ID)
		}
		return completion(ids)
	}
}
