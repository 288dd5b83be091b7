# Everything works from a bare clone. Go modules come from the module proxy or, offline, from the
# module cache. tools/go.mod pins the versions of the linters, so that users of the plugin do not
# inherit their dependencies.

GO       ?= go
FUZZTIME ?= 60s
BENCHARGS ?=
# Whether staticcheck reads the tests, too.
LINTED_TESTS ?= true
# Flags of go run ./fleet. Without any it takes half an hour. One minute takes, for example,
# -only exact -window 1s -length 20s.
FLEETARGS ?=

needs_go := $(word 2,$(shell grep '^go ' go.mod))
modules  := . bench test/clients test/openapi test/page tools
linted   := $(filter-out tools,$(modules))
# What the tests of the admin API send and get, which make test records.
exchanges = $(CURDIR)/bin/exchanges
# Compilers and linters take a fifth less processor time with fewer garbage collections. The tests
# themselves have Go's default.
build lint vuln fuzz compiled alone unraced timed: export GOGC = 300
# The program that tests run. Each package would link its own otherwise.
alone unraced timed clients page: export FLEETLIMIT_CADDY = $(CURDIR)/bin/caddy
strict     = $(GO) run github.com/fleetlimit/fleetlimit/test/strict
# A busy machine needs longer than Go's 10 minutes for a package.
once       = -vet=off -count=1 -timeout 1h
flags      = $(once) -exec 'env -u GOGC'
# The race detector makes garbage collections dear, so there are fewer.
race       = $(once) -exec 'env GOGC=400' -race
# The race detector would sleep for a second at the end of each of its programs.
export GORACE = atexit_sleep_ms=20
# Tests that the race detector would disturb, as they count bytes or instants, and those that it slows
# tenfold and has nothing to find in, as one goroutine computes. Of seeded ones it watches a few seeds.
unraced   := Test(Memory|LoadLarge|LoadOf|Recall|SameAsMemory|LendAsSpecified|Tune)|Test[A-Za-z0-9_]*Alloc
seeded    := Test(LeaseModel|RandomFleets|RepliesInTime|LateReplies)
# Tests that nothing may run beside.
alone    := Load|RealFleet
# How many programs with these tests run at a time.
programs  ?= 1
computing  = $(sort $(dir $(shell grep -rlE --include='*_test.go' --exclude-dir=bench --exclude-dir=test '^func ($(unraced)|$(seeded))' .)))
# Packages that the race detector does not watch: their Caddy is a program of its own, or they have
# one goroutine.
unwatched := ./test/held ./test/fleet ./test/fault ./test/runbooks ./test/redistest ./test/pgtest ./test/deploy \
	./test/adapt ./test/docs ./limiter ./lua ./sim ./sim/traffic ./internal/caddyread/reach \
	./internal/caddyread/subdirective ./internal/key/keytemplate ./internal/operate/explain \
	./internal/operate/replay ./internal/request/tokenusage ./internal/text/glob \
	./internal/text/httpmethod ./internal/text/pathpattern ./internal/text/route ./internal/text/spelling
# Packages whose tests mostly wait. They begin first and run beside others.
slow      := ./test/integration ./test/attack ./redisconn ./limiter/redisstore ./rules/rulestore ./limiter/lease
watched    = $(slow) $(filter-out $(slow) $(unwatched) ./test/monitoring,$(patsubst $(CURDIR)%,.%,$(shell $(GO) list -f '{{.Dir}}' ./...)))
# Only our own packages are instrumented for fuzzing. Inputs are to explore them, and Caddy need not
# be compiled again.
instrumented = '$(shell $(GO) list -m)/...=-d=libfuzzer'
# The fuzz targets, as <directory>:<name>.
fuzzers = $(shell grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sed 's|/[^/]*:func |:|')

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: need-go ## Build bin/caddy: Caddy with this module
	$(GO) build -o bin/caddy ./cmd/caddy

run: build ## Serve Caddyfile.example on :8080
	bin/caddy run --config Caddyfile.example

test: build need-cc need-redis need-postgres need-prometheus need-chromium alone ## Run every test, most under the race detector; a skipped test fails
	@$(MAKE) --no-print-directory -j 2 unraced timed

alone: # these load a gateway, compare rates or tell when an alert fires, so nothing runs beside them
	$(strict) $(flags) -p 1 -run '^Test($(alone))' ./test/attack ./sim/fleet
	$(strict) $(flags) ./test/monitoring

unraced: # these only compute, so they take what time others leave
	nice $(strict) $(flags) -p $(programs) -run '^($(unraced)|$(seeded))' $(filter-out $(unwatched:=/),$(computing))

