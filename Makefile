# make demo: the main job on the bundled corpus.   make test: lint, types, layers, tests, and the wheel.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test lint format check-wheel clean

demo: $(VENV)/installed
	@$(BIN)/mproto demo

test: lint
	$(BIN)/pytest
	@$(MAKE) --no-print-directory check-wheel

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# An sdist, a wheel built from it, and that wheel installed where nothing else is: the bundled data must be inside.
check-wheel: $(VENV)/installed-dev
	@rm -rf build
	@$(BIN)/python -m build --no-isolation --outdir build . > build.log 2>&1 || { cat build.log; exit 1; }
	@rm build.log
	@$(PYTHON) -m venv build/venv
	@build/venv/bin/python -m pip --disable-pip-version-check --quiet install -c constraints.txt build/*.whl
	@build/venv/bin/python -I tests/check_wheel.py

clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache $(VENV)
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "mproto needs Python 3.11 or newer: make $(MAKECMDGOALS) PYTHON=python3.12, say"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing into $(VENV) …"
	@$(PIP) install -c constraints.txt -e '.[report,train]'
	@touch $@

$(VENV)/installed-dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing development tools into $(VENV) …"
	@$(PIP) install -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/installed
