# Everything runs from a fresh machine with Python 3.11 or newer, make and the package registries.

PYTHON := $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$python; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed.stamp
PYTEST_OPTIONS ?= -n 4 --dist loadfile --no-loadscope-reorder
NIGHTLY_OPTIONS ?= -n 2 --dist loadfile --no-loadscope-reorder
FAST_OPTIONS ?= -n 2 --dist worksteal -q -r fE --durations 5 --durations-min 5

# Tests start hundreds of processes: none of them should compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup servers lint compile test test-fast matrix spark-matrix nightly demo bench docs face screenshots lock

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(INSTALLED) ## Make the virtual environment and see to Java
	@$(BIN)/python -m testkit.servers java

$(INSTALLED): requirements.lock pyproject.toml faults/pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed, and none is on PATH." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null \
		|| { apt-get -qq update && apt-get -qq install --yes python3-venv; } >/dev/null 2>&1 \
		|| { echo "Python's venv module is incomplete: install the package python3-venv." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable . --editable faults
	@touch $@

servers: setup ## Download the servers that the tests run against
	@$(BIN)/python -m testkit.servers

lint: $(INSTALLED) ## Check style, types and layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# Once, where a processor is idle: each worker would do it for itself.
compile: $(INSTALLED)
	@$(BIN)/python -m pytest --collect-only -qq > /dev/null || true # the tests themselves tell why

test: ## Pass every check and test
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=target servers lint compile
	$(BIN)/python -m pytest $(PYTEST_OPTIONS)

test-fast: $(INSTALLED) ## Pass the tests that start nothing, on every save
	$(BIN)/python -m pytest --fast $(FAST_OPTIONS)

matrix: ## Pass test-fast on each Python that there is, with and without the lock file
	@$(PYTHON) -m testkit.matrix

spark-matrix: setup ## Pass the tests of Spark on Spark 4.0, 4.1 and 4.2
	@$(BIN)/python -m testkit.spark_matrix

nightly: servers lint ## The same tests with the long series
	$(BIN)/python -m pytest --nightly $(NIGHTLY_OPTIONS)

demo: setup ## Capture a live shop database into Delta tables, and show it
	@PYTHONPATH=examples $(BIN)/python -m demo

bench: setup ## Measure cdckit, and Debezium beside it where its wheel is installed
	@$(BIN)/python -m benchmarks

docs: $(INSTALLED) ## Write the option tables and the numbers of errors in the docs anew
	@$(BIN)/python -m cdckit.engine.config.docs docs/options
	@$(BIN)/python -m cdckit.engine.numbers.registry docs/errors.md

face: $(INSTALLED) ## Record the public face anew; CHANGELOG.md has to tell of what changed
	@$(BIN)/python -m testkit.face

screenshots: $(INSTALLED) ## Take the pictures of the page for the docs anew
	@$(BIN)/python -m testkit.screenshots

lock: $(INSTALLED) ## Resolve requirements.lock anew from pyproject.toml
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra all --extra test --universal --python-version 3.11 --upgrade \
		--quiet --no-emit-find-links --custom-compile-command "make lock" --output-file requirements.lock