timed:
	$(strict) -must-run '$(unwatched)' $(flags) -p 4 -shuffle=on $(unwatched)
	FLEETLIMIT_EXCHANGES=$(exchanges) $(strict) -must-run '$(slow)' $(race) -p 4 -skip '^($(unraced)|TestRealFleet)' -shuffle=on $(watched)
	cd test/openapi && $(GO) test $(once) . -exchanges $(exchanges)
	cd test/page && $(strict) $(flags) -shuffle=on .

clients: build ## Talk to Caddy with clients that people use, check the dashboard; says so where those from npm cannot be had
	@unless=; test/clients/need-npm.sh || { [ $$? = 75 ] || exit 1; unless='-skip ^TestNode'; }; \
	cd test/clients && $(strict) $(flags) $$unless -shuffle=on . && \
	{ [ -z "$$unless" ] || echo "Not run: the tests of the clients from npm, TestNode*."; }

page: build need-redis need-chromium ## Drive the operator's page in Chromium, and take the pictures of docs/img
	cd test/page && $(GO) test $(once) . -screenshots $(CURDIR)/docs/img

openapi: need-go need-redis ## Run the tests of the admin API, and compare what it answers with openapi.json
	cd test/openapi && $(GO) test $(once) .

upstreams: need-go ## Ask real upstreams which names and values they read as a key, and how they read paths
	test/upstreams/need-parsers.sh
	@mkdir -p bin
	for table in names values; do \
		$(GO) run ./test/upstreams $$table >bin/upstream_$$table.txt || exit 1; \
		mv bin/upstream_$$table.txt internal/key/keytemplate/testdata/upstream_$$table.txt; \
	done
	$(GO) test -count=1 -run TestUpstream ./internal/key/keytemplate
	$(GO) run ./test/upstreams/paths >bin/upstream_paths.txt
	mv bin/upstream_paths.txt internal/text/pathreading/testdata/upstream_paths.txt
	$(GO) test -count=1 -run ReadingsOfUpstreams ./internal/text/pathreading

verify: need-go need-cc need-redis need-postgres need-prometheus need-chromium build ## Everything CI runs
	@$(MAKE) --no-print-directory -j 2 alone idle
	@$(MAKE) --no-print-directory -j 2 computed waiting

# What computes runs beside what waits, and gives way to it. The linters and the compiler may run beside
# what runs alone, as they have the processors only while nothing else wants them.
idle:
	@$(if $(shell command -v chrt),chrt -i 0,nice -n 19) $(MAKE) --no-print-directory lint LINTED_TESTS=false vuln tidy compiled

compiled: need-go need-cc
	$(GO) build -race ./...

computed:
	@for target in "unraced programs=2" bench-test; do $(MAKE) --no-print-directory $$target || exit 1; done

waiting:
	@for target in timed clients; do $(MAKE) --no-print-directory $$target || exit 1; done

# In one workspace each linter reads Caddy once, not once for each module. staticcheck takes seven times as
# long with the tests, so CI leaves them out.
lint: need-go ## Check the format; run go vet (so tests need not), staticcheck and deadcode in every module, and luacheck
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "not formatted, use 'make fmt': $$unformatted"; exit 1; }
	@set -e; work=$$(mktemp -d); trap 'rm -r "$$work"' EXIT; packages="$(linted:%=./%/...)"; \
	tool() { $(GO) tool -modfile=tools/go.mod -n $$1; }; staticcheck=$$(tool staticcheck); deadcode=$$(tool deadcode); \
	export GOWORK=$$work/go.work; $(GO) work init $(linted); \
	echo "go vet, staticcheck, deadcode: $(linted)"; \
	$(GO) vet $$packages; $$staticcheck -tests=$(LINTED_TESTS) $$packages; dead=$$($$deadcode -test $$packages); \
	dead=$$(echo "$$dead" | grep -v 'unreachable func: Example' || true); \
	[ -z "$$dead" ] || { echo "nothing calls these, delete them:"; echo "$$dead"; exit 1; }
	lua/lint.sh

vuln: need-go ## Look for known vulnerabilities; reports when their database cannot be reached
	@log=$$(mktemp); trap 'rm "$$log"' EXIT; \
	if $(GO) tool -modfile=tools/go.mod govulncheck ./... >"$$log" 2>&1; then echo "govulncheck: $$(tail -n 1 "$$log")"; \
	elif grep -q 'fetching vulnerabilities' "$$log"; then echo "Not checked for vulnerabilities: $$(tail -n 1 "$$log")"; \
	else cat "$$log"; exit 1; fi

