package test

// A floor is a set of packages that may import each other, and the packages of lower floors.
type floor struct {
	packages []string
	reason   string // why the packages import nothing of a higher floor
}

// floors has the floors from top to bottom.
var floors = []floor{
	{[]string{module, module + "/cmd/..."}, "the root package is Caddy's face"},
	{[]string{module + "/internal/gateway"}, "the running process joins all parts, and Caddy calls it by its modules"},
	{[]string{module + "/internal/operate/..."}, "people ask what requests and nodes do, and neither waits for them"},
	{[]string{module + "/internal/request/..."}, "a request is decided by what nodes share, and leaves records"},
	{[]string{module + "/internal/observe/..."}, "records know what they are told, and not who reads them"},
	{[]string{module + "/internal/fleet/..."}, "nodes share counts and rules, whatever the requests were"},
	{[]string{module + "/internal/api"}, "requests and answers are data: every part may make them, and none serves them"},
	{[]string{module + "/config"}, "what operators write is checked before anything runs"},
	{[]string{module + "/rules/..."}, "rules are documents, which refer to zones by name"},
	{[]string{module + "/internal/key/..."}, "a key depends on a request alone"},
	{[]string{module + "/internal/caddyread/..."}, "what Caddy has depends on nothing of ours but texts"},
	{[]string{module + "/internal/text/..."}, "texts are read the same wherever they stand"},
	{[]string{module + "/sim/..."}, "the simulator needs the core alone"},
	{[]string{module + "/limiter/...", module + "/lua"}, "the core: the scripts are its algorithms in Redis"},
	{[]string{module + "/redisconn"}, "connections know no limits"},
}

