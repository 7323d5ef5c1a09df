# Everything a fresh clone needs: `make demo` for a first look, `make test` for the proof.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test lint chromium java postgres docs format clean

demo: .venv/ready
	@$(BIN)/pdpmean demo

# Processes that tests start read the bytecode of the first, unless it may not be kept.
test: lint chromium java postgres
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n 2

lint: .venv/tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# The tests of the HTML report look at it in a browser.
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)
chromium:
	@command -v chromium >/dev/null || { $(SUDO) apt-get update -qq && \
	$(SUDO) apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || \
	{ echo "The tests need the browser Chromium as the command chromium: install it, then run make test again." >&2; exit 1; }

# Spark runs on Java.
java:
	@command -v java >/dev/null || test -x "$(JAVA_HOME)/bin/java" || { $(SUDO) apt-get update -qq && \
	$(SUDO) apt-get install -y -qq --no-install-recommends default-jre-headless >/dev/null; } || \
	{ echo "The tests need Java 17 or newer as the command java: install it, then run make test again." >&2; exit 1; }

# The ledger of a team is in PostgreSQL, which Debian keeps off the path.
postgres:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || { $(SUDO) apt-get update -qq && \
	$(SUDO) apt-get install -y -qq --no-install-recommends postgresql >/dev/null; } || \
	{ echo "The tests need PostgreSQL's command initdb: install it, then run make test again." >&2; exit 1; }

docs: .venv/tools
	$(BIN)/python -m sphinx -W --keep-going -n -q docs build/docs
	@echo "build/docs/index.html"

format: .venv/tools
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "pdpmean needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv
	$(INSTALL) --editable .
	@touch $@

# What tests and documents need besides: linters, engines, pictures, the site.
.venv/tools: .venv/ready
	$(INSTALL) --editable '.[dev,docs]'
	@touch $@

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
