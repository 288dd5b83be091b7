package config

import (
	"slices"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/subdirective"
	"github.com/fleetlimit/fleetlimit/internal/text/spelling"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// The values of log_rejections.
const (
	LogFirst = "first" // the first of a key and window
	LogAll   = "all"
	logNone  = "none"
)

// The values of reject.
const (
	RejectJSON    = "json"
	RejectProblem = "problem"
	RejectError   = "error"
)

// AmbiguousMissing is the value of on_ambiguous_key with which an ambiguous value counts as
// missing.
const AmbiguousMissing = "missing"

// OriginalPath is the value of on_path with which endpoints and matchers read the path as the
// client has sent it.
const OriginalPath = "original"

// words has the values of each setting that accepts only a few words.
var words = map[string][]string{
	"algorithm":        limiter.KindNames(),
	"decisions":        {DecisionsToLog, DecisionsToPostgres},
	"headers":          {"x", "draft", "all", "none"},
	"log_rejections":   {LogFirst, LogAll, logNone},
	"mode":             {modeStrict, modeLease},
	"on_ambiguous_key": {"reject", AmbiguousMissing},
	"on_path":          {OriginalPath, "current"},
	"redis":            {RedisStandalone, RedisSentinel, RedisCluster},
	"reject":           {RejectJSON, RejectProblem, RejectError},
	"the store":        {RulesInStorage, RulesInRedis, RulesInPostgres},
}

// CheckWord refuses a value that is none of the words of its setting. "" stands for the default.
func CheckWord(setting, value string) error {
	if value == "" || slices.Contains(words[setting], value) {
		return nil
	}
	return unknownWord(setting, value)
}

// unknownWord returns the error about a value that is none of the words of its setting.
func unknownWord(setting, value string) error {
	return spelling.UnknownWord(setting, value, words[setting], remedies["setting "+setting])
}

// wordLine returns a subdirective with one of the words of a setting.
func wordLine(setting string, word *string) subdirective.Line {
	usage := setting + " " + strings.Join(words[setting], " | ")
	return subdirective.Word(usage, func(value string) error { return CheckWord(setting, value) }, word)
}
