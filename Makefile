# Every target sets up what it needs: a virtual environment in .venv, the public models in models/.
# PYTHON chooses the interpreter (3.11 or newer) that makes the environment.
PYTHON ?= python3
BIN := .venv/bin
# One worker a processor; plain pytest runs them in one process.
PYTEST := .venv/bin/pytest -q -n auto --maxprocesses 8 --dist worksteal
CODE := meshloom analysis chips dialects emulator formats frontend lowering mapping support tools transforms test bench examples

.PHONY: help demo test test-all lint unit filecheck bench models format clean

help:
	@echo "make demo      compile and run a small trained network, explain its answer"
	@echo "make test      style, types, unit tests, IR tests, small models end to end (minutes)"
	@echo "make test-all  make test and everything that takes longer"
	@echo "make bench     figures of all public models and of ONNX's own test suite, as JSON lines"
	@echo "make models    download the public models into models/"
	@echo "make format    bring the sources into the project's style"

demo: .venv/.demo models/.ready
	@$(BIN)/python examples/what_file_is_this.py README.md Makefile tools/run.py

# The type checker takes one processor, IR tests take what is left; unit tests begin as soon as one of the two is done.
test: .venv/.ready models/.ready
	@$(MAKE) --no-print-directory -j2 lint filecheck unit

# The type checker makes many short-lived objects: with a larger space for these it takes a fifth less time.
lint: .venv/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	NODE_OPTIONS=--max-semi-space-size=128 $(BIN)/basedpyright

filecheck: .venv/.ready
	$(BIN)/lit -v $(LIT_OPTIONS) test/filecheck

unit: .venv/.ready models/.ready
	$(PYTEST) -m "not slow" --durations=15 $(PYTEST_OPTIONS) test

test-all: .venv/.ready models/.ready
	@$(MAKE) --no-print-directory -j2 lint filecheck LIT_OPTIONS="-D processes=new"
	$(PYTEST) --durations=30 $(PYTEST_OPTIONS) test

bench: .venv/.ready models/.ready
	@$(BIN)/python bench/models.py
	@$(BIN)/python bench/onnx_suite.py

models: models/.ready

format: .venv/.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv models build dist .pytest_cache .ruff_cache .hypothesis

# What the README's commands need; the tools for tests and figures are several times as large.
.venv/.demo: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: $(PYTHON) is older than 3.11: give another one, as in make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || { echo "making the virtual environment .venv"; $(PYTHON) -m venv .venv; }
	@echo "installing Meshloom and what it needs into .venv"
	@$(BIN)/python -m pip install --disable-pip-version-check --editable '.[check,report]'
	@touch $@

.venv/.ready: .venv/.demo
	@echo "installing the tools for tests and figures into .venv"
	@$(BIN)/python -m pip install --disable-pip-version-check --editable '.[dev,bench,report,nir]'
	@touch $@

models/.ready: bench/fetch_models.py | .venv/.demo
	@echo "downloading the public models into models/ (48 MB)"
	@$(BIN)/python bench/fetch_models.py models
	@touch $@
