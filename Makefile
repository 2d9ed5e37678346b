# make demo: install and show the main job.  make test: lint, types and every test.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint types unit slow format bench clean

demo: .venv/installed
	$(BIN)/python examples/quickstart.py

test: lint types unit

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed-dev
	$(BIN)/mypy

unit: .venv/installed-dev
	$(BIN)/python -m pytest -n auto -m "not slow" --cov --cov-report=term:skip-covered

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
