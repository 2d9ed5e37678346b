# make demo: install, compare models on an embedded table, write a report.
# make test: lint, types and every test.  make fuzz: broken files, for longer.
# make tables: the papers' tables.  make bench: the peers.
PYTHON ?= python3
BIN := .venv/bin
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)

.PHONY: demo test lint types unit coverage test-browser slow fuzz format bench tables docs dist clean

demo: .venv/installed
	$(BIN)/everypair demo

# Lint and types run beside the tests, so that no core waits, and all run to their end. What failed
# is named last; a complaint of lint may stand among the first lines of the tests.
test:
	$(MAKE) --no-print-directory --keep-going -j3 lint types unit

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

# To write the cache takes as long as it saves later. Where there is one (`.venv/bin/mypy` by hand
# makes it) it is used.
types: .venv/installed-dev
	$(BIN)/mypy $(if $(wildcard .mypy_cache),,--cache-dir=/dev/null)

# Workers, and the processes that tests start, read the byte code that the first one wrote.
unit coverage slow test-browser: export PYTHONDONTWRITEBYTECODE =

unit: .venv/installed-dev
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow and not browser" --durations=10

# The same tests with a count of the lines they reach, which takes half as long again.
coverage: .venv/installed-dev
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow and not browser" --cov --cov-report=term:skip-covered

# The report in a real browser; where none can be installed the tests say so and are skipped.
test-browser: .venv/installed-dev
	@{ command -v chromium && command -v chromedriver; } >/dev/null || { \
		$(SUDO) apt-get update -qq && \
		$(SUDO) apt-get install -qq -y --no-install-recommends chromium chromium-driver >/dev/null; \
	} || echo "Neither chromium nor a way to install it: the browser tests will be skipped."
	$(BIN)/python -m pytest -m browser tests/app/report

slow: .venv/installed-dev
	$(BIN)/python -m pytest -n auto --dist worksteal -m slow

# Broken files on the command line: make fuzz SECONDS=600 SEED=7
SECONDS ?= 120
SEED ?= 0
fuzz: .venv/installed-dev
	$(BIN)/python tests/fuzz/run.py --seconds $(SECONDS) --seed $(SEED)

format: .venv/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	$(BIN)/python -m lab bench core --write
	$(BIN)/python -m lab peers

tables: .venv/installed-dev
	$(BIN)/python -m lab papers all

# The documentation as a site, in docs/_build/html; any warning is an error.
docs: .venv/installed-docs
	$(BIN)/sphinx-build -W --keep-going -q -c docs -b html . docs/_build/html

# The wheel and the source archive in dist/: built twice, equal to the byte, and checked.
dist: .venv/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build twine
	rm -rf dist
	for folder in dist dist/again; do \
		SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m build --outdir $$folder . >/dev/null || exit 1; \
	done
	for file in dist/again/*; do cmp $$file dist/$$(basename $$file) || exit 1; done
	rm -r dist/again
	$(BIN)/twine check --strict dist/*
	ls -l dist

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[cli,report]"
	touch $@

.venv/installed-dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@ .venv/installed

.venv/installed-docs: .venv/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	touch $@

clean:
	rm -rf .venv dist docs/_build .pytest_cache .mypy_cache .ruff_cache .coverage .hypothesis
