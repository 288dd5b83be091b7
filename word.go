package fleetlimit

import (
	"fmt"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/spelling"
)

// unknownWord returns the error about a value that is none of the words of its setting.
func unknownWord(setting, value string, words ...string) error {
	last := len(words) - 1
	return fmt.Errorf("%s is %q: use %s or %s%s", setting, value, strings.Join(words[:last], ", "), words[last],
		spelling.DidYouMean(value, words, synonyms[setting]))
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