# The time may be over while a worker has just begun. Go reports that as a failure, so it is tried again.
fuzz: need-go ## Run each fuzz target for FUZZTIME, by default one minute; make test tries their known inputs
	@[ -n "$(fuzzers)" ] || { echo "no fuzz targets were found"; exit 1; }
	@set -e; built=$$(mktemp -d); trap 'rm -r "$$built"' EXIT; \
	for f in $(fuzzers); do dir=$${f%:*} name=$${f#*:} binary=$$built/$$(echo $${f%:*} | tr ./ __); \
		echo "$(GO) test -run '^$$' -fuzz '^$$name$$' -fuzztime $(FUZZTIME) $$dir"; \
		[ -e $$binary ] || $(GO) test -c -ldflags='-s -w' -gcflags=$(instrumented) -o $$binary $$dir; \
		run() { (cd $$dir && $$binary -test.run '^$$' -test.fuzz "^$$name\$$" -test.fuzztime $(FUZZTIME) \
			-test.fuzzminimizetime 20x -test.fuzzcachedir "$$($(GO) env GOCACHE)/fuzz/$$($(GO) list .)") >$$built/log 2>&1; }; \
		run || { grep -q '^ *context deadline exceeded' $$built/log && ! grep -q 'Failing input' $$built/log && run; } || \
			{ cat $$built/log; exit 1; }; \
		cat $$built/log; \
	done

fuzz-http: need-go ## Send two million random raw requests to a whole Caddy, in a quarter of an hour
	$(GO) test -count=1 -timeout 2h -run 'TestRawRequests$$' -v ./test/attack -attack.requests 2000000

fault: need-go need-redis ## Inject every fault of Redis into fleets, with reloads, in some minutes
	$(GO) test -count=1 -timeout 1h -v ./test/fault -fault.matrix

model: need-go need-redis ## Play 10,000 random fleets that lease, and 1,000 histories of Redis, in some minutes
	$(GO) test -count=1 -timeout 1h -run 'TestLeaseModel$$' ./limiter/leasetest -model.runs 10000
	$(GO) test -count=1 -timeout 1h -run 'TestLendAsSpecified$$' ./limiter/redisstore -lend.runs 1000

tune: need-go ## Simulate what leases save and cost, for each algorithm and load
	$(GO) test -count=1 -run Tune -v ./limiter/leasetest -tune.all

bench: build need-redis need-postgres ## Measure against the baselines of docs/benchmarks.md, in an hour
	cd bench && $(GO) test -run '^$$' -bench . -benchmem .
	cd bench && $(GO) run ./redis
	cd bench && $(GO) run ./simulate
	cd bench && $(GO) run ./rules
	cd bench && $(GO) build -o ../bin/peer ./peer
	cd bench && $(GO) run ./fleet -peer ../bin/peer $(FLEETARGS)
	$(GO) build -o bin/floor ./test/floor
	cd bench && $(GO) run ./gateway -peer ../bin/peer -floor ../bin/floor $(BENCHARGS)
	cd bench && $(GO) run ./viewers
	cd bench && $(GO) run ./charge

size: need-go ## Measure what this module adds to the binary of Caddy
	cd bench && $(GO) run ./size

fmt: need-go ## Format the code, and apply go fix
	gofmt -w .
	$(GO) fix ./...

clean: ## Remove what was built
	rm -rf bin

bench-test: need-go # what measures is tested; nothing is measured
	cd bench && $(GO) test -vet=off ./...

bench-short: build need-redis need-postgres bench-test ## Measure a little of each, in a minute
	cd bench && $(GO) run ./fleet -short && $(GO) run ./simulate -short && $(GO) run ./rules -short

tidy: need-go
	@set -e; for m in $(modules); do echo "$(GO) -C $$m mod tidy -diff"; $(GO) -C $$m mod tidy -diff; done

need-go:
	@command -v $(GO) >/dev/null || { \
		echo "Go is not installed: use Go $(needs_go) or newer from https://go.dev/dl/."; exit 1; }
	@have=$$($(GO) env GOVERSION | sed 's/^go//; s/[ -].*//'); \
	[ "$$(printf '%s\n' $(needs_go) "$$have" | sort -V | head -n 1)" = $(needs_go) ] || { \
		echo "Go $$have is too old: use 'go env -w GOTOOLCHAIN=auto', or get Go $(needs_go) from https://go.dev/dl/."; exit 1; }

need-cc:
	@cc=$$($(GO) env CC); command -v "$${cc%% *}" >/dev/null || { \
		echo "The race detector needs a C compiler ($$cc): use 'apt-get install gcc libc6-dev'."; exit 1; }
	@[ "$$($(GO) env CGO_ENABLED)" = 1 ] || { \
		echo "The race detector needs cgo: use 'CGO_ENABLED=1 make $(MAKECMDGOALS)'."; exit 1; }

need-redis:
	@test/redistest/need-redis.sh

need-postgres:
	@test/pgtest/need-postgres.sh

need-prometheus:
	@test/monitoring/need-prometheus.sh

need-chromium:
	@test/page/need-chromium.sh

.DEFAULT_GOAL := help
.PHONY: help build run test alone unraced timed clients page openapi upstreams verify idle compiled computed waiting lint vuln fuzz fuzz-http fault model tune bench size fmt clean bench-test bench-short tidy need-go need-cc need-redis need-postgres need-prometheus need-chromium
