# Everything sets itself up: python3 and the package registries are all that is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/core.stamp
DEV := $(VENV)/dev.stamp
SOURCES := src tests bench recipes

.PHONY: demo test lint bench docs clean

demo: $(CORE)  ## compare three systems on example data
	@$(BIN)/mtgauge demo

test: $(DEV) lint  ## style, types and all tests
	$(BIN)/python -m pytest -n 2

lint: $(DEV)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy

bench: $(DEV)  ## speed and memory beside the peers, as ratios
	for script in bench/*.py; do $(BIN)/python $$script || exit 1; done

docs: $(DEV)  ## run every example of the documentation
	$(BIN)/python -m pytest tests/test_docs.py

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(CORE): $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	@touch $@

$(DEV): $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(CORE)

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache
