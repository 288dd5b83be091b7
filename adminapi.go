package fleetlimit

import (
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/rules"
)

// An adminAPI serves /rate_limit/ at Caddy's admin endpoint, whose checks of hosts and origins
// apply. It has no state of its own: Caddy makes a new one for each configuration, even for one that
// fails.
type adminAPI struct{}

// CaddyModule returns the Caddy module information.
func (adminAPI) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "admin.api.rate_limit",
		New: func() caddy.Module { return adminAPI{} },
	}
}

// Routes implements caddy.AdminRouter.
func (adminAPI) Routes() []caddy.AdminRoute { return adminapi.Routes(process{}) }

// A process is this process for the admin API.
type process struct{}

// Running implements adminapi.Process.
func (process) Running() adminapi.Configuration {
	if running := newRunningApp(); running != nil {
		return running
	}
	return nil
}

// Readiness implements adminapi.Process.
func (process) Readiness() adminapi.Readiness { return readReadiness() }

// Tails implements adminapi.Process.
func (process) Tails() *adminapi.Tails { return &tails }

// Emergency implements adminapi.Process.
func (process) Emergency() adminapi.Emergency { return emergencyMode.active(time.Now()).describe() }

// ParseEmergencyLimit implements adminapi.Process.
func (process) ParseEmergencyLimit(text string) (string, error) {
	limit, err := parseEmergencyLimit(text)
	if err != nil {
		return "", err
	}
	return limit.String(), nil
}

// StartEmergency implements adminapi.Process.
func (process) StartEmergency(of *rules.Emergency) (adminapi.Emergency, error) {
	e, err := newEmergency(of)
	if err == nil {
		err = emergencyMode.start(e)
	}
	if err != nil {
		return adminapi.Emergency{}, err
	}
	return e.describe(), nil
}

// EndEmergency implements adminapi.Process.
func (process) EndEmergency(by string) bool {
	e := emergencyMode.current.Load()
	if e != nil && e.rules != nil {
		return false
	}
	if e != nil {
		emergencyMode.end(e, "emergency mode is off", zap.String("by", by))
	}
	return true
}

// Interface guards.
var (
	_ caddy.AdminRouter = adminAPI{}
	_ adminapi.Process  = process{}
)
