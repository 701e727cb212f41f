# Everything a newcomer needs: `make demo` and `make test` set up their own virtual environment.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test nightly peers golden sanitize core other-pythons oldest no-cupy no-compiler pre-commit package
.PHONY: python-engine processes architectures
.PHONY: lint types laws bench docs site-test gpu clean
.DELETE_ON_ERROR:

help:
	@echo "make demo    train a network on handwritten digits, then check its gradients"
	@echo "make test    lint, types and the whole test suite"
	@echo "make nightly all targets of the next line, and what each took; about two hours on two cores"
	@echo "             $(NIGHTLY)"
	@echo "make lint    ruff and import-linter"
	@echo "make types   mypy"
	@echo "make laws    ops x laws: every primitive against every law"
	@echo "make bench   lucidgrad and its peers, interleaved in one process"
	@echo "make gpu     everything there is to check on a GPU, and one report; without one on the emulated device"
	@echo "make docs    the site, in docs/build/html: guides, examples with their pictures, every public name"
	@echo "make clean   remove what the other targets made"

demo: $(VENV)/.demo
	$(BIN)/python examples/digits.py

test: lint types
	-$(BIN)/python -m lucidgrad.backends.native
	$(BIN)/python -m pytest -n 2 --durations=10
	LUCIDGRAD_ENGINE=python $(BIN)/python -m pytest -q -n 2 $(ENGINES)

# What the engine in C and the one in Python could differ in; `python-engine` runs more by the latter.
ENGINES = tests/engine tests/semantics --ignore tests/engine/test_native.py

# What takes longer than a contributor should wait. Each kind of check is there once: linters and types in pre-commit,
# the whole suite in peers, its core where versions or machines differ. A failure does not keep others from running.
NIGHTLY ?= pre-commit package golden sanitize site-test no-compiler no-cupy python-engine oldest other-pythons peers \
    processes architectures
nightly: $(VENV)/.nightly
	$(BIN)/python -m tools.nightly $(NIGHTLY)

# Parts of the suite that take long at night: each is a target of its own.
PROCESSES = tests/distributed
ARCHITECTURES = tests/codegen/test_nvrtc.py tests/codegen/test_assembled.py

# The whole suite with random cases by the thousand, others each night, beside torch, jax and NVRTC: in three parts.
peers: tests = $(addprefix --ignore ,$(PROCESSES) $(ARCHITECTURES))
processes: tests = $(PROCESSES)
architectures: tests = $(ARCHITECTURES)
peers processes architectures: $(VENV)/.nightly
	LUCIDGRAD_NIGHTLY=1 $(BIN)/python -m pytest -n 2 --durations=10 $(tests)

# What PyTorch answers now is what was recorded of it.
golden: $(VENV)/.nightly
	$(BIN)/python -m tests.golden --check

sanitize: $(VENV)/.test
	$(BIN)/python -m tests.sanitize

# Interpreters that are not there are named and left out; a path names one, too. Those of pyenv need not be chosen.
PYTHONS ?= $(foreach v,3.12 3.13,$(or $(lastword $(wildcard $(PYENV_ROOT)/versions/$v.*/bin/python)),python$v))
PYENV_ROOT ?= $(HOME)/.pyenv
other-pythons:
	@failed=; for python in $(PYTHONS); do \
	  if version=$$($$python -c 'import sys; print(*sys.version_info[:2], sep=".")' 2>/dev/null); then \
	    $(MAKE) core PYTHON=$$python VENV=.venv-$$version || failed="$$failed $$version"; \
	  else echo "$$python does not run here: not tested"; fi; \
	done; test -z "$$failed" || { echo "failed:$$failed" >&2; exit 1; }

# The folders that meet whatever differs between versions of dependencies and between machines. Each night one test of
# SHARE is run in each of these surroundings, others the next night; SHARE=1 runs them all.
SHARE ?= 4
core oldest no-cupy no-compiler python-engine: export LUCIDGRAD_SHARE := $(SHARE)
CORE ?= tests/engine tests/autograd tests/ops tests/func tests/nn tests/optim tests/laws tests/test_files.py

core: $(VENV)/.test
	-$(BIN)/python -m lucidgrad.backends.native
	$(BIN)/python -m pytest -n 2 $(CORE) lucidgrad

