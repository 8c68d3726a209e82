# Short names for what cmake, ctest and scripts/ do; all the knowledge is there.

DIR ?= .
PREFIX ?= /usr/local

.DEFAULT_GOAL := help
.PHONY: help run run-cluster test asan tsan harsh clang aarch64 style format bench bench-docs bench-io \
    bench-link bench-look bench-map bench-process bench-sum manual docs lib install deb clean

help: ## list what one can do here
	@awk -F ':.*## ' '/^[a-z0-9 -]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# Everything but the digests goes to standard error, so that these can be sent elsewhere.
run: ## digest the files under DIR (this folder when unset)
	@{ scripts/bootstrap run && scripts/build release leat-command; } >&2
	@build/release/cmd/leat/leat sum "$(DIR)"

run-cluster: ## a stage over three processes and a Redis, of which two are killed
	@scripts/bootstrap cluster
	@scripts/build release leat-cluster
	@link/examples/run build/release/link/cluster

test: ## build and run all tests, the longest shortened; LEAT_LONG=1: all in full
	@scripts/bootstrap test
	@scripts/build dev
	@scripts/test dev

asan: ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer
tsan: ## the tests under ThreadSanitizer
harsh: ## the tests with every constant shrunk and failing allocations
clang: ## the tests built by clang, with -O2
asan tsan harsh clang:
	@scripts/bootstrap ci
	@scripts/build $@
	@scripts/test $@

aarch64: ## the library's tests for AArch64, under qemu-user
	@scripts/bootstrap ci
	@scripts/aarch64-sysroot
	@scripts/build $@
	@scripts/test $@

bench-sum: ## digest a tree of 80,000 files with leat sum and with others; the ratios
bench-map: ## run commands over items with leat map and its peers; the ratios
bench-process: ## start programs by leat_spawn and by others; what each costs
bench-look: ## measure what it costs a program to be looked at
bench-sum bench-map bench-process bench-look:
	@scripts/bootstrap run
	@scripts/build release
	@bench/$(@:bench-%=%)/run $(BENCH)

bench-io: ## load an echo server of leat's and its peers'; what a request costs
	@scripts/bootstrap run
	@scripts/bootstrap bench || true
	@scripts/build release
	@bench/io/run $(BENCH)

bench-link: ## a stage over processes beside a program that drives the engine itself; the bars
	@scripts/bootstrap cluster
	@scripts/build release
	@scripts/build bench bench-link
	@bench/link/run

style: ## check the format, run clang-tidy
	@scripts/bootstrap ci
	@scripts/build dev
	@scripts/style check

format: ## format the sources
	@scripts/bootstrap ci
	@scripts/style format

# A peer that cannot be had is not worth failing for: bench/run names it.
bench: ## measure leat beside its peers; BENCH holds options of bench/run
	@scripts/bootstrap run
	@scripts/bootstrap bench || true
	@bench/run $(BENCH)

bench-docs: ## copy the last whole run's figures and picture to docs/
	@bench/run --docs

manual: ## make docs/api.md from the headers
	@scripts/manual check
	@scripts/manual md >docs/api.md

docs: ## make build/site, the manual in a browser: index.html there
	@scripts/bootstrap docs
	@scripts/site/build build/site

lib: ## build and install the library alone: a compiler, cmake and ninja do
	@scripts/bootstrap lib
	@PREFIX="$(PREFIX)" scripts/install lib

install: ## install to PREFIX (/usr/local when unset); DESTDIR is heeded
	@scripts/bootstrap run
	@PREFIX="$(PREFIX)" scripts/install release

deb: ## build Debian packages in build/deb: the libraries, the command, the manual
	@scripts/bootstrap deb
	@scripts/deb

clean: ## remove what was built
	rm -rf build
