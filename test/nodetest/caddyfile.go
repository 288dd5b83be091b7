package nodetest

import "strings"

// InRedis returns the global option of nodes that count in the Redis at an address, with more lines for the
// block redis.
func InRedis(addr string, settings ...string) string {
	return "redis {\n\taddress " + addr + "\n\t" + strings.Join(settings, "\n\t") + "\n}"
}

// UserSite returns a site whose zone user counts by API key. More lines for the zone may follow the
// limit.
func UserSite(limit string) string {
	return "\trate_limit {\n\t\tzone user {\n\t\t\tkey {header.X-Api-Key}\n\t\t\tlimit " + limit + "\n\t\t}\n\t}"
}
