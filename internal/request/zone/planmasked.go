package zone

import (
	"time"

	"github.com/fleetlimit/fleetlimit/rules"
)

// changesZone reports whether the rules change limits or the dry run of a zone.
func (s *Snapshot) changesZone(name string) bool { return s.Version.Document.Zones[name] != nil }

// configured returns what would be in force without rules.
func (s *Snapshot) configured() *Snapshot {
	c, _ := s.set.Compile(&rules.Version{Document: new(rules.Document)}, nil, time.Now()) // there is nothing to leave out
	return c
}

// A configuredZones is what would be in force of two configurations without rules.
type configuredZones struct {
	before, after       *Snapshot
	dryBefore, dryAfter map[string]string // dryRunTexts
}

// configuredZonesOf returns those of two snapshots with rules.
func configuredZonesOf(before, after *Snapshot) *configuredZones {
	c := &configuredZones{before: before.configured(), after: after.configured()}
	c.dryBefore, c.dryAfter = c.before.dryRunTexts(), c.after.dryRunTexts()
	return c
}

// maskedChanges says what differs of a zone between the two configurations and has no effect, because
// rules decide. was and is are its limits in force, and dryRun says that its dry run changes.
func (c *configuredZones) maskedChanges(name string, was, is map[limitPlace]limitText, dryRun bool) (texts []string) {
	from, to := c.before.limitTexts(name), c.after.limitTexts(name)
	leaveMasked := func(configured map[limitPlace]limitText) {
		for p, t := range configured {
			switch {
			case was[p] == is[p]:
			case was[p].limit == is[p].limit: // only how it is enforced changes
				configured[p] = limitText{limit: t.limit}
			default:
				delete(configured, p)
			}
		}
	}
	leaveMasked(from)
	leaveMasked(to)
	for _, l := range changedLimits(from, to) {
		texts = append(texts, l.String())
	}
	if from, to := c.dryBefore[name], c.dryAfter[name]; from != to && !dryRun {
		texts = append(texts, "dry_run: "+from+" is now "+to)
	}
	return texts
}
