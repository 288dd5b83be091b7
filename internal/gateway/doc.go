// Package gateway is the running process: the app and the handlers of a configuration from
// Provision to Cleanup, what outlives them, and what the admin API asks of them. The root package
// gives them to Caddy as modules.
//
//	handler.go    a handler: how it is provisioned, and one request
//	app.go        the app: what the handlers of a configuration share; appzone.go has zones that are
//	              defined once, in the app
//	modules.go    the modules of Caddy behind which apps and handlers stand
//	routes.go     what the routes around the handlers show about zones and addresses;
//	              unreached.go finds handlers that requests do not reach, and rewritten.go zones
//	              whose paths a handler before them rewrites
//	rules.go      the rules in force
//	plan.go       what a reload would change, and what it has changed; planexpand.go, which
//	              placeholders of the process a plan may expand
//	explain.go    what would happen to a request
//	adminapi.go   what the admin API needs of the process and of the running configuration
//	drain.go      what happens when Caddy begins to shut down
//	health.go     whether the node is healthy
package gateway
