package config

import (
	"strings"
)

// This file says what to use instead of words that other blocks or other programs have.

var (
	handlerRemedies = remedies(
		"key on_missing_key on_ambiguous_key ipv4_prefix ipv6_prefix limit algorithm mode on_outage tier endpoint cost "+
			"max_keys allow_key deny_key events window match dry_run compare", "it belongs to a zone: use it inside "+
			"`zone <name> {`",
		"redis nodes defaults", "it belongs to the whole server: use it in the global option rate_limit",
		"rate rates requests average period per quota rps rpm burst limits", "use `limit <events>/<window> [burst <n>]` "+
			"inside `zone <name> {`",
		"whitelist allowlist allow_list exempt bypass trusted_ips", "use `allow <ip|cidr...>`",
		"blacklist blocklist denylist deny_list block ban", "use `deny <ip|cidr...>`",
		"status status_code code message body response error", "use `reject error`, and `handle_errors 429` for a response "+
			"of your own",
		"retry_after", "it is always sent: use `jitter <percent>` to lengthen it at random",
		"except skip ignore only if unless", "use a matcher after rate_limit, or `match {` inside a zone",
		"trusted_proxies", "use it in the global option `servers`",
		"key_prefix store backend", "use `redis {` in the global option rate_limit",
		"enabled disabled enable disable", "remove rate_limit to disable it: use no such word",
		"log", "use `log_rejections first | all | none`",
		"order", "use it as the global option `order rate_limit ...`",
		"ip per_ip client_ip", "use `key {client_ip}` inside `zone <name> {`",
		"path method methods", "use `endpoint <path> <rate>` inside a zone, or a matcher after rate_limit",
		onOutage, onOutageRemedy,
		maxOvershoot, maxOvershootRemedy,
		dryRunSynonyms, "use `dry_run [<percent>]` inside `zone <name> {`",
	)

	zoneRemedies = remedies(
		"allow deny headers reject log_rejections log_key jitter disable_metrics distributed storage sweep_interval",
		"it belongs to rate_limit itself: use it beside the zone, not inside",
		"redis nodes defaults", "it belongs to the whole server: use it in the global option rate_limit",
		"zone", "a zone has no zones: use } to close this one first",
		"keys default placeholder trusted tiers", "use it as `tier <placeholder> {` with a line for each tier, `keys <glob...> "+
			"<tier>` and `default <tier>`",
		"rate rates requests average period per quota rps rpm rate_limit count max max_events unlimited block second minute "+
			"hour day unit requests_per_unit max_requests threshold interval duration time_window window_size limit_count "+
			"http_req_rate stick_table limit_req limit_req_zone fill_interval refill rate_per_second descriptors", "use "+
			"`limit <events>/<window>`, such as `limit 100/1m`",
		"burst capacity max_tokens", "use `limit <events>/<window> burst <n>`",
		"delay nodelay queue", "requests are never delayed: use `limit <events>/<window> burst <n>` to admit some at once",
		"path paths method methods uri route location", "use `endpoint <path> <rate>` to limit it apart, or "+
			"`match { path <path> }` to limit nothing else",
		"host header not query remote_ip client_ip protocol", "use it as a matcher, inside `match {`",
		"by source sourcecriterion ipstrategy identifier id limit_by key_by group_by characteristics descriptor ip per_ip "+
			"header_name", "use `key <template>`, such as `key {client_ip}`",
		"token_bucket sliding_window sliding_window_log fixed_window", "use it as `algorithm <name>`",
		"except skip ignore only if unless", "use `match { not path <path> }` or another matcher, or `endpoint <path> unlimited`",
		"limit_conn concurrency max_connections bandwidth", "only the rate of requests is limited: use `limit <events>/<window>`",
		"ban_time penalty block_duration cooldown mitigation_timeout", "a client is admitted again as soon as the limit allows: "+
			"use `algorithm fixed_window` to have it wait for the next window",
		"depth trusted_proxies", "use `trusted_proxies` in the global option `servers`, and `key {client_ip}`",
		"policy backend store key_prefix redis_prefix", "use `redis {` in the global option rate_limit",
		"limit_req_status action", "use `reject error` in rate_limit itself, and `handle_errors 429` for a response of your own",
		"hide_client_headers", "use `headers none` in rate_limit itself",
		"retry_after", "it is always sent: use `jitter <percent>` in rate_limit itself to lengthen it at random",
		"plan plans tier_header free pro", "use it as `tier <placeholder> {` with a line for each tier, such as `free 100/1m`",
		"rule rules", "use `endpoint <path> <rate>` for a path, or one `zone` for each rule",
		"ttl expire", "counts expire by themselves: use none of it",
		"enabled disabled enable disable", "remove the zone to disable it: use no such word",
		"name", "use `zone <name> {`",
		"whitelist allowlist allow_list exempt bypass exclude allow_ip", "use `allow <ip|cidr...>` in rate_limit itself, or "+
			"`allow_key <glob...>`",
		"blacklist blocklist denylist deny_list ban deny_ip", "use `deny <ip|cidr...>` in rate_limit itself, or "+
			"`deny_key <glob...>`",
		"status status_code code message body response error", "use `reject error` in rate_limit itself, and `handle_errors "+
			"429` for a response of your own",
		"prefix mask netmask ipv6_mask ipv4_mask", "use `ipv4_prefix <bits>` or `ipv6_prefix <bits>`",
		"size zone_size max_entries max_size capacity_keys", "use `max_keys <n>`",
		"subwindows sub_windows precision", "use `algorithm sliding_window <subwindows>`",
		"strict lease", "use `mode strict` or `mode lease`",
		"weight price", "use `cost <n>` or `cost <placeholder>`",
		onOutage, onOutageRemedy,
		maxOvershoot, maxOvershootRemedy,
		dryRunSynonyms, "use `dry_run [<percent>]`",
		"comparison experiment candidate alternative canary second", "use `compare [<percent>] {`",
	)

	compareRemedies = remedies(
		"keys percent percentage fraction share sample", "use `compare <percent> {`",
		"token_bucket sliding_window sliding_window_log fixed_window", "use it as `algorithm <name>`",
		"rate rates requests events window per period", "use `limit <events>/<window>`, such as `limit 100/1m`",
		"burst", "use `limit <events>/<window> burst <n>`",
		"key tier endpoint cost match mode on_outage on_missing_key on_ambiguous_key ipv4_prefix ipv6_prefix max_keys "+
			"allow_key deny_key dry_run", "it is that of the zone: use `limit`, `algorithm` or both",
		maxOvershoot, maxOvershootRemedy,
	)

	endpointRemedies = remedies(
		"token_bucket sliding_window sliding_window_log fixed_window", "use it as `algorithm <name>`",
		"key on_missing_key on_ambiguous_key ipv4_prefix ipv6_prefix max_keys allow_key deny_key dry_run compare", "it belongs to "+
			"the whole zone: use it there, or another zone",
		"match host header path paths method methods", "use `endpoint <METHOD>,<METHOD> <path> {`, and `match` in the zone for "+
			"everything else",
		"burst", "use `limit <events>/<window> burst <n>`",
		"rate requests average period per events window", "use `limit <events>/<window>`, such as `limit 100/1m`",
		"endpoint", "an endpoint has no endpoints: use } to close this one first",
		"headers reject log_rejections log_key jitter allow deny", "it belongs to rate_limit itself: use it beside the zone",
		maxOvershoot, maxOvershootRemedy,
	)

	// A word that begins a line of a tier block is the name of a tier.
	tierRemedies = remedies(
		"key glob", "use `keys <glob...> <tier>`",
		"fallback * else otherwise", "use `default <tier>`",
		"tier", "use `<tier> <rate>` without the word tier",
		"limit rate events window", "use `<tier> <rate>`, such as `free 100/1m`",
		"burst", "use `<tier> <events>/<window> burst <n>`",
		"endpoint algorithm cost mode on_outage placeholder trusted", "it belongs to the zone or to one tier, not to all "+
			"tiers: use it in the zone, or in the block of a tier",
		maxOvershoot, maxOvershootRemedy,
	)

	// These are for the block of one tier.
	enforcementRemedies = remedies(maxOvershoot, maxOvershootRemedy)

	globalRemedies = remedies(
		"address addresses username password db master_name sentinel_password key_prefix timeout pool_size tls cluster sentinel "+
			"standalone", "it belongs to redis: use it as `redis {` with `address <host:port>` in it",
		"algorithm mode on_outage headers reject", "use it inside `defaults {`",
		"key limit endpoint cost match allow_key deny_key events window dry_run compare", "it belongs to a zone: use it inside "+
			"`zone <name> {`",
		"postgres postgresql", "use `rules postgres <url>`",
		"allow deny jitter log_key log_rejections", "it belongs to one site: use it in its rate_limit",
		"keys default", "it belongs to a zone: use it in its `tier <placeholder> {`",
		"storage distributed", "use `redis {` to share counts",
		"default_limit", "it belongs to a zone: use `limit` there",
		onOutage, onOutageRemedy,
		maxOvershoot, maxOvershootRemedy,
	)

	defaultsRemedies = remedies(
		"limit key cost tier endpoint match", "zones have no default of it: use it in each zone",
		"log_rejections log_key jitter allow deny", "use it in the rate_limit of each site",
		"burst", "use `limit <events>/<window> burst <n>` in each zone",
		maxOvershoot, maxOvershootRemedy,
	)

	redisRemedies = remedies(
		"url uri host hosts hostname server servers node nodes endpoint endpoints port sentinels", "use `address "+
			"<host:port...>`",
		"user acl_user", "use `username <name>`",
		"auth pass requirepass secret", "use `password <secret>`",
		"database", "use `db <n>`",
		"namespace", "use `key_prefix <prefix>`",
		"master service_name", "use `master_name <name>`, and `redis sentinel {`",
		"mode type cluster sentinel standalone", "use `redis standalone {`, `redis sentinel {` or `redis cluster {`",
		"dial_timeout read_timeout write_timeout connect_timeout", "use `timeout <duration>`",
		"connections max_connections max_active", "use `pool_size <n>`",
		"ssl cert key ca insecure_skip_verify server_name tls_enabled", "use `tls`, or `tls {` with `ca`, `server_name` or "+
			"`insecure_skip_verify` in it",
	)
)

const (
	onOutage       = "on_error on_failure fail_open fail_closed fault_tolerant"
	onOutageRemedy = "use `on_outage local | open | closed` in a zone or in `defaults`, for while Redis does not answer"
	dryRunSynonyms = "dryrun shadow report_only log_only"

	maxOvershoot       = "max_overshoot"
	maxOvershootRemedy = "leases never exceed the limit: remove max_overshoot"
)

// remedies returns a table of pairs: words, separated by spaces, and what to use instead of them.
func remedies(pairs ...string) map[string]string {
	table := make(map[string]string)
	for i := 0; i < len(pairs); i += 2 {
		for _, word := range strings.Fields(pairs[i]) {
			table[word] = pairs[i+1]
		}
	}
	return table
}
