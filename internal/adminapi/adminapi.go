// Package adminapi has what the server of the admin API and its client, the command
// `caddy rate-limit`, both know: the answers, the defaults and maxima of requests, and the rules as
// YAML. openapi.json describes the whole API.
package adminapi

import _ "embed"

// OpenAPI is the description of the admin API.
//
//go:embed openapi.json
var OpenAPI []byte
