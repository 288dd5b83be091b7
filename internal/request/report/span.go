package report

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/fleetlimit/fleetlimit/internal/fleet/stores"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
)

// AddToSpan adds what is decided about a request to its span, if an earlier handler has begun one that is
// recorded. Of several zones, it describes the one that the access log describes. Spans never have keys.
func AddToSpan(r *http.Request, s *response.State) {
	span := trace.SpanFromContext(r.Context())
	if !span.IsRecording() {
		return
	}
	attributes := make(attributes, 0, 7)
	if s.Refusal != nil {
		attributes.add("zone", s.Exceeded)
		attributes.add("outcome", OutcomeOfRefusal(s.Refusal))
		attributes.add("reason", s.Refusal.Reason)
	} else if d := s.Decisive(); d != nil {
		attributes.add("zone", d.Usage.Name)
		attributes.add("outcome", OutcomeOf(d))
		attributes.add("source", d.Decision.Source.String())
		attributes.add("rule", d.Policy.LimitText())
		attributes.add("endpoint", d.Counters.Endpoint)
		attributes.add("tier", d.Counters.Tier)
		if d.Failure != nil {
			attributes.add("reason", stores.Cause(d.Failure))
		} else {
			attributes = append(attributes, attribute.Int64(attributePrefix+"remaining", d.Remaining()))
		}
	}
	span.SetAttributes(attributes...)
}

// attributes are the attributes of a span. Their names begin with attributePrefix.
type attributes []attribute.KeyValue

const attributePrefix = "rate_limit."

// add adds a text, unless it is "".
func (a *attributes) add(name, text string) {
	if text != "" {
		*a = append(*a, attribute.String(attributePrefix+name, text))
	}
}
