# Two commands for a fresh Debian machine with Python 3.11:
#   make demo   installs into .venv and diagnoses a real log of a server that died
#   make test   installs, brings what the tests need, runs all of them
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test check lint types contracts rules docs bench clean

# A dependency group needs pip 25.1; Debian 12 has 23.0.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "sgdoctor needs Python 3.11 or newer (make PYTHON=python3.12 ...)"; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { echo "the venv module is missing: apt-get install python3-venv"; exit 2; }
	@$(PIP) install --upgrade 'pip>=25.1'

$(VENV)/.run: $(BIN)/python pyproject.toml
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.run pyproject.toml
	@$(PIP) install --group dev
	@touch $@

# diagnose says with its exit code 3 that a failure was found: here that is success.
demo: $(VENV)/.run
	@$(BIN)/sgdoctor diagnose --phases fixtures/logs/real/article27-mfs-0.80.log; test $$? -eq 3

# The checks of the code each use one core, so they run side by side.
test: $(VENV)/.dev
	@$(MAKE) --no-print-directory --jobs --output-sync lint types contracts rules
	$(BIN)/python -m pytest -n auto

check: test

lint: $(VENV)/.dev
	$(BIN)/ruff check src tests tools benchmarks
	$(BIN)/ruff format --check src tests tools benchmarks

types: $(VENV)/.dev
	$(BIN)/mypy

contracts: $(VENV)/.dev
	$(BIN)/lint-imports

rules: $(VENV)/.dev
	$(BIN)/sgdoctor rules check

docs: $(VENV)/.dev
	$(BIN)/sgdoctor rules docs docs/rules
	$(BIN)/sgdoctor rules schema > rules/schema.json
	$(BIN)/python tools/healthy_lines.py
	$(BIN)/python tools/readme_output.py
	$(BIN)/python tools/key_tables.py
	$(BIN)/python tools/fix_output.py
	$(BIN)/python tools/pictures.py

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
