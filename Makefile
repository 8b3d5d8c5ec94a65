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
PIP := $(BIN)/python -m pip install --quiet

CORE := Cargo.toml Cargo.lock $(shell find src -name '*.rs')
PACKAGE := pyproject.toml README.md LICENSE \
	$(shell find python -type f ! -name '*.so' ! -name '*.pyd' ! -name '*.pyc')
NPM := PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix

# One interpreter for whatever asks pyo3's build script, so that no two commands
# build the bindings for different ones, over and over.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
# maturin installs into the environment that is active, or said to be.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
unexport CONDA_PREFIX
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Where all is tested, the release build has a core to itself while the rest goes on in order.
ifeq ($(MAKECMDGOALS),test)
MAKEFLAGS += --jobs=2
docs: | lint
types: | docs
core: | types
frontend: | core
matrix: | frontend
else
.NOTPARALLEL:
endif
# Of no use to cargo, which would take it for an offer to share the jobs.
unexport MAKEFLAGS MFLAGS

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test build lint types core frontend matrix wheel web bench profile docs fuzz clean

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/built ## watch calls being written, run and answered, on a page; without a terminal, as text
	$(BIN)/python -m toolweave demo $(ARGS)

test: wheel lint docs types core frontend matrix ## everything that must pass: lint, docs, types, all test suites

build: $(VENV)/built ## the package for development, in .venv

# The bindings are checked as they are shipped: `abi3` brings `python` along.
lint: $(VENV)/dev ## formatting and lints of both languages; warnings are errors
	cargo fmt --check
	cargo fmt --check --manifest-path tests/fuzz/Cargo.toml
	cargo clippy --locked --all-targets -- -D warnings
	cargo clippy --locked --all-targets --features abi3 -- -D warnings
	$(BIN)/ruff format --check
	$(BIN)/ruff check

types: $(VENV)/dev $(VENV)/built ## both type checkers, and the stub against the built module
	$(BIN)/mypy
	$(BIN)/pyright --warnings
	$(BIN)/python -m mypy.stubtest toolweave._core

core: ## the Rust suite, documentation examples included
	cargo test --locked

# The page that is checked in must be what its source gives.
frontend: web/node_modules/made tests/clients/node_modules/made $(VENV)/built $(VENV)/browser ## the page and the clients of others, in Node and in a browser
	$(NPM) web run check
	$(NPM) web test
	$(NPM) web run current
	$(BIN)/python -m pytest tests/clients tests/frontend $(ARGS)

matrix: $(VENV)/wheel ## the Python suite on each CPython found, against the wheel
	$(BIN)/python tests/matrix.py dist/*.whl -- $(ARGS)

wheel: $(VENV)/wheel ## the wheel for CPython 3.10 and newer, in dist
	@ls dist/*.whl

web: web/node_modules/made ## the playground's page, from web/ into the package
	$(NPM) web run build

bench: .venvs/bench/made .venvs/bench-litellm/made ## Rust and Python benchmarks, with the peers they are measured against
	cargo bench --locked
	.venvs/bench/bin/python benches/run.py $(ARGS)

profile: .venvs/bench/made ## where the instructions of a reply from an endpoint go; needs valgrind
	cargo build --locked --profile fast --features abi3
	rm -rf target/profiled && mkdir -p target/profiled && cp -r python/toolweave target/profiled
	cp target/fast/libtoolweave.so target/profiled/toolweave/_core.abi3.so
	cd benches && PYTHONPATH=$(CURDIR)/target/profiled ../.venvs/bench/bin/python -m endpoint.instructions $(ARGS)

docs: export RUSTDOCFLAGS := -D warnings
docs: $(VENV)/pip ## the Rust documentation, bindings included, in target/doc
	cargo doc --locked --no-deps
	cargo doc --locked --no-deps --document-private-items --features abi3

# The crate forbids unsafe code, so no sanitizer, and without one stable Rust will do.
fuzz: $(CARGO_FUZZ) ## each fuzz target for FUZZ_SECONDS; see tests/fuzz
	for target in $(FUZZ_TARGETS); do \
		mkdir -p target/fuzz/corpus/$$target && \
		$(CARGO_FUZZ) run --fuzz-dir tests/fuzz --target-dir target/fuzz -s none $$target \
			target/fuzz/corpus/$$target tests/fuzz/corpus/$$target -- $(FUZZ_FLAGS) || exit 1; \
	done

clean: ## remove all that was built
	rm -rf $(VENV) .venvs dist target web/node_modules tests/clients/node_modules .hypothesis .mypy_cache .pytest_cache .ruff_cache

# Set-up. Each file says that a step is done, and is older than what it depends on when
# that step has to be done again.

$(VENV)/pip:
	@command -v cargo >/dev/null || { echo "toolweave needs Rust: https://rustup.rs"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and \
		"toolweave needs Python 3.10 or newer; name one: make PYTHON=python3.12")'
	$(PYTHON) -m venv --clear $(VENV)
	$(PIP) --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/maturin: pyproject.toml | $(VENV)/pip
	$(PIP) --group build
	@touch $@

$(VENV)/dev: pyproject.toml | $(VENV)/maturin
	$(PIP) --group dev
	@touch $@

# No `--features` here: they would replace those of pyproject.toml, not add to them. And a
# `--group`, because maturin installs the group `dev` where it is given none.
$(VENV)/built: $(CORE) pyproject.toml $(VENV)/maturin
	$(BIN)/maturin develop --locked --extras demo --group build
	@touch $@

# Node comes with the group `dev`, and the packages by their lock files.
%/node_modules/made: %/package-lock.json $(VENV)/dev
	$(NPM) $* ci
	@touch $@

# A browser is the one thing here that the system has to have.
$(VENV)/browser: $(VENV)/dev
	$(BIN)/python tests/frontend/browser.py
	@touch $@

$(VENV)/wheel: $(CORE) $(PACKAGE) $(VENV)/maturin
	rm -rf dist
	$(BIN)/maturin build --release --locked --out dist
	@touch $@

$(CARGO_FUZZ):
	cargo install --quiet --locked --root target/tools cargo-fuzz@0.13.2

.venvs/bench/made: $(VENV)/wheel $(shell find benches/floor -name '*.rs' 2>/dev/null)
	$(PYTHON) -m venv --clear .venvs/bench
	.venvs/bench/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venvs/bench/bin/python -m pip install --quiet --group bench dist/*.whl ./benches/floor
	@touch $@

# Only to be measured against, in processes of its own.
.venvs/bench-litellm/made: pyproject.toml
	$(PYTHON) -m venv --clear .venvs/bench-litellm
	.venvs/bench-litellm/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venvs/bench-litellm/bin/python -m pip install --quiet --group bench-litellm
	@touch $@
