# make demo: install and show the main job.  make test: lint, types and every test.
PYTHON ?= python3
BIN := .venv/bin
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)

.PHONY: demo test lint types unit test-browser slow format bench clean

demo: .venv/installed
	$(BIN)/python examples/quickstart.py

test: lint types unit

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed-dev
	$(BIN)/mypy

unit: .venv/installed-dev
	$(BIN)/python -m pytest -n auto -m "not slow and not browser" --cov --cov-report=term:skip-covered

# The report in a real browser; where none can be installed the tests say so and are skipped.
test-browser: .venv/installed-dev
	@{ command -v chromium && command -v chromedriver; } >/dev/null || { \
		$(SUDO) apt-get update -qq && \
		$(SUDO) apt-get install -qq -y --no-install-recommends chromium chromium-driver >/dev/null; \
	} || echo "Neither chromium nor a way to install it: the browser tests will be skipped."
	$(BIN)/python -m pytest -m browser tests/report

slow: .venv/installed-dev
	$(BIN)/python -m pytest -n auto -m slow

format: .venv/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/installed-dev
	$(BIN)/python benchmarks/core.py

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

.venv/installed-dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@ .venv/installed

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .coverage .hypothesis
