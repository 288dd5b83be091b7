package response

import (
	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/usage"
)

// A Zone is what responses and logs need of a zone. All its results have it.
type Zone struct {
	Usage         *usage.Zone
	Legacy        bool           // in the syntax of caddy-ratelimit
	rejectHeaders []rejectHeader // of rejections
}

// Compile compiles the settings of a zone that are about its responses.
func (z *Zone) Compile(settings *config.Zone) (err error) {
	z.rejectHeaders, err = newRejectHeaders(settings.RejectHeaders)
	return config.ErrorIn("reject_header", err)
}
