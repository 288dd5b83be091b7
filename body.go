package fleetlimit

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// bodyTexts are the parts of a rejection's body that are the same for all rejections under a rule.
type bodyTexts struct {
	json    string // up to the value of retry_after_seconds
	problem string // up to the value of retry_after_seconds
}

func newBodyTexts(zone string, r *rule) bodyTexts {
	name, _ := json.Marshal(zone) // of a string, Marshal never fails
	message, limit, window := "Requests are blocked", "0", strconv.FormatFloat(r.window.Seconds(), 'f', -1, 64)
	if r.Rule != nil {
		limit = strconv.FormatInt(r.Limit.Events, 10)
		noun := "seconds"
		if window == "1" {
			noun = "second"
		}
		message = fmt.Sprintf("Rate limit of %s per %s %s exceeded", amount(r.Limit.Events, "request"), window, noun)
	}
	return bodyTexts{
		json: `{"error":{"code":"RATE_LIMIT_EXCEEDED","message":"` + message + `","details":{"zone":` + string(name) +
			`,"limit":` + limit + `,"window_seconds":` + window + `,"retry_after_seconds":`,
		problem: `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Too Many Requests",` +
			`"status":429,"detail":"` + message + `","violated-policies":[` + string(name) + `],"retry_after_seconds":`,
	}
}

func (t *bodyTexts) appendJSON(b []byte, retry int64, reset limiter.Instant) []byte {
	b = append(b, t.json...)
	b = strconv.AppendInt(b, retry, 10)
	b = append(b, `,"reset_at":"`...)
	b = time.Unix(reset.Unix(), 0).UTC().AppendFormat(b, time.RFC3339)
	return append(b, "\"}}}\n"...)
}

func (t *bodyTexts) appendProblem(b []byte, retry int64) []byte {
	b = append(b, t.problem...)
	b = strconv.AppendInt(b, retry, 10)
	return append(b, "}\n"...)
}
