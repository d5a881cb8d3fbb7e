# Ash. `make` alone lists the targets.

GO      ?= go
PKG     ?= ./...
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  = -s -w -X main.version=$(VERSION)
LINT     = $(GO) tool -modfile=.ci/lint/go.mod

# Everything but the race detector is built without a C compiler.
export CGO_ENABLED = 0

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: build ## Build and serve at http://localhost:8080 (or the next free port)
	@./ash serve $(ARGS)

.PHONY: build
build: ## Build the binary ./ash
	@[ -x ash ] || echo "Building Ash. The first build compiles SQLite and takes a few minutes; later ones take seconds."
	@$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o ash ./cmd/ash

# RACE=1 adds the race detector, which needs a C compiler. RUN, PKG and ARGS narrow it down.
# The race detector leaves out what it cannot see and what has nothing to race with, four fifths of its cost: SQLite and its libc are C
# translated to Go, in memory outside Go's heap; scrypt is one computation in one goroutine. SQLite's driver is watched.
unwatched = modernc.org/sqlite/lib modernc.org/libc/... golang.org/x/crypto/scrypt
watch = -race $(unwatched:%=-gcflags=%=-race=false)
.PHONY: test
test: ## Run the tests (RACE=1: with the race detector)
	@echo "Testing Ash. The first run compiles everything and takes a few minutes."
	@$(if $(RACE),CGO_ENABLED=1,) $(GO) test $(if $(RACE),$(watch),) -shuffle=on $(if $(COVER),-coverprofile=$(COVER) -coverpkg=./agent/...$(comma)./store/...,) -timeout 20m $(ARGS) $(PKG)

comma := ,

.PHONY: e2e
e2e: ## Run the browser tests (needs Chromium)
	@ASH_TEST_REQUIRE=chromium $(GO) test -count=1 -timeout 20m $(ARGS) ./cmd/ash/e2e/... ./views

.PHONY: bench
bench: ## Run the benchmarks behind docs/benchmarks.md
	@$(GO) test -run '^$$' -bench . -benchtime $(or $(BENCHTIME),1s) -timeout 60m $(ARGS) $(PKG)

.PHONY: generate
generate: node_modules ## Rebuild generated code, CSS, JS and icons (needs Node)
	@$(GO) tool templ generate -log-level error
	@npm run --silent build
	@$(GO) generate ./...

# Not npm ci: it refuses a lock file without every platform's optional packages, which not every registry has.
node_modules: package.json package-lock.json
	@npm install --no-save --silent --no-audit --no-fund && touch node_modules

.PHONY: fmt
fmt: ## Format Go and templ files
	@gofmt -w $$(git ls-files '*.go')
	@$(GO) tool templ fmt -log-level error views

.PHONY: lint
lint: ## Vet and lint (golangci-lint, pinned in .ci/lint/go.mod)
	@$(GO) vet ./...
	@$(LINT) golangci-lint run

.PHONY: clean
clean: ## Remove what building made
	@rm -rf ash dist coverage.out node_modules
