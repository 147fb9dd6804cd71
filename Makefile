# SPDX-License-Identifier: MIT
# A list of what can be done here; anything longer than a line or two is a script in scripts/ that also runs alone.

.DEFAULT_GOAL := help
.PHONY: help run build test lint format tsan asan fuzz bench peers hostile exhaust crash simulate faults clusters openapi clients console examples docs package package-check image clean
# A toolchain unpacked here is found without further ado; one that is on the path already comes first.
export PATH := $(PATH):/opt/swift/usr/bin
sources = Sources Tests $(wildcard Examples Fuzz Benchmarks) Package.swift

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## install what is missing, build, and serve; ARGS="--port 0" passes flags on
	@exec .build/release/signal-server serve $(ARGS)

build: ## build the server, optimized
	@scripts/prepare.sh
	swift build -c release --product signal-server

test: lint ## what CI runs: lint, build with warnings as errors, all tests; ARGS="--filter X" passes flags on
	@scripts/test.sh $(ARGS)

lint: ## check the format of sources and the syntax of scripts
	@scripts/lint.sh $(sources)

format: ## bring the sources into format
	swift format -i -p -r $(sources)

tsan: ## all tests with the thread sanitizer
	@scripts/sanitize.sh thread $(ARGS)

asan: ## all tests with the address sanitizer
	@scripts/sanitize.sh address $(ARGS)

fuzz: ## fuzz one target for some seconds: make fuzz T=JSON S=60
	@scripts/fuzz.sh "$(T)" "$(or $(S),60)"

bench: ## measure; the results name the machine and the command
	@scripts/prepare.sh
	swift run -c release --package-path Benchmarks Benchmarks $(ARGS)

peers: build ## measure the server beside others: make peers ARGS="fanout get"; see docs/performance.md
	@python3 Benchmarks/peers/compare.py $(ARGS)

hostile: build ## measure what a bystander feels beside the most expensive requests that the defaults allow
	@python3 Benchmarks/peers/hostile.py $(ARGS)

exhaust: build ## try to use up the memory of a server in a control group: make exhaust ARGS="--memory 1024"; needs root
	@python3 Benchmarks/peers/exhaust.py $(ARGS)

crash: build ## kill a server that keeps its store in a folder, S times (100), and look for what was lost
	@python3 Tests/Durability/crash.py .build/release/signal-server --cuts $(or $(S),100) $(ARGS)

simulate: ## run S clusters (10000) whose faults follow from their seeds, and look for what was lost
	@CLUSTER_RUNS=$(or $(S),10000) LIMIT=7200 scripts/test.sh --filter '^ClusterTests.(Loss)?SimulationTests'

faults: build ## break a cluster in many ways for S seconds (60), and look for what was lost; needs nats-server (NATS_SERVER)
	@python3 Tests/Cluster/faults.py .build/release/signal-server --seconds $(or $(S),60) $(ARGS)

clusters: build ## measure clusters beside their goals: make clusters ARGS="latency takeover"; needs nats-server (NATS_SERVER)
	@python3 Benchmarks/peers/cluster.py $(ARGS)

openapi: build ## generate a Python client from openapi.yaml and try it, and check the other descriptions; needs PyPI
	@Tests/Outside/openapi/run.sh .build/release/signal-server

clients: build ## test the clients for JavaScript, Python and Swift against the server; CUTS=200 is how often they are cut off
	swift build -c release --product client-adapter
	@scripts/clients.sh .build/release/signal-server

console: build ## test the console in Chromium, over all views; needs PyPI; ARGS="-k clients" passes flags on
	@scripts/console.sh .build/release/signal-server $(ARGS)

examples: ## build the examples
	@scripts/examples.sh

docs: ## write the documentation of the libraries to .docs
	@scripts/docs.sh

package: ## build the Debian package, in .build/package
	@scripts/package.sh $(ARGS)

package-check: ## install, start, upgrade and purge the package in a Debian of its own; needs root
	@scripts/package.sh && scripts/package.sh --revision 2
	@scripts/package-check.sh .build/package/signal-server_$$(.build/release/signal-server --version)_$$(dpkg --print-architecture).deb \
	  .build/package/signal-server_$$(.build/release/signal-server --version)-2_$$(dpkg --print-architecture).deb

image: ## build the container image signal-server:latest
	@scripts/image.sh $(ARGS)

clean: ## delete what was built
	rm -rf .build .docs Examples/.build Fuzz/.build Benchmarks/.build
