# Everything a newcomer needs: `make demo` and `make test` set up their own virtual environment.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test nightly sanitize other-pythons lint types laws bench clean
.DELETE_ON_ERROR:

help:
	@echo "make demo    train a network on handwritten digits, then check its gradients"
	@echo "make test    lint, types and the whole test suite"
	@echo "make nightly as test, with peers installed, thousands of random cases, sanitizers and other Pythons"
	@echo "make lint    ruff and import-linter"
	@echo "make types   mypy"
	@echo "make laws    ops x laws: every primitive against every law"
	@echo "make bench   lucidgrad and its peers, interleaved in one process"
	@echo "make clean   remove what the other targets made"

demo: $(VENV)/.demo
	$(BIN)/python examples/digits.py

test: lint types
	$(BIN)/python -m pytest -n 2 --durations=10

# What takes longer than a contributor should wait: random cases by the thousand, beside torch, jax and NVRTC.
nightly: lint types sanitize other-pythons $(VENV)/.nightly
	LUCIDGRAD_NIGHTLY=1 $(BIN)/python -m pytest -n 2 --durations=10

sanitize: $(VENV)/.test
	$(BIN)/python -m tests.sanitize

# Interpreters that are not there are named and left out.
PYTHONS ?= python3.12 python3.13
other-pythons:
	@for python in $(PYTHONS); do \
	  if $$python -c "" 2>/dev/null; then \
	    $(MAKE) test PYTHON=$$python VENV=.venv-$$python || exit 1; \
	  else echo "$$python does not run here: not tested"; fi; \
	done

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.test
	$(BIN)/mypy

laws: $(VENV)/.test
	$(BIN)/python -m pytest -q tests/laws

bench: $(VENV)/.bench
	@mkdir -p bench/results
	$(BIN)/python -m bench --json bench/results/latest.json --chart bench/results/latest.png

clean:
	rm -rf $(VENV) .venv-* build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One environment, one stamp per set of extras; a stamp is renewed when pyproject.toml changes.
$(VENV)/.demo: extras := [demo]
$(VENV)/.test: extras := [test]
$(VENV)/.nightly: extras := [test,nightly]
$(VENV)/.bench: extras := [bench]

$(VENV)/.demo $(VENV)/.test $(VENV)/.nightly $(VENV)/.bench: pyproject.toml | $(BIN)/pip
	$(BIN)/python -m pip install --quiet --editable '.$(extras)'
	@touch $@

$(BIN)/pip:
	@command -v "$(PYTHON)" >/dev/null || { \
	  echo "$(PYTHON) not found: install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "lucidgrad needs Python 3.11 or newer; $(PYTHON) is $$("$(PYTHON)" -V 2>&1)." >&2; \
	  echo "Name another one: make PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "$(PYTHON) can't make virtual environments: its venv or ensurepip module is missing." >&2; \
	  echo "On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	"$(PYTHON)" -m venv --clear $(VENV)
