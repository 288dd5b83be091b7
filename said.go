package fleetlimit

// A said is the texts of the last rejection of a scratch. A client that does not wait is rejected many times a second, and with the
// same texts until the second is over, so they are not put together for each of its requests.
type said struct {
	about   subject
	headers headerValues
	body    []byte
}

// A subject is all that the texts of a rejection depend on when the request has but one zone. The zero subject is of none.
type subject struct {
	rule      *rule
	headers   headerSet
	style     rejectStyle
	limit     int64
	remaining int64
	retryIn   int64 // seconds
	resetAt   int64 // Unix seconds
	retry     int64 // seconds; with the jitter
}

// say prepares the headers of a rejection, and returns its body, which may be used until the scratch is released.
func (q *evaluation) say(denied *zoneResult, style rejectStyle, retry int64) (body []byte) {
	d, s := &denied.decision, &q.buffers.said
	var about subject
	if len(q.state.results) == 1 {
		about = subject{denied.rule, denied.headers, style, d.Limit, d.Remaining, d.RetryAt.SecondsUntil(d.At), d.ResetAt.Unix(), retry}
		if about == s.about {
			q.state.headers = s.headers
			return s.body
		}
	}
	q.state.format(q.first, denied, retry)
	s.about, s.headers, s.body = about, q.state.headers, s.body[:0]
	switch texts := &denied.rule.texts.body; style {
	case rejectJSON:
		s.body = texts.appendJSON(s.body, retry, d.ResetAt)
	case rejectProblem:
		s.body = texts.appendProblem(s.body, retry)
	}
	return s.body
}
