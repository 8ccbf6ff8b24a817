# Everything runs from .venv, which is made here on a fresh machine. Python >= 3.11 is all that has to be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FUZZ_SECONDS ?= 600
STAMP := $(VENV)/.installed

.PHONY: demo test check bench fuzz components proto proto-check lint types format clean
.DEFAULT_GOAL := demo

$(STAMP): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "Python >= 3.11 is needed: set PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python >= 3.11 is needed: set PYTHON=/path/to/python3"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Setting up $(VENV) (about a minute the first time)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check uv && $(BIN)/uv pip install -q -p $(BIN)/python -e '.[dev]'
	@touch $@

demo: $(STAMP)  ## the main job: an agent that fails and is steered back, on the embedded detector
	@$(BIN)/spanward demo

check: $(STAMP)  ## the everyday loop: what needs no real component and tells something in time
	@$(BIN)/python -m pytest -m "not real and not slow" -n auto --hypothesis-profile=quick

test: $(STAMP) components  ## every test, real components included
	@$(BIN)/python -m pytest

bench: $(STAMP) components  ## performance, each figure beside its baseline of the same run; JSON
	@$(BIN)/spanward bench --json

fuzz: $(STAMP)  ## hostile input to every parser, FUZZ_SECONDS=600 in all; guided by coverage where atheris can be had
	@$(BIN)/uv pip install -q -p $(BIN)/python -e '.[dev,fuzz]' || echo "atheris cannot be had here: going on without"
	@$(BIN)/python -m fuzz --seconds $(FUZZ_SECONDS) --json

components: $(STAMP)  ## a real Collector, Jaeger, Prometheus and a sentence model under .components/, cached
	@scripts/components.sh

proto:  ## regenerate the control protocol's Python
	@scripts/proto.sh

proto-check:  ## fail when the generated code is stale
	@scripts/proto.sh --check

lint: $(STAMP)
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

format: $(STAMP)
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

types: $(STAMP)
	@$(BIN)/mypy

clean:
	@rm -rf $(VENV) .components .pytest_cache .mypy_cache .ruff_cache dist build
