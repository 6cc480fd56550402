# Everything sets itself up: python3 and the package registries are all that is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/core.stamp
DEV := $(VENV)/dev.stamp
DOCS := $(VENV)/docs.stamp
NATIVE := $(wildcard src/mtgauge/compare/native/*.[ch] backend/*.py) setup.py
SOURCES := src tests bench recipes backend setup.py docs/*.py

.PHONY: demo test lint bench docs dist dist-test native clean

demo: $(CORE)  ## compare three systems on example data
	@$(BIN)/mtgauge demo

test: $(DEV) lint  ## style, types and all tests, with coverage
	$(BIN)/python -m pytest -n 2 --cov=mtgauge

lint: $(DEV)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy

bench: $(DEV)  ## speed and memory beside the peers, as ratios
	for script in bench/*.py; do $(BIN)/python $$script || exit 1; done

docs: $(DOCS)  ## build the documentation in site/; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html is the first page"

dist: $(DEV)  ## wheel and source distribution
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python -m build

native: $(DEV)  ## compile the C library in place, after a change of its sources
	$(BIN)/python backend/native.py

# What was built, as it is installed: the tests of the source distribution, without its src, in a
# fresh environment. TESTS names some of them: make dist-test TESTS=tests/test_cli.py
dist-test: FRESH := $(or $(TMPDIR),/tmp)/mtgauge-dist-test
dist-test: dist  ## test the wheel as installed
	rm -rf $(FRESH) && mkdir $(FRESH)
	tar --extract --gzip --file $$(ls -t dist/*.tar.gz | head -1) --directory $(FRESH) --strip-components 1
	rm -r $(FRESH)/src
	$(PYTHON) -m venv $(FRESH)/venv
	$(FRESH)/venv/bin/python -m pip install --quiet --constraint constraints.txt "$$(ls -t dist/*.whl | head -1)[dev]"
	cd $(FRESH) && venv/bin/python -c "import mtgauge; assert 'site-packages' in mtgauge.__file__"
	cd $(FRESH) && PATH=$(FRESH)/venv/bin:$$PATH venv/bin/python -m pytest -n 2 $(TESTS)
	$(FRESH)/venv/bin/mtgauge selftest

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(CORE): $(BIN)/python pyproject.toml $(NATIVE)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	@touch $@

$(DEV): $(BIN)/python pyproject.toml constraints.txt $(NATIVE)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(CORE)

$(DOCS): $(CORE)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	@touch $@

clean:
	rm -rf $(VENV) build dist site .coverage .mypy_cache .pytest_cache .ruff_cache
