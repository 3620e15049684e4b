# `make` lists the targets. Everything is built and run with nothing but Go; see docs/ for what the programs do.
SHELL := bash
.SHELLFLAGS := -o pipefail -ec
.DEFAULT_GOAL := help

BIN := $(CURDIR)/.local/bin
KUBERNETES := deploy/local/kubernetes
KUBERNETES_VERSION := $(shell sed -n 's|^\tk8s.io/kubernetes v\([0-9.]*\).*|\1|p' $(KUBERNETES)/go.mod)
# What the API server says its version is.
STAMPED := k8s.io/component-base/version.git
STAMP := -X=$(STAMPED)Version=v$(KUBERNETES_VERSION) $(join -X=$(STAMPED)Major= -X=$(STAMPED)Minor=,$(wordlist 1,2,$(subst ., ,$(KUBERNETES_VERSION))))
FUZZTIME ?= 20s
CHECKS ?= 100000
SEED ?= 20261
RELEASE ?= unreleased
REGIONS ?= 10

# Trees of real projects that some tests deliver; those tests are skipped without it.
TIDEGATE_CORPUS ?= $(wildcard $(abspath ../shared/corpus))
export TIDEGATE_CORPUS

# What the tests start besides themselves. A temporal on PATH is used as it is.
TEMPORAL := $(if $(shell command -v temporal),,$(BIN)/temporal)
TOOLS := $(BIN)/tidegate-kubernetes $(TEMPORAL)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^##@/ {print "\n" substr($$0, 5)} /^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Run

.PHONY: up
up: tools ## start the local stack: Temporal and REGIONS=10 Kubernetes API servers
	@go build -o $(BIN)/stack ./deploy/local/cmd/stack
	@$(BIN)/stack up --regions=$(REGIONS)

.PHONY: down
down: ## end the local stack and all that runs on it, and remove what they wrote
	@go run ./deploy/local/cmd/stack down

.PHONY: status
status: ## show every process of the local stack
	@go build -o $(BIN)/stack ./deploy/local/cmd/stack
	@$(BIN)/stack status

.PHONY: ui
ui: ## tell where to look at the local stack
	@go build -o $(BIN)/stack ./deploy/local/cmd/stack
	@$(BIN)/stack ui

.PHONY: demo
demo: tools build ## deliver to ten regions, from a push to running pods, and show it
	@go build -o $(BIN)/demo ./deploy/local/cmd/demo
	@$(BIN)/demo

##@ Build

.PHONY: build
build: ## build tidegate, tidegate-worker and tidegate-render into .local/bin
	@mkdir -p $(BIN)
	@go build -v ./starter ./worker ./internal/render/renderer/... ./deploy/local/cmd/demo $(counted)
	go build -o $(BIN)/tidegate ./starter
	go build -o $(BIN)/tidegate-worker ./worker
	CGO_ENABLED=0 go build -o $(BIN)/tidegate-render ./internal/render/renderer/tidegate-render

.PHONY: tools
tools: $(TOOLS) ## build the local Kubernetes and Temporal (once, some minutes)

# counted turns the list of packages that `go build -v` prints into a line for every hundredth, and passes on the rest.
counted = 2>&1 | awk '/^go: downloading/ {next} /^[a-z0-9][^ :]*$$/ {if (++n % 100 == 0) {print "  $(@F): " n " packages compiled"; fflush()}; next} {print; fflush()}'

$(BIN)/tidegate-kubernetes: $(wildcard $(KUBERNETES)/*.go) $(KUBERNETES)/go.mod $(KUBERNETES)/go.sum
	@echo "Building etcd, kube-apiserver $(KUBERNETES_VERSION) and the controllers into $@ (once, about four minutes)"
	@mkdir -p $(BIN)
	@cd $(KUBERNETES) && CGO_ENABLED=0 go build -v -trimpath -tags grpcnotrace -gcflags=all=-dwarf=false -ldflags '-s -w $(STAMP)' -o $@ . $(counted)

$(BIN)/runsc: deploy/tools/runsc/go.mod deploy/tools/runsc/go.sum
	@echo "Building gVisor's runsc into $@ (once, about two minutes)"
	@mkdir -p $(BIN)
	@cd deploy/tools/runsc && CGO_ENABLED=0 go build -v -trimpath -ldflags '-s -w' -o $@ gvisor.dev/gvisor/runsc $(counted)

$(BIN)/temporal: deploy/local/temporal/go.mod deploy/local/temporal/go.sum
	@echo "Building the Temporal server into $@ (once, about three minutes)"
	@mkdir -p $(BIN)
	@cd deploy/local/temporal && CGO_ENABLED=0 go build -v -trimpath -ldflags '-s -w' -o $@ github.com/temporalio/cli/cmd/temporal $(counted)

##@ Test

.PHONY: test
test: tools build $(BIN)/runsc ## run every test, with the race detector, against real servers
	go test -race -timeout 20m $$(go list ./... | grep -v -e /internal/e2e -e /internal/promotion)
	go test -race -short ./internal/promotion
	go test -timeout 20m ./internal/promotion
	go test -race -timeout 30m ./internal/e2e

.PHONY: test-short
test-short: ## run the tests that need no server
	go test -short ./...

.PHONY: model
model: ## drive the delivery state machine through CHECKS=100000 lives of SEED=20261 (0: any)
	go test ./internal/promotion -v -run 'Interleaving|Merges|Candidate' -rapid.checks=$(CHECKS) -rapid.seed=$(SEED) -timeout 30m

.PHONY: bench
bench: tools build ## measure what Tidegate adds to the API servers' own time, against a bare loop of applies
	@go build -o $(BIN)/bench ./deploy/local/cmd/bench
	@$(BIN)/bench

.PHONY: bench-render
bench-render: ## measure renders: the sandbox against the same render in-process, the pool, the cache, a monorepo
	go test ./activities -run 'TestBenchRender$$' -count=1 -timeout 20m -v -bench-render

.PHONY: bench-sync
bench-sync: $(BIN)/tidegate-kubernetes ## measure syncs of large targets: writing, trying out, and finding nothing to do
	go test ./internal/kube -run 'TestBenchSync$$' -count=1 -timeout 30m -v -bench-sync

.PHONY: bench-parts
bench-parts: ## run the benchmarks of single packages
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: histories
histories: tools ## record the workflow histories of RELEASE=unreleased, which later builds replay
	go test ./workflows -v -run HistoriesAreRecorded -update -release $(RELEASE)

.PHONY: fuzz
fuzz: ## fuzz every parser for FUZZTIME=20s
	@grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sed -E 's|^(.*)/[^/]+:func |\1 |' | sort | \
	while read -r folder target; do \
		echo "$$folder $$target"; \
		go test "$$folder" -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME); \
	done

##@ Check

LINTERS := $(BIN)/golangci-lint $(BIN)/workflowcheck $(BIN)/gofumpt

$(LINTERS) $(BIN)/govulncheck: deploy/tools/go.mod deploy/tools/go.sum
	@echo "Building $(@F) into $@ (once)"
	@mkdir -p $(BIN)
	@cd deploy/tools && CGO_ENABLED=0 go build -v -trimpath -ldflags '-s -w' -o $@ \
		"$$(go list tool | grep '/$(@F)$$')" $(counted)

.PHONY: lint
lint: $(LINTERS) ## check the rules of architecture and style
	@unformatted=$$($(BIN)/gofumpt -l .); if [ -n "$$unformatted" ]; then echo "run gofumpt -w on:"; echo "$$unformatted"; exit 1; fi
	$(BIN)/golangci-lint run
	$(BIN)/workflowcheck -config workflowcheck.config.yaml ./workflows/...

.PHONY: vuln
vuln: $(BIN)/govulncheck ## look for known vulnerabilities in what is imported
	$(BIN)/govulncheck ./...

.PHONY: clean
clean: down ## remove everything that was built or written
	rm -rf .local