// policy says which packages may import which. It is the architecture: do not change it to fix a
// build, but change the design first.
//
// A pattern that ends in /... also stands for the packages below. A package obeys all rules that
// match it.
var policy = []struct {
	packages string
	except   []string // packages that the rule does not apply to
	allow    []string // if not nil, all that may be imported besides the standard library
	forbid   []string
	reason   string
}{
	{
		packages: module + "/limiter",
		allow:    []string{},
		reason:   "the core is arithmetic: anyone can use and test it without the rest",
	}, {
		packages: module + "/limiter/...",
		except:   []string{module + "/limiter/redisstore"},
		allow:    []string{module + "/limiter/...", module + "/limiter/internal/keyed"},
		reason:   "stores need the core alone, so that each of them can be used without Caddy and without Redis",
	}, {
		packages: module + "/limiter/redisstore",
		allow: []string{
			module + "/limiter", module + "/limiter/concurrency", module + "/lua", module + "/redisconn",
			"github.com/redis/go-redis/v9",
		},
		reason: "the store on Redis joins the core, the scripts and the connections, and nothing else does",
	}, {
		packages: module + "/limiter/internal/keyed",
		allow:    []string{},
		reason:   "the table is unsafe code: it must be testable without limits and stores",
	}, {
		packages: module + "/internal/observe/recent", allow: []string{}, reason: "it is a sample of numbers",
	}, {
		packages: module + "/internal/request/pace",
		allow:    []string{"github.com/caddyserver/caddy/v2/modules/caddyhttp"},
		reason:   "how slow a client may be depends on no limit",
	}, {
		packages: module + "/internal/observe/adaptive",
		allow:    []string{"github.com/failsafe-go/failsafe-go/adaptivelimiter"},
		reason:   "what an upstream can take is learned from latencies alone",
	}, {
		packages: module + "/internal/observe/topkeys",
		allow:    []string{},
		reason:   "it is an algorithm",
	}, {
		packages: module + "/internal/observe/journal",
		allow:    []string{module + "/limiter"},
		reason:   "it remembers what it is told, and knows neither requests nor operators",
	}, {
		packages: module + "/lua",
		allow:    []string{module + "/limiter"},
		reason:   "scripts are text: other packages run them",
	}, {
		packages: module + "/redisconn",
		allow:    []string{"github.com/redis/go-redis/v9/...", "github.com/sony/gobreaker/v2"},
		reason:   "connections know no limits: a reader needs only what the package itself promises",
	}, {
		packages: module + "/internal/fleet/membership",
		allow:    []string{module + "/lua", module + "/redisconn", "github.com/redis/go-redis/v9"},
		reason:   "nodes exchange who is alive and what they define, and bytes that others ask for, but no counts",
	}, {
		packages: module + "/rules",
		allow: []string{
			module + "/internal/key/ipset", module + "/internal/text/spelling", module + "/internal/text/strictjson",
		},
		reason: "the model is what operators write: it must be testable without Caddy, Redis and limits",
	}, {
		packages: module + "/rules/rulestore",
		allow:    []string{module + "/lua", module + "/redisconn", module + "/rules", "github.com/jackc/pgx/v5/..."},
		reason:   "a store keeps versions and does not know what they mean; Caddy's storage is an interface to it",
	}, {
		packages: module + "/...",
		except: []string{
			module, module + "/config", module + "/internal/...", module + "/cmd/...", module + "/test/...",
		},
		forbid: []string{
			"github.com/caddyserver/...", "github.com/prometheus/...", "go.uber.org/zap/...", module, module + "/config",
		},
		reason: "only the root package and its own parts know Caddy, its logger, its metrics and the configuration",
	}, {
		packages: module + "/config",
		allow: []string{
			module + "/limiter", module + "/internal/text/httpmethod", module + "/internal/key/ipset",
			module + "/internal/key/keytemplate", module + "/internal/text/pathpattern",
			module + "/internal/text/route", module + "/internal/text/spelling", module + "/internal/text/strictjson",
			module + "/internal/caddyread/subdirective", "github.com/caddyserver/...",
		},
		reason: "what operators write is texts and numbers within bounds: it is checked without a store, and the root compiles it",
	}, {
		packages: module + "/internal/...",
		except:   []string{module + "/internal/gateway", module + "/internal/request/report"},
		forbid:   []string{"github.com/prometheus/...", "go.uber.org/zap/...", "go.opentelemetry.io/..."},
		reason:   "a part of the gateway returns what happened, and one of them shows it to operators",
	}, {
		packages: module + "/internal/request/report",
		allow: []string{
			module + "/config", module + "/internal/api", module + "/internal/observe/decisionlog",
			module + "/internal/key/ipset", module + "/internal/key/keytemplate",
			module + "/internal/caddyread/placeholder", module + "/internal/request/response",
			module + "/internal/fleet/rulewatch", module + "/internal/fleet/stores", module + "/internal/observe/tail",
			module + "/internal/observe/usage", module + "/limiter", module + "/internal/fleet/membership",
			module + "/redisconn", module + "/rules", "github.com/caddyserver/...", "github.com/prometheus/...",
			"go.uber.org/zap/...", "go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/trace",
		},
		reason: "operators see what happens in stores and to requests; what is reported decides nothing",
	}, {
		packages: module + "/internal/observe/decisionlog",
		allow: []string{
			module + "/config", module + "/internal/api", module + "/internal/fleet/pool", module + "/rules/rulestore",
		},
		reason: "what is recorded of a decision is what the admin API says of it; the table is beside the rules",
	}, {
		packages: module + "/internal/fleet/rulewatch",
		allow: []string{
			module + "/config", module + "/internal/fleet/pool", module + "/internal/fleet/stores",
			module + "/redisconn", module + "/rules", module + "/rules/rulestore", "github.com/caddyserver/certmagic",
		},
		reason: "where rules are kept does not depend on what they mean; rules in Redis are where its counts are",
	}, {
		packages: module + "/internal/fleet/stores",
		allow: []string{
			module + "/config", module + "/internal/api", module + "/internal/fleet/pool",
			module + "/internal/fleet/reservation", module + "/limiter/...", module + "/internal/fleet/membership",
			module + "/redisconn",
		},
		reason: "where the counts are depends on no zone; whether they can be reached is said in the words of the admin API",
	}, {
		packages: module + "/internal/operate/adminapi",
		allow: []string{
			module + "/internal/api", module + "/internal/fleet/stores", module + "/internal/observe/tail",
			module + "/internal/observe/topkeys", module + "/internal/observe/usage",
			module + "/internal/operate/inspect", module + "/internal/operate/replay",
			module + "/internal/request/emergency", module + "/internal/request/zone", module + "/internal/text/spelling",
			module + "/internal/text/strictjson", module + "/limiter", module + "/rules",
			"github.com/caddyserver/caddy/v2", "go.yaml.in/yaml/v3",
		},
		reason: "the admin API asks and changes what a process has; it serves no request of a site",
	}, {
		packages: module + "/internal/api",
		allow:    []string{module + "/limiter", module + "/rules"},
		reason:   "requests and answers are data: every part may make them, and none serves them",
	}, {
		packages: module + "/internal/observe/tail",
		allow:    []string{module + "/internal/api"},
		reason:   "whoever hands out decisions knows nothing of who follows them",
	}, {
		packages: module + "/internal/operate/live",
		allow: []string{
			module + "/internal/operate/adminapi", module + "/internal/api", module + "/internal/observe/usage",
			module + "/limiter",
		},
		reason: "viewers see what the admin API knows, and counters; what is seen decides nothing",
	}, {
		packages: module + "/internal/operate/page",
		allow: []string{
			module + "/internal/operate/adminapi", module + "/internal/operate/live", "github.com/caddyserver/caddy/v2",
		},
		reason: "the page is files, and a client of the admin API",
	}, {
		packages: module + "/internal/operate/command",
		allow: []string{
			module + "/internal/operate/adminapi", module + "/internal/api", module + "/internal/operate/replay",
			module + "/internal/operate/page", module + "/rules", module + "/config", module + "/limiter",
			module + "/sim", module + "/sim/fleet", module + "/sim/logs", module + "/sim/traffic",
			"github.com/caddyserver/...", "github.com/spf13/cobra", "github.com/spf13/pflag",
		},
		reason: "the command is a client: it knows the admin API, the simulator, and Caddy's commands, which are those of cobra",
	}, {
		packages: module + "/internal/operate/replay",
		allow: []string{
			module + "/config", module + "/internal/api", module + "/internal/caddyread/placeholder",
			module + "/internal/observe/recent", module + "/internal/observe/usage",
			module + "/internal/operate/inspect", module + "/internal/request/response",
			module + "/internal/request/zone", module + "/limiter", module + "/rules", module + "/sim", module + "/sim/logs", "github.com/caddyserver/...",
		},
		reason: "requests that are over are read by the code that reads those of clients, and change nothing",
	}, {
		packages: module + "/sim",
		allow:    []string{module + "/limiter"},
		reason:   "the simulator decides by the calculators of the core, and neither reads files nor a clock",
	}, {
		packages: module + "/sim/fleet",
		allow:    []string{module + "/limiter", module + "/limiter/lease", module + "/limiter/leasetest", module + "/sim"},
		reason:   "a simulated fleet is the leases that gateways use, on the specification of a store",
	}, {
		packages: module + "/sim/logs",
		allow: []string{
			module + "/limiter", module + "/sim", "github.com/buger/jsonparser", "github.com/klauspost/compress/...",
		},
		reason: "logs are texts: what reads them needs no Caddy",
	}, {
		packages: module + "/sim/traffic", allow: []string{module + "/limiter", module + "/sim"}, reason: "requests are made up from a seed alone",
	}, {
		packages: module + "/internal/request/emergency",
		allow: []string{
			module + "/config", module + "/internal/api", module + "/internal/key/keytemplate",
			module + "/internal/request/response", module + "/internal/observe/usage", module + "/limiter",
			module + "/limiter/memstore", module + "/rules", "github.com/caddyserver/caddy/v2",
		},
		reason: "the limit in front of everything works without zones and stores",
	}, {
		packages: module + "/internal/text/glob",
		allow:    []string{},
		reason:   "matching text needs only the standard library",
	}, {
		packages: module + "/internal/text/httpmethod",
		allow:    []string{module + "/internal/text/spelling"},
		reason:   "the methods of HTTP depend on nothing here",
	}, {
		packages: module + "/internal/key/ipset",
		allow:    []string{},
		reason:   "a set of addresses needs only the standard library",
	}, {
		packages: module + "/internal/key/keytemplate",
		allow: []string{
			module + "/internal/text/httpmethod", module + "/internal/key/ipset",
			module + "/internal/caddyread/placeholder", "github.com/caddyserver/...",
		},
		reason: "a key depends on the request and Caddy's placeholders, but on no limit",
	}, {
		packages: module + "/internal/caddyread/placeholder",
		allow:    []string{"github.com/caddyserver/...", "github.com/agnivade/levenshtein"},
		reason:   "which placeholders exist depends on Caddy alone",
	}, {
		packages: module + "/internal/text/pathpattern",
		allow:    []string{module + "/internal/text/glob", module + "/internal/text/pathreading"},
		reason:   "what a pattern matches depends on no endpoint",
	}, {
		packages: module + "/internal/caddyread/reach",
		allow:    []string{module + "/internal/text/pathpattern", "github.com/caddyserver/caddy/v2/..."},
		reason:   "which handlers requests come to depends on Caddy's routes and matchers alone",
	}, {
		packages: module + "/internal/operate/inspect",
		allow: []string{
			module + "/config", module + "/internal/api", module + "/internal/caddyread/reach",
			module + "/internal/key/ipset", module + "/internal/key/keytemplate",
			module + "/internal/observe/adaptive", module + "/internal/observe/journal",
			module + "/internal/observe/topkeys", module + "/internal/observe/usage",
			module + "/internal/request/response", module + "/internal/request/zone", module + "/limiter",
			module + "/limiter/concurrency", module + "/rules", "github.com/caddyserver/caddy/v2/...",
		},
		reason: "what operators see of a zone is a selection of what it has compiled, with counts of a store that it is handed",
	}, {
		packages: module + "/internal/operate/explain",
		allow: []string{
			module + "/internal/api", module + "/internal/caddyread/placeholder",
			module + "/internal/caddyread/reach",
			"github.com/caddyserver/caddy/v2/...",
		},
		reason: "what happens to a request is told by the routes and by the handlers, behind an interface",
	}, {
		packages: module + "/internal/text/route",
		allow: []string{
			module + "/internal/text/httpmethod", module + "/internal/text/pathpattern", "github.com/caddyserver/...",
		},
		reason: "which requests go to an endpoint depends on no limit",
	}, {
		packages: module + "/internal/fleet/pool",
		allow:    []string{"github.com/caddyserver/caddy/v2"},
		reason:   "how long a value lives depends on no value",
	}, {
		packages: module + "/internal/fleet/reservation",
		allow:    []string{},
		reason:   "who waits for what depends on no limit and no store",
	}, {
		packages: module + "/internal/request/tokenusage",
		allow:    []string{},
		reason:   "a body is bytes: what reads it needs neither Caddy nor limits, and can be fuzzed",
	}, {
		packages: module + "/internal/text/spelling",
		allow:    []string{"github.com/agnivade/levenshtein"},
		reason:   "comparing words depends on no setting",
	}, {
		packages: module + "/internal/text/strictjson",
		allow:    []string{module + "/internal/text/spelling"},
		reason:   "reading JSON depends on no setting",
	}, {
		packages: module + "/internal/caddyread/subdirective",
		allow:    []string{module + "/internal/text/spelling", "github.com/caddyserver/..."},
		reason:   "the grammar of a line does not depend on what the line configures",
	}, {
		packages: module + "/internal/request/response",
		allow: []string{
			module + "/config", module + "/internal/key/keytemplate", module + "/internal/caddyread/placeholder",
			module + "/internal/observe/usage", module + "/limiter", module + "/limiter/concurrency",
			"github.com/caddyserver/...", "github.com/dunglas/httpsfv",
		},
		reason: "what a response says depends on what was decided, and on no zone and no store",
	}, {
		packages: module + "/internal/observe/usage",
		allow: []string{
			module + "/internal/fleet/pool", module + "/internal/observe/adaptive",
			module + "/internal/observe/journal", module + "/internal/observe/recent",
			module + "/internal/observe/topkeys", module + "/limiter",
		},
		reason: "counters, and what a zone has learned of its upstream, outlive configurations: they refer to nothing of one",
	}, {
		packages: module + "/internal/request/evaluate",
		allow: []string{
			module + "/config", module + "/internal/observe/adaptive", module + "/internal/api",
			module + "/internal/request/emergency", module + "/internal/key/ipset",
			module + "/internal/observe/journal", module + "/internal/key/keytemplate",
			module + "/internal/request/pace", module + "/internal/observe/recent", module + "/internal/request/report",
			module + "/internal/fleet/reservation", module + "/internal/request/response",
			module + "/internal/request/tokenusage", module + "/internal/observe/topkeys",
			module + "/internal/observe/usage", module + "/internal/request/zone", module + "/limiter",
			module + "/limiter/concurrency", "github.com/caddyserver/caddy/v2/...",
		},
		reason: "a request is decided by zones and a store that it is handed; reports are the only way out",
	}, {
		packages: module + "/internal/request/zone",
		allow: []string{
			module + "/config", module + "/internal/api", module + "/internal/caddyread/placeholder",
			module + "/internal/caddyread/reach", module + "/internal/key/ipset", module + "/internal/key/keytemplate",
			module + "/internal/observe/adaptive", module + "/internal/observe/usage",
			module + "/internal/request/response", module + "/internal/text/glob", module + "/internal/text/httpmethod",
			module + "/internal/text/pathpattern", module + "/internal/text/pathreading",
			module + "/internal/text/route", module + "/limiter", module + "/limiter/concurrency", module + "/rules",
			"github.com/caddyserver/caddy/v2/...",
		},
		reason: "what a zone says about a request depends on its settings and the rules, and on no store and no log",
	}, {
		packages: module,
		allow: []string{
			module + "/config", module + "/internal/caddyread/subdirective", module + "/internal/gateway",
			module + "/internal/operate/adminapi", module + "/internal/operate/command", module + "/internal/operate/page",
			module + "/internal/text/spelling", "github.com/caddyserver/...",
		},
		reason: "the root package says which modules there are, and the gateway does their work",
	}, {
		packages: module + "/internal/gateway",
		allow: []string{
			module + "/config", module + "/internal/...", module + "/limiter/...", module + "/redisconn",
			module + "/rules/...", "github.com/caddyserver/...", "github.com/prometheus/...", "go.uber.org/zap/...",
		},
		reason: "every Caddy that has this module contains all that the gateway imports",
	}, {
		packages: module + "/internal/gateway",
		forbid: []string{
			module + "/cmd/...", module + "/test/...", module + "/limiter/storetest", module + "/limiter/leasetest",
			module + "/rules/rulestoretest",
		},
		reason: "what only commands and tests need does not belong into every Caddy that has this module",
	},
}