# The same with nothing of the engine in C.
python-engine: $(VENV)/.test
	LUCIDGRAD_ENGINE=python $(BIN)/python -m pytest -n 2 $(CORE) lucidgrad

# The oldest versions that pyproject.toml allows; the tests' own dependencies follow them.
OLDEST = $(shell sed -n 's/^dependencies = //p' pyproject.toml | tr ',' '\n' | tr -d '[]" ' | sed 's/>=\(.*\)/==\1.*/')
oldest: .venv-oldest/.ready
	.venv-oldest/bin/python -m pip list | grep -iE '^(numpy|array.api.compat) '
	.venv-oldest/bin/python -m pytest -n 2 $(CORE)

# Without CuPy there is no CUDA: its tests are skipped, and say so. Everything else must work.
no-cupy: .venv-no-cupy/.ready
	.venv-no-cupy/bin/python -m pytest -n 2 -rs $(CORE) tests/cuda tests/cudasim

# Without a compiler there are no compiled kernels and no emulated device; caches of earlier runs are not looked at.
NO_COMPILER = PATH=$(abspath $(BIN)) XDG_CACHE_HOME=$(abspath $(VENV))/no-compiler LUCIDGRAD_WITHOUT_CUDA=1
no-compiler: $(VENV)/.test
	rm -rf $(VENV)/no-compiler
	$(NO_COMPILER) $(BIN)/python -m lucidgrad --device cpu
	$(NO_COMPILER) $(BIN)/python -m pytest -n 2 -rs $(CORE) tests/cpu

pre-commit: $(VENV)/.test
	$(BIN)/python -m pip install --quiet pre-commit
	PATH=$(abspath $(BIN)):$$PATH $(BIN)/pre-commit run --all-files

# sdist and wheel of both distributions in dist/; the tests of the repository pass in what is unpacked. TAG=v1.2.3 must
# be the version. Where a release is built, the address of the repository becomes part of them.
package: $(VENV)/.test
	rm -rf dist
	$(BIN)/python -m pip install --quiet build twine
	$(BIN)/python -m tools.urls
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python -m build --no-isolation --outdir dist packages/cudasim
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python -m tools.package dist $(TAG)

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

# Tests on the device, errors, sanitizer and speed, as far as there are tools for it: gpu-report/report.html.
gpu: $(VENV)/.test
	$(BIN)/python -m lucidgrad.check_gpu --emulate $(GPU)

# Warnings are errors; the gallery runs the examples, one of them on the emulated CUDA device. No network is needed.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/build/html

# The site in a browser, and its links. Debian's browser is installed where that is possible.
site-test: docs $(VENV)/.test
	command -v chromium >/dev/null || apt-get install --yes chromium || echo "no chromium: pages are not looked at"
	LUCIDGRAD_NIGHTLY=1 $(BIN)/python -m pytest tests/site

clean:
	rm -rf docs/build docs/gallery docs/reference docs/sg_execution_times.rst
	rm -rf $(VENV) .venv-* build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One environment, one stamp per set of extras; a stamp is renewed when pyproject.toml changes.
$(VENV)/.demo: extras := [demo]
$(VENV)/.test: extras := [test]
$(VENV)/.nightly: extras := [test,nightly]
$(VENV)/.bench: extras := [bench]
$(VENV)/.docs: extras := [docs]

$(VENV)/.demo $(VENV)/.test $(VENV)/.nightly $(VENV)/.bench $(VENV)/.docs: pyproject.toml | $(BIN)/pip
	$(BIN)/python -m pip install --quiet --editable '.$(extras)'
	@touch $@

# Environments that differ have folders of their own.
.venv-oldest/.ready: versions = $(foreach it,$(OLDEST),'$(it)')
.venv-no-cupy/.ready: without := cupy-cuda12x

.venv-oldest/.ready .venv-no-cupy/.ready: pyproject.toml
	$(MAKE) $(@D)/bin/pip VENV=$(@D)
	$(@D)/bin/python -m pip install --quiet --editable '.[test]' $(versions)
	$(if $(without),$(@D)/bin/python -m pip uninstall --quiet --yes $(without))
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
