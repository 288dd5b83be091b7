package config

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Statuses are statuses of responses. Each element is a status such as `401`, a class such as
// `5xx`, or one of both after `!`, which leaves it out. If every element leaves something out, all
// other statuses are meant.
type Statuses []string

const countStatusUsage = "count_status <status...>"

// UnmarshalJSON accepts what follows `count_status` in a Caddyfile, and a status as a number.
func (s *Statuses) UnmarshalJSON(data []byte) error { return s.unmarshal(data, "count_status") }

// unmarshal unmarshals the statuses of a setting.
func (s *Statuses) unmarshal(data []byte, setting string) error {
	var list []any
	switch {
	case isText(data):
		for _, word := range strings.Fields(textOf(data)) {
			list = append(list, word)
		}
	case json.Unmarshal(data, &list) != nil:
		list = []any{string(data)}
	}
	*s = make(Statuses, 0, len(list))
	for _, status := range list {
		*s = append(*s, fmt.Sprint(status))
	}
	if len(list) == 0 {
		return fmt.Errorf(`%s is empty: use statuses such as "401 403", "5xx" or "!2xx"`, setting)
	}
	_, err := s.compile(setting)
	return err
}

// A StatusSet is a set of statuses.
type StatusSet [maxStatus/64 + 1]uint64

const minStatus, maxStatus = 200, 599

// Has reports whether status is in the set. Status 0, that of a response without a status, is in
// every set, because nobody knows how the response would have ended.
func (s *StatusSet) Has(status int) bool {
	return status == 0 || status <= maxStatus && s[status/64]>>(status%64)&1 != 0
}

func (s *StatusSet) set(status int, in bool) {
	if s[status/64] &^= 1 << (status % 64); in {
		s[status/64] |= 1 << (status % 64)
	}
}

// Union returns the statuses of s and other.
func (s *StatusSet) Union(other *StatusSet) *StatusSet {
	var both StatusSet
	for i := range both {
		both[i] = s[i] | other[i]
	}
	return &both
}

// eachStatus calls do with all statuses that a response may have: 101 and those of 200 to 599.
func eachStatus(do func(status int)) {
	do(101)
	for status := minStatus; status <= maxStatus; status++ {
		do(status)
	}
}

// String returns the statuses as `count_status` has them.
func (s *StatusSet) String() string {
	var classes [6]struct{ in, out []string }
	eachStatus(func(status int) {
		if c, name := &classes[status/100], strconv.Itoa(status); s.Has(status) {
			c.in = append(c.in, name)
		} else {
			c.out = append(c.out, "!"+name)
		}
	})
	var words []string
	for class, c := range classes {
		if len(c.in) > len(c.out) {
			words = append(append(words, strconv.Itoa(class)+"xx"), c.out...)
		} else {
			words = append(words, c.in...)
		}
	}
	return strings.Join(words, " ")
}

// Compile returns the set of s, or nil if s is empty.
func (s Statuses) Compile() (*StatusSet, error) { return s.compile("count_status") }

// compile returns the set of s as Compile does. setting is the setting that errors name.
func (s Statuses) compile(setting string) (*StatusSet, error) {
	if len(s) == 0 {
		return nil, nil
	}
	set, onlyOut := new(StatusSet), true
	for _, word := range s {
		onlyOut = onlyOut && strings.HasPrefix(word, "!")
	}
	eachStatus(func(status int) { set.set(status, onlyOut) })
	for _, out := range []bool{false, true} {
		for _, word := range s {
			text, isOut := strings.CutPrefix(word, "!")
			if isOut != out {
				continue
			}
			first, last, err := statusRange(text)
			if err != nil {
				return nil, err
			}
			eachStatus(func(status int) {
				if first <= status && status <= last {
					set.set(status, !out)
				}
			})
		}
	}
	all, none := true, true
	eachStatus(func(status int) { all, none = all && set.Has(status), none && !set.Has(status) })
	switch {
	case all:
		return nil, fmt.Errorf("%s %s is all statuses: use no %s", setting, strings.Join(s, " "), remedyOf[setting])
	case none:
		return nil, fmt.Errorf("%s %s is no status: use some, such as `%s`", setting, strings.Join(s, " "), exampleOf[setting])
	}
	return set, nil
}

// remedyOf says what to leave out in place of a setting with all statuses. exampleOf has an example
// of each setting.
var (
	remedyOf  = map[string]string{"count_status": "count_status", "refund_on": "charge, as it would charge nothing"}
	exampleOf = map[string]string{"count_status": "count_status 401 403", "refund_on": "refund_on 4xx 5xx"}
)

// statusRange returns the first and the last status of a class, or one status twice.
func statusRange(text string) (first, last int, err error) {
	status, err := strconv.Atoi(text)
	switch {
	case len(text) == 3 && text[0] >= '1' && text[0] <= '5' && text[1:] == "xx":
		first = int(text[0]-'0') * 100
		return first, first + 99, nil
	case err == nil && status >= 100 && status < minStatus && status != 101:
		return 0, 0, fmt.Errorf("%d is not the status of a whole response: use 101, or statuses from %d", status, minStatus)
	case err != nil || status < 100 || status > maxStatus || len(text) != 3:
		return 0, 0, fmt.Errorf("%q is not a status: use one such as 401, or a class such as 5xx or !2xx", text)
	}
	return status, status, nil
}

// parseStatuses parses what follows `count_status`.
func parseStatuses(args []string) (Statuses, error) {
	s := Statuses(args)
	_, err := s.Compile()
	return s, err
}
