package command

import "regexp"

// remedies has the phrases in errors of the admin API that name requests, and phrases that name
// commands in their place.
var remedies = []struct {
	request *regexp.Regexp
	command string
}{
	{regexp.MustCompile(`use GET /rate_limit/(override|tier|access|%)s? to see which there are`), `use caddy rate-limit $1 list`},
	{regexp.MustCompile(`use PATCH /rate_limit/(override|tier|access|%)s?/(\S+) to change it`), `use caddy rate-limit $1 change $2`},
	{regexp.MustCompile(`, or DELETE it first`), `, or remove it first`},
	{regexp.MustCompile(`use DELETE /rate_limit/emergency\?all_nodes=true`), `use caddy rate-limit emergency off --all-nodes`},
	{regexp.MustCompile(`use DELETE to end an emergency`), `use caddy rate-limit emergency off`},
	{regexp.MustCompile(`by another POST`), `by another caddy rate-limit emergency on`},
	{regexp.MustCompile(`If-Match (has|is) `), `--if-match $1 `},
	{regexp.MustCompile(`use the ETag of what you have read`), `use the version that caddy rate-limit rules get shows`},
	{regexp.MustCompile(`use If-Match with the ETag of GET /rate_limit/rules`),
		`use --if-match with the version that caddy rate-limit rules get shows`},
	{regexp.MustCompile(`use the ETag of what is in force now, after you have looked at it`),
		`use --if-match with the version in force, after you have looked at it with caddy rate-limit rules get`},
	{regexp.MustCompile(`use GET /rate_limit/rules/versions to see which there are`), `use caddy rate-limit rules history`},
	{regexp.MustCompile(`use GET /rate_limit/rules to see`), `use caddy rate-limit rules get to see`},
	{regexp.MustCompile(`use POST /rate_limit/zones/(\S+)/inspect`), `use caddy rate-limit inspect $1`},
	{regexp.MustCompile(`GET /rate_limit/health/ready to see why`), `caddy rate-limit status to see why`},
	{regexp.MustCompile(`key_stored is not one .* use what GET /rate_limit/zones/\{zone\}/top shows`),
		`--stored is with a key that keys of the zone do not have: use what caddy rate-limit top shows`},
	{regexp.MustCompile(`"limit": "([^"]+)" or "multiplier": (\d+)`), `--limit $1 or --multiplier $2`},
	{regexp.MustCompile(`"missing": true`), `--missing`},
	{regexp.MustCompile(`without all_nodes`), `without --all-nodes`},
	// The body is one that a command has made, or a file of rules.
	{regexp.MustCompile(`^the body is not what is expected: (.*)\. An example is \{.*\}$`), `$1`},
	{regexp.MustCompile(`^(expires_at: .* use an instant such as \S+)$`), `$1, or --expires-in 24h`},
}

// asCommands returns what the admin API says, with commands and flags in place of requests.
func asCommands(message string) string {
	for _, r := range remedies {
		message = r.request.ReplaceAllString(message, r.command)
	}
	return message
}
