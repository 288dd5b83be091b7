// Package api has the requests and answers of the admin API: their types, and the defaults and maxima of
// requests. Package adminapi serves them, and the command `caddy rate-limit` is a client.
package api
