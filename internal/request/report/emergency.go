package report

import (
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

// EmergencyOn implements emergency.Observer.
func (p *Process) EmergencyOn(e api.Emergency) {
	p.emergency.Store(true)
	where := "on this node"
	if e.AllNodes {
		where = "on all nodes"
	}
	p.logger().Warn("emergency mode is on: each client address has a hard limit "+where, zap.String("limit", e.Limit),
		zap.Time("expires_at", *e.ExpiresAt), zap.String("reason", e.Reason), zap.String("by", e.StartedBy))
	p.emitEmergency("on", e)
}

// EmergencyOff implements emergency.Observer.
func (p *Process) EmergencyOff(e api.Emergency, why, by string) {
	p.emergency.Store(false)
	message := "emergency mode is off"
	if why != "" {
		message += ": " + why
	}
	p.logger().Warn(message, zap.String("limit", e.Limit), textField("by", by))
	p.emitEmergency("off", e)
}

// EmergencyWithoutAddress implements emergency.Observer.
func (p *Process) EmergencyWithoutAddress() {
	p.logger().Warn("emergency mode does not limit clients without an address: use trusted_proxies_unix if a proxy connects by a " +
		"Unix socket")
}

func (p *Process) emitEmergency(state string, e api.Emergency) {
	p.emit("rate_limit_emergency", map[string]any{"state": state, "limit": e.Limit, "reason": e.Reason})
}
