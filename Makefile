# Needs Python 3.11 or newer and nothing else. Set-up runs once; it runs again when pyproject.toml or the pins change.

PYTHON ?= $(or $(shell command -v python3.11),$(shell command -v python3),python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SERVE ?=
ARGS ?=
CORPUS ?= ../shared/corpus

.DEFAULT_GOAL := help
.PHONY: help install env run test check bench soak conformance packages dist bundle clean pins

help: ## what can be made
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1 \t/' | expand -t 18

install: $(VENV)/.installed ## put research-mcp into .venv/bin

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name it with make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --constraint constraints.txt --editable '.[redis]'
	@touch $@

$(VENV)/.developing: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(VENV)/.installed

env: ## make .env from .env.example, unless it is there
	@test -e .env && echo ".env is there already" || { cp .env.example .env && chmod 600 .env && echo "edit .env"; }

run: $(VENV)/.installed ## serve /mcp; SERVE="--port 9000" passes options on
	@exec $(BIN)/research-mcp serve $(SERVE)

# Measuring coverage takes half as long again, so .ci/run asks for it with COVERAGE=1; it counts for the whole suite only.
test: $(VENV)/.developing ## all tests; ARGS="..." runs some of them
	$(BIN)/python -m pytest $(if $(ARGS),$(ARGS),--numprocesses 2 --dist worksteal \
		$(if $(COVERAGE),--cov --cov-report=term --cov-fail-under=100))

check: $(VENV)/.developing ## format, lint, types, import direction, dead code
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	@# It reads the tests as well, to see what they use, but only the product is held to it.
	@found=$$($(BIN)/vulture); code=$$?; [ $$code -eq 0 ] || [ $$code -eq 3 ] || exit $$code; \
		! echo "$$found" | grep -v '^tests/' | grep .
	$(BIN)/python -m pytest --quiet tests/test_structure.py

bench: $(VENV)/.developing ## figures beside a bare server and a bare extractor
	$(BIN)/python -m tests.bench.latency --write docs/benchmarks.md
	@if [ -d $(CORPUS) ]; then $(BIN)/python -m tests.bench.extraction; $(BIN)/python -m tests.bench.corpus $(CORPUS); fi

soak: $(VENV)/.developing ## the long tests, which print their figures
	$(BIN)/python -m pytest -m soak --capture=no $(ARGS)

conformance: $(VENV)/.developing ## the official conformance suite and the Inspector, over Node
	tests/conformance/run $(ARGS)

packages: $(VENV)/.developing ## install wheel and bundle, carry the Dockerfile out, and ask each
	tests/conformance/run -m packaging tests/packaging $(ARGS)

dist: $(VENV)/bin/python ## a wheel in dist/
	@rm -rf build dist
	$(PIP) wheel --no-deps --wheel-dir dist .
	@rm -rf build
	@ls dist

bundle: $(VENV)/.installed ## an .mcpb bundle for desktop clients in dist/
	@$(BIN)/python -m deploy.bundle

pins: $(VENV)/.developing ## write the versions that are installed into constraints.txt
	@{ sed -n '/^#/p' constraints.txt; $(PIP) freeze --exclude-editable; } > constraints.new && mv constraints.new constraints.txt

clean: ## remove the environment and everything made; data/ stays
	rm -rf $(VENV) build dist *.egg-info .coverage .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
