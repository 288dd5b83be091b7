package config

import (
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetlimit/fleetlimit/internal/spelling"
	"github.com/fleetlimit/fleetlimit/internal/subdirective"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// The values of log_rejections.
const (
	LogFirst = "first" // the first of a key and window
	LogAll   = "all"
	LogNone  = "none"
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

// words are the values of the settings that have few. A setting that is left out has a default.
var words = map[string][]string{
	"algorithm": {
		limiter.TokenBucket.String(), limiter.SlidingWindowLog.String(), limiter.SlidingWindow.String(),
		limiter.FixedWindow.String(),
	},
	"headers":          {"x", "draft", "all", "none"},
	"log_rejections":   {LogFirst, LogAll, LogNone},
	"mode":             {modeStrict, modeLease},
	"on_ambiguous_key": {"reject", AmbiguousMissing},
	"redis":            {RedisStandalone, RedisSentinel, RedisCluster},
	"reject":           {RejectJSON, RejectProblem, RejectError},
	"the store":        {RulesInStorage, RulesInRedis, RulesInPostgres},
}

// CheckWord refuses a value that is none of the words of its setting. "" is the default.
func CheckWord(setting, value string) error {
	if value == "" || slices.Contains(words[setting], value) {
		return nil
	}
	return unknownWord(setting, value)
}

// unknownWord returns the error about a value that is none of the words of its setting.
func unknownWord(setting, value string) error {
	return spelling.UnknownWord(setting, value, words[setting], synonyms[setting])
}

// wordLine is a subdirective with one of the words of a setting.
func wordLine(d *caddyfile.Dispenser, setting string, word *string) subdirective.Line {
	usage := setting + " " + strings.Join(words[setting], " | ")
	return subdirective.Word(d, usage, func(value string) error { return CheckWord(setting, value) }, word)
}

// synonyms are what people write instead of the words of a setting.
var synonyms = map[string]spelling.Synonyms{
	"algorithm": {
		"leaky_bucket": "token_bucket", "leakybucket": "token_bucket", "leaky": "token_bucket", "gcra": "token_bucket",
		"sliding": "sliding_window", "sliding_window_counter": "sliding_window", "sliding_counter": "sliding_window",
		"rolling_window": "sliding_window", "rolling": "sliding_window", "moving_window": "sliding_window",
		"sliding_log": "sliding_window_log", "log": "sliding_window_log", "window_log": "sliding_window_log",
		"fixed_window_counter": "fixed_window", "fixed_counter": "fixed_window", "tumbling_window": "fixed_window",
		"window": "fixed_window", "counter": "fixed_window", "ring_buffer": "sliding_window_log",
	},
	"headers": {
		"off": "none", "false": "none", "no": "none", "disabled": "none", "on": "all", "true": "all", "yes": "all",
		"both": "all", "ietf": "draft", "rfc": "draft", "ratelimit": "draft", "draft_11": "draft", "standard": "draft",
		"x_ratelimit": "x", "legacy": "x", "github": "x", "x,draft": "all", "x_draft": "all",
	},
	"log_rejections": {
		"on": "all", "true": "all", "yes": "all", "every": "all", "each": "all", "once": "first",
		"off": "none", "false": "none", "no": "none", "never": "none",
	},
	"mode": {
		"exact": "strict", "strong": "strict", "sync": "strict", "redis": "strict", "global": "strict", "central": "strict",
		"local": "lease", "fast": "lease", "async": "lease", "eventual": "lease", "approximate": "lease", "distributed": "lease",
	},
	"on_ambiguous_key": {
		"deny": "reject", "block": "reject", "refuse": "reject", "error": "reject", "400": "reject",
		"skip": "missing", "ignore": "missing",
	},
	"redis": {
		"single": "standalone", "simple": "standalone", "server": "standalone", "sentinels": "sentinel", "ha": "sentinel",
		"failover": "sentinel",
	},
	"reject": {
		"application/json": "json", "application/problem+json": "problem", "problem_json": "problem", "problem+json": "problem",
		"problem_details": "problem", "rfc9457": "problem", "rfc7807": "problem", "html": "error", "text": "error",
		"plain": "error", "body": "error", "page": "error", "custom": "error", "handle_errors": "error", "handler": "error",
		"403": "error", "429": "error", "503": "error",
	},
}
