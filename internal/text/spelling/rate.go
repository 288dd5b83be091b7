package spelling

import (
	"regexp"
	"strconv"
	"strings"
)

// Rate returns a rate in the spelling <events>/<window>. It reads spellings of other programs, such as
// 100r/s, 10rps, "100 per minute", 100/60, 1m/100 and 1k/min. It returns "" for other texts.
func Rate(text string) string {
	m := foreignRate.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if r := reversedRate.FindStringSubmatch(text); r != nil {
		return Rate(r[2] + "/" + r[1])
	}
	if m == nil {
		return ""
	}
	digits, thousands, length, unit := m[1], m[2], m[3], m[4]
	if m[5] != "" {
		unit = m[5] // from rps, rpm, rph or rpd
	}
	events := strings.NewReplacer(",", "", "_", "").Replace(digits) + map[string]string{"k": "000", "m": "000000"}[thousands]
	window := windows[strings.TrimSuffix(unit, "s")]
	switch {
	case unit == "" && !strings.ContainsAny(text, "/:"): // two numbers are no rate
		return ""
	case unit == "s", unit == "" && length != "": // a number without a unit is in seconds
		window = "s"
	case unit == "ms":
		window = "ms"
	case window == "":
		return ""
	}
	if n := strings.TrimRight(window, "smhd"); n != "" { // windows has this unit as a number of days
		days, _ := strconv.Atoi(n)
		count, err := strconv.Atoi(length)
		if err != nil {
			count = 1
		}
		return events + "/" + strconv.Itoa(days*count) + "d"
	}
	if length == "" {
		length = "1"
	}
	return events + "/" + length + window
}

// foreignRate matches a number, an optional noun, and a window.
var foreignRate = regexp.MustCompile(`^(?:rate ?= ?)?(\d{1,3}(?:,\d{3})+|\d[\d_]*) ?([km])?[ -]?` +
	`(?:(?:events?|requests?|reqs?|calls?|hits?|r)?[ -]?(?:[/:] ?|per[ -]|every |each |in | |a |an )(\d*)[ -]?([a-z]*)|rp(s|m|h|d))[,;]?$`)

// reversedRate matches a window and the number of events in it.
var reversedRate = regexp.MustCompile(`^(\d*(?:ms|s|m|min|h|d))/(\d+)$`)

// windows has the spelling of each unit by its name in other programs, without an s at the end.
var windows = map[string]string{
	"": "", "sec": "s", "second": "s", "m": "m", "min": "m", "minute": "m", "h": "h", "hr": "h", "hour": "h", "d": "d",
	"day": "d", "w": "7d", "week": "7d", "month": "30d", "mo": "30d", "year": "365d", "y": "365d", "milli": "ms",
	"millisecond": "ms",
}
