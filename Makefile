# Every command a developer needs. On a fresh machine with Rust and Python 3.10
# or newer, `make demo` and `make test` set up all the rest, inside this folder.

PYTHON ?= python3
FUZZ_SECONDS ?= 600
FUZZ_TARGETS ?= $(notdir $(wildcard tests/fuzz/corpus/*))
FUZZ_FLAGS = -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -len_control=20 -timeout=10 \
	-dict=tests/fuzz/toolweave.dict

VENV := .venv
BIN := $(VENV)/bin
CARGO_FUZZ := target/tools/bin/cargo-fuzz
# uv takes seconds where pip takes half a minute; it trusts the certificates that the system does.
UV := $(BIN)/python -m uv --quiet
# The versions that a change is tested with; a release is tested with the newest ones, too.
CONSTRAINTS := tests/constraints.txt
INSTALL := $(UV) pip install --python $(BIN)/python --constraint $(CONSTRAINTS)
export UV_SYSTEM_CERTS := 1
CHECKED := target/checked-wheel

CORE := Cargo.toml Cargo.lock $(shell find src -name '*.rs')
PACKAGE := pyproject.toml README.md LICENSE THIRD-PARTY-NOTICES.txt \
	$(shell find python -type f ! -name '*.so' ! -name '*.pyd' ! -name '*.pyc')
SITE_SCRIPTS := target/site-scripts
CLIENT := web/client/toolweave-client.tgz
NPM := PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix

# One interpreter for whatever asks pyo3's build script, so that no two commands
# build the bindings for different ones, over and over.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
# maturin installs into the environment that is active, or said to be.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
unexport CONDA_PREFIX
# Without bytecode on disk, each process of a test would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Two cores: the Rust suite, the module, and what cargo does not build go side by side, the Python
# suites after them. Cargo locks what it builds, so one of the first two waits for the other.
ifneq ($(filter test check test-all,$(MAKECMDGOALS)),)
MAKEFLAGS += --jobs=3
core: | format-rust
docs: | core
type-checkers: | lint-python
# Where nothing has to be compiled, the Rust suite leaves a core to both.
ifeq ($(filter check,$(MAKECMDGOALS)),)
page: | type-checkers
endif
else
.NOTPARALLEL:
endif
# What is built once needs no record of what to build again, nor names for a debugger.
ifdef CI
export CARGO_INCREMENTAL := 0
export CARGO_PROFILE_DEV_DEBUG := false
export CARGO_PROFILE_DEV_STRIP := symbols
export MYPY_CACHE_DIR := /dev/null
endif
# Of no use to cargo, which would take it for an offer to share the jobs.
unexport MAKEFLAGS MFLAGS

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo check test test-all build lint format-rust lint-rust lint-python types type-checkers core page wheel release-check windows web client bench profile instructions profile-serve docs site fuzz constraints clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/built ## watch calls being written, run and answered, on a page; without a terminal, as text
	$(BIN)/python -m toolweave demo $(ARGS)

check: format-rust core lint-python page types ## the quick round: lint, types, Rust suite, page, Python suite on one interpreter
	$(BIN)/python tests/suites.py check $(ARGS)

test: format-rust core lint-python page types $(VENV)/checked-wheel $(VENV)/browser tests/clients/node_modules/made examples/react/node_modules/made ## everything a change must pass, on the newest Python, and on older ones what depends on the version
	$(BIN)/python tests/suites.py test $(CHECKED)/*.whl $(ARGS)

test-all: format-rust core lint-python page types docs site $(VENV)/wheel $(VENV)/browser tests/clients/node_modules/made tests/serve/node_modules/made examples/react/node_modules/made ## everything a release must pass: the release wheel on every Python, long fault runs, large packages
	$(BIN)/python tests/suites.py all dist/*.whl $(ARGS)
	$(MAKE) release-check

build: $(VENV)/built ## the package for development, in .venv

lint: lint-rust lint-python ## formatting and lints of both languages; warnings are errors

format-rust:
	for crate in . $(wildcard benches/*/Cargo.toml) tests/fuzz; do \
		cargo fmt --check --manifest-path $${crate%/Cargo.toml}/Cargo.toml || exit 1; \
	done

# The bindings are linted as they are shipped: `abi3` brings `python` along.
lint-rust: format-rust
	cargo clippy --locked --all-targets --features abi3 -- -D warnings

# What is built for tests is linted on the way: Clippy is a compiler, too, and its own command would
# compile all crates once more. It leaves other marks on what it builds, so nothing is shared with
# builds for use.
LINTED := core $(VENV)/linted $(VENV)/checked-wheel
$(LINTED): export RUSTC_WORKSPACE_WRAPPER = $(shell rustc --print sysroot)/bin/clippy-driver
$(LINTED): export CLIPPY_ARGS := -Dwarnings__CLIPPY_HACKERY__

lint-python: $(VENV)/dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/python tests/notices.py
	$(BIN)/python tests/words.py

types: type-checkers $(VENV)/linted ## both type checkers, and the stub against the built module
	$(BIN)/python -m mypy.stubtest toolweave._core

type-checkers: $(VENV)/dev
	$(BIN)/mypy
	$(BIN)/pyright --warnings

# The same examples everywhere, as in Python, and for a change an eighth of them; `cargo test` alone
# looks for new ones. No server of the tests has a certificate of an authority, and to load the system's
# is most of what a client costs.
core: export PROPTEST_RNG_SEED := 1
core: export PROPTEST_CASES := $(if $(filter test-all,$(MAKECMDGOALS)),256,32)
core: ## the Rust suite, documentation examples included; warnings are errors
	mkdir -p target/no-certificates
	cargo test --locked --features proxy --config "target.'cfg(unix)'.runner = \
		['env', '-u', 'SSL_CERT_FILE', 'SSL_CERT_DIR=$(CURDIR)/target/no-certificates']"

# The page that is checked in must be what its source gives.
page: web/node_modules/made ## lints and unit tests of the page, and whether its build is current
	$(NPM) web run check
	$(NPM) web test
	$(NPM) web run current

wheel: $(VENV)/wheel ## the wheel for CPython 3.10 and newer, in dist
	@ls dist/*.whl

# zizmor would ask GitHub about the actions; what it knows without that has to do.
release-check: $(VENV)/wheel .venvs/release/made release/node_modules/made ## what a release publishes: the wheel, an sdist, and the workflow that builds them
	.venvs/release/bin/zizmor --offline --no-progress --quiet --persona pedantic .github
	PATH="$(CURDIR)/$(BIN):$$PATH" node release/lint_workflows.mjs
	$(BIN)/uvx --quiet cffconvert@2.0.0 --validate
	PATH="$(CURDIR)/.venvs/release/bin:$(CURDIR)/$(BIN):$$PATH" $(BIN)/python release/check.py local dist/*.whl

# `ring` has code in C; the compiler for it is zig's.
windows: $(VENV)/uv ## lints of the code for Windows; needs `rustup target add x86_64-pc-windows-gnu`
	for build in "--features abi3 --lib" "--no-default-features --features proxy --bin toolweave-serve"; do \
		$(BIN)/uvx --quiet --from cargo-zigbuild@0.24.1 --with ziglang==0.17.1 cargo-zigbuild clippy --locked \
			--target x86_64-pc-windows-gnu $$build -- -D warnings || exit 1; \
	done

web: web/node_modules/made ## the playground's page, from web/ into the package
	$(NPM) web run build

client: $(CLIENT) ## the TypeScript client as an npm package, in web/client
	@ls $(CLIENT)

bench: .venvs/bench/made .venvs/bench/crates .venvs/bench-litellm/made ## Rust and Python benchmarks, with the peers they are measured against
	CRITERION_HOME=target/criterion cargo run --locked --release --manifest-path benches/parser/Cargo.toml -- --bench
	cargo build --locked --release --no-default-features --features proxy --bin toolweave-serve
	.venvs/bench/bin/python benches/run.py $(ARGS)

profile: .venvs/bench/made ## where the instructions of a reply from an endpoint go; needs valgrind
	cargo rustc --locked --profile fast --features abi3 --lib --crate-type cdylib
	rm -rf target/profiled && mkdir -p target/profiled && cp -r python/toolweave target/profiled
	cp target/fast/libtoolweave.so target/profiled/toolweave/_core.abi3.so
	cd benches && PYTHONPATH=$(CURDIR)/target/profiled ../.venvs/bench/bin/python -m endpoint.instructions $(ARGS)

instructions: ## instructions of the parser, of all dialects at once beside one; needs valgrind
	cargo build --locked --release --manifest-path benches/counting/Cargo.toml
	$(PYTHON) benches/counts.py $(ARGS)

profile-serve: ## instructions of toolweave-serve for each token and each request; needs valgrind
	cargo build --locked --release --no-default-features --features proxy --bin toolweave-serve
	cd benches && $(PYTHON) -m serve.instructions $(ARGS)

docs: export RUSTDOCFLAGS := -D warnings
docs: $(VENV)/uv ## the Rust documentation, bindings included, in target/doc
	cargo doc --locked --no-deps --document-private-items --features abi3

# Strict: a broken link or anchor, a page that is not in the navigation or a public name without a
# docstring is an error. The site has all scripts that it loads.
site: .venvs/site/made $(SITE_SCRIPTS)/made $(VENV)/built ## the documentation as a site, in target/site
	PYTHONPATH=python NO_MKDOCS_2_WARNING=1 .venvs/site/bin/python -m mkdocs --quiet build --strict

# The crate forbids unsafe code, so no sanitizer, and without one stable Rust will do.
fuzz: $(CARGO_FUZZ) ## each fuzz target for FUZZ_SECONDS; see tests/fuzz
	for target in $(FUZZ_TARGETS); do \
		mkdir -p target/fuzz/corpus/$$target && \
		$(CARGO_FUZZ) run --fuzz-dir tests/fuzz --target-dir target/fuzz -s none $$target \
			target/fuzz/corpus/$$target tests/fuzz/corpus/$$target -- $(FUZZ_FLAGS) || exit 1; \
	done

constraints: $(VENV)/uv ## the newest versions of the packages that changes are tested with
	$(UV) pip compile --upgrade --universal --python-version 3.10 \
		--group dev --group test-large --custom-compile-command 'make constraints' --no-annotate \
		--output-file $(CONSTRAINTS) pyproject.toml

clean: ## remove all that was built
	rm -rf $(VENV) .venvs dist target web/node_modules tests/clients/node_modules tests/serve/node_modules examples/react/node_modules release/node_modules $(CLIENT) .hypothesis .mypy_cache .pytest_cache .ruff_cache

# Set-up. Each file says that a step is done, and is older than what it depends on when
# that step has to be done again.

$(VENV)/uv:
	@command -v cargo >/dev/null || { echo "toolweave needs Rust: https://rustup.rs"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and \
		"toolweave needs Python 3.10 or newer; name one: make PYTHON=python3.12")'
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) uv
	@touch $@

$(VENV)/maturin: pyproject.toml $(CONSTRAINTS) | $(VENV)/uv
	@$(INSTALL) --group build
	@touch $@

$(VENV)/dev: pyproject.toml $(CONSTRAINTS) | $(VENV)/maturin
	$(INSTALL) --group dev
	@touch $@

# No `--features` here: they would replace those of pyproject.toml, not add to them. And a
# `--group`, because maturin installs the group `dev` where it is given none. What maturin, uv and
# cargo print is shown if they fail. A build that is linted is one for use, too.
$(VENV)/built $(VENV)/linted: $(CORE) pyproject.toml $(VENV)/maturin
	@echo "building the package for development, which takes two minutes the first time"
	@UV_CONSTRAINT=$(CONSTRAINTS) $(BIN)/maturin develop --quiet --uv --locked --extras demo --group build \
		>$(VENV)/build.log 2>&1 || { cat $(VENV)/build.log >&2; exit 1; }
	@touch $(VENV)/built $@

# Node comes with the group `dev`, and the packages by their lock files.
%/node_modules/made: %/package-lock.json $(VENV)/dev
	$(NPM) $* ci --prefer-offline --no-audit --no-fund
	@touch $@

# The package as it is published, which the example installs.
$(CLIENT): LICENSE $(wildcard web/src/client/*.ts) $(filter-out $(CLIENT),$(wildcard web/client/*.*)) web/node_modules/made
	$(NPM) web run client
	@touch $@

examples/react/node_modules/made: $(CLIENT)

# A browser is the one thing here that the system has to have.
$(VENV)/browser: $(VENV)/dev
	$(BIN)/python tests/frontend/browser.py
	@touch $@

$(VENV)/wheel: $(CORE) $(PACKAGE) $(VENV)/maturin
	rm -rf dist
	$(BIN)/maturin build --release --locked --out dist
	@touch $@

# What the suites run on: quick to build, with the checks of a debug build (overflow, assertions).
$(VENV)/checked-wheel: $(CORE) $(PACKAGE) $(VENV)/maturin | $(VENV)/linted
	rm -rf $(CHECKED)
	$(BIN)/maturin build --profile dev --locked --interpreter $(BIN)/python --out $(CHECKED)
	@touch $@

$(CARGO_FUZZ):
	cargo install --quiet --locked --root target/tools cargo-fuzz@0.13.2

.venvs/bench/made: $(VENV)/wheel $(shell find benches/floor -name '*.rs' 2>/dev/null)
	$(UV) venv --clear --python $(PYTHON) .venvs/bench
	$(UV) pip install --python .venvs/bench --group bench dist/*.whl ./benches/floor
	@touch $@

# The parsers of other crates, which bring hundreds of crates along.
.venvs/bench/crates: .venvs/bench/made benches/crates/Cargo.toml benches/crates/src/lib.rs
	$(UV) pip install --python .venvs/bench ./benches/crates
	@touch $@

.venvs/site/made: pyproject.toml | $(VENV)/uv
	$(UV) venv --clear --python $(PYTHON) .venvs/site
	$(UV) pip install --python .venvs/site --group site
	@touch $@

# Scripts that the theme would load from another server.
$(SITE_SCRIPTS)/made: | $(VENV)/dev
	rm -rf $(SITE_SCRIPTS) && mkdir -p $(SITE_SCRIPTS)
	for script in mermaid@11.17.2 iframe-worker@1.0.4; do \
		(cd $(SITE_SCRIPTS) && PATH="$(CURDIR)/$(BIN):$$PATH" npm pack --silent $$script) || exit 1; \
		mkdir $(SITE_SCRIPTS)/$${script%@*} && \
		tar -xzf $(SITE_SCRIPTS)/$${script%@*}-$${script#*@}.tgz -C $(SITE_SCRIPTS)/$${script%@*} --strip-components=1 || exit 1; \
	done
	rm $(SITE_SCRIPTS)/*.tgz
	@touch $@

.venvs/release/made: pyproject.toml | $(VENV)/uv
	$(UV) venv --clear --python $(PYTHON) .venvs/release
	$(UV) pip install --python .venvs/release --group release
	@touch $@

# Only to be measured against, in processes of its own.
.venvs/bench-litellm/made: pyproject.toml | $(VENV)/uv
	$(UV) venv --clear --python $(PYTHON) .venvs/bench-litellm
	$(UV) pip install --python .venvs/bench-litellm --group bench-litellm
	@touch $@
