# Everything a contributor or a build machine does. `make` lists it.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
# Packages to test, and flags for go test. Tests wait more than they compute, so
# more run at a time than there are cores: make test PKG=./store/... TESTFLAGS=-v
PKG ?= ./...
TESTFLAGS ?= -timeout 20m -parallel 8
# The race detector, where there is a C compiler, which it needs: make test RACE=
# does without. Asked for late, since `services` may install the compiler.
RACE ?= $(if $(shell command -v gcc || command -v clang),-race)

# Modules within this one, without the linters', which holds no package.
NESTED := $(filter-out tools,$(patsubst %/go.mod,%,$(wildcard bench/go.mod tools/*/go.mod examples/*/go.mod)))

# Those of them that are examples, whose tests run with everything else.
EXAMPLES := $(filter examples/%,$(NESTED))

# One Temporal server for all test processes, built before their timeouts begin.
WITH_SERVER := $(if $(wildcard internal/devserver/run),$(GO) run ./internal/devserver/run)

LINTER := bin/golangci-lint

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: test
test: services checks bench-check ## Check the format, vet, check the layers, run all tests
	@scripts/timed.sh "tests" $(WITH_SERVER) $(GO) test $(RACE) $(TESTFLAGS) $(PKG)
	@$(if $(filter ./...,$(PKG)),$(MAKE) --no-print-directory test-examples)

# Without the race detector: vet has compiled everything for that, and the
# examples' own goroutines are few.
.PHONY: test-examples
test-examples: services ## Run the tests of examples that are modules of their own
	@for module in $(EXAMPLES); do \
		scripts/timed.sh "tests of $$module" $(WITH_SERVER) $(GO) -C "$$module" test -timeout 10m ./...; \
	done

# The newest release of Temporal's SDK, which this module supports beside the one
# that it requires.
NEWEST_SDK ?= v1.51.0
# NEWEST_PKG=. runs the tests on a real server too, which takes some minutes.
NEWEST_PKG ?= ./activity/... ./workflows/... ./worker/...

.PHONY: test-newest-sdk
test-newest-sdk: ## Run the tests of both halves and the plugin with the newest SDK
	@mkdir -p bin && cp go.mod bin/newest.mod && cp go.sum bin/newest.sum
	@$(GO) get -modfile=bin/newest.mod go.temporal.io/sdk@$(NEWEST_SDK) 2>/dev/null
	@scripts/timed.sh "tests with SDK $(NEWEST_SDK)" $(GO) test -modfile=bin/newest.mod -mod=mod $(TESTFLAGS) $(NEWEST_PKG)

.PHONY: checks
checks: fmt-check vet layers

.PHONY: fmt-check
fmt-check: ## Fail if a file is not formatted
	@unformatted="$$(gofmt -l .)"; \
	if [ -n "$$unformatted" ]; then echo "gofmt -w these files:"; echo "$$unformatted"; exit 1; fi

.PHONY: vet
vet: ## Run go vet in every module
	@scripts/timed.sh "vet (the first time compiles everything)" $(GO) vet ./...
	@for module in $(NESTED); do \
		scripts/timed.sh "vet $$module (the first time takes some minutes)" $(GO) -C "$$module" vet ./...; \
	done

.PHONY: layers
layers: ## Check the rules about imports, files and spelling
	$(GO) test ./internal/layers/...

.PHONY: lint
lint: $(LINTER) ## Run golangci-lint (the first build takes about 7 minutes)
	$(LINTER) run ./...
	@for module in $(NESTED); do (cd "$$module" && $(CURDIR)/$(LINTER) run --config $(CURDIR)/.golangci.yml ./...); done

$(LINTER): tools/go.mod tools/go.sum
	@scripts/timed.sh "build of golangci-lint (about 7 minutes the first time)" \
		$(GO) -C tools build -o ../$(LINTER) github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $(LINTER)

.PHONY: services
services: ## Install the servers that tests need, or say how
	@scripts/services.sh

.PHONY: example
example: ## Run the example, against servers of its own
	$(GO) run ./examples/payment

# Flags for the benchmarks: make bench BENCHFLAGS="-only cycles -cpuprofile cpu.prof"
BENCHFLAGS ?=

.PHONY: bench
bench: services ## Measure this library beside others, into docs/performance.md (20 minutes)
	@scripts/timed.sh "benchmarks (leave the machine alone)" \
		$(GO) -C bench run . -out results.json -docs ../docs $(BENCHFLAGS)

.PHONY: bench-quick
bench-quick: services ## The same in two minutes, printed only; missing a target is no failure
	@mkdir -p bin
	@scripts/timed.sh "benchmarks, the short form" \
		$(GO) -C bench run . -quick -out ../bin/bench-quick.json $(BENCHFLAGS)

.PHONY: bench-docs
bench-docs: ## Write docs/performance.md from bench/results.json again
	$(GO) -C bench run . -render -out results.json -docs ../docs

.PHONY: bench-check
bench-check: ## Test the benchmarks' own arithmetic
	$(GO) -C bench test ./...

.PHONY: soak
soak: services ## Kill workers 510 times, and look for rare races (a quarter of an hour)
	@scripts/timed.sh "64 callers and an evictor on one key" \
		env DEDUPE_SOAK=1 $(GO) test -count=1 -timeout 30m -run TestEveryAcquiredRecordExists ./store/pgstore
	@scripts/timed.sh "the memory store and Postgres side by side" \
		$(GO) test -count=1 -timeout 30m -run TestPostgresDoesWhatTheModelDoes ./store/pgstore -rapid.checks=1000
	@scripts/timed.sh "random workflow programs" \
		env DEDUPE_EXPLORE=2m DEDUPE_EXPLORE_SEED=$$RANDOM $(GO) test -count=1 -timeout 30m -run TestExploredPrograms .
	@scripts/timed.sh "kills" $(GO) run ./examples/payment -crash -rounds 17

FUZZTIME ?= 10m
.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (10m)
	@for package in $$(git grep -l '^func Fuzz' -- '*_test.go' | xargs -n1 dirname | sort -u); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z]*\).*/\1/p' $$package/*_test.go); do \
			scripts/timed.sh "$$package $$target for $(FUZZTIME)" \
				$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) ./$$package; \
		done; \
	done

.PHONY: clean
clean: ## Remove what was built here
	rm -rf bin
	$(GO) clean -testcache
