# Every target works on a fresh machine with python3 (>= 3.11, with venv and pip) and make.
# The first run of a target installs what it needs into .venv; later runs start at once.

PYTHON ?= python3
VENV   ?= .venv
WORKERS ?= 2
ARGS   ?=
COUNT  ?= 2000

BIN     := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt
PINS    := pyproject.toml constraints.txt

# Two workers share the cores: threads that wait must sleep, or each slows the other tenfold.
export OPENBLAS_THREAD_TIMEOUT ?= 4
export OMP_WAIT_POLICY ?= PASSIVE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-all coverage fuzz soak check format docs bench clean distclean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.app  ## mercer fit on data that comes with the library: a table, a model, a report
	@$(BIN)/mercer demo $(ARGS)

test: $(VENV)/.dev  ## run the tests, of long ones and large matrices a sample (minutes)
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal $(ARGS)

test-all: $(VENV)/.dev  ## run all tests and all cases
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m "" $(ARGS)

coverage: $(VENV)/.dev  ## branch coverage of `make test`: the least covered files, and all lines in build/coverage
	@$(BIN)/python -m coverage run -m pytest -q $(ARGS)
	@$(BIN)/python -m coverage html -q
	@$(BIN)/python -m coverage report

fuzz: $(VENV)/.dev  ## damaged and made-up input for all that reads, COUNT of each kind; prints counts and findings
	@failed=0; for script in tests/fuzz/fuzz_*.py; do \
		$(BIN)/python -m "tests.fuzz.$$(basename $$script .py)" --count $(COUNT) $(ARGS) || failed=1; \
	done; exit $$failed

soak: $(VENV)/.dev  ## mixed fits for an hour: memory must not grow
	@$(BIN)/python -m tests.fuzz.soak $(ARGS)

check: $(VENV)/.dev  ## lint, format, types, architecture, the packages that would be published
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -q -m "" tests/test_architecture.py
	@rm -rf build/packages
	@$(BIN)/python -m build --no-isolation --outdir build/packages . >/dev/null
	@$(BIN)/twine check --strict build/packages/*

format: $(VENV)/.dev  ## format the code and fix what the linter can
	@$(BIN)/ruff check --fix-only -q .
	@$(BIN)/ruff format .

docs: $(VENV)/.docs  ## build the documentation into docs/_build/html
	@rm -rf docs/generated  # pages of names that are no longer there
	@$(BIN)/python -m sphinx -b html -W --keep-going -q $(ARGS) docs docs/_build/html
	@echo "Documentation: docs/_build/html/index.html"

bench: $(VENV)/.bench  ## measure the claims of the benchmarks page
	@for script in benchmarks/[!_]*.py; do echo "== $$script"; $(BIN)/python "$$script" $(ARGS) || exit 1; done

clean:  ## remove caches and built pages, keep .venv
	@rm -rf build dist .pytest_cache .hypothesis .mypy_cache .ruff_cache
	@rm -rf docs/_build docs/generated docs/gallery docs/sg_execution_times.rst
	@find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +

distclean: clean  ## remove .venv as well
	@rm -rf $(VENV)

# One stamp for each set of requirements; a change of the pins makes all of them stale.

$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit("mercer needs Python 3.11 or newer, $(PYTHON) is %d.%d: try make PYTHON=python3.12" % v[:2])'
	@echo "Creating $(VENV) ..."
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/.core: $(PINS) | $(BIN)/python
	@echo "Installing mercer (once; a minute or so) ..."
	@$(INSTALL) -e .
	@touch $@

$(VENV)/.app: $(PINS) | $(BIN)/python
	@echo "Installing mercer with its command (once; a minute or so) ..."
	@$(INSTALL) -e '.[app]'
	@touch $(VENV)/.core $@

$(VENV)/.dev: $(PINS) | $(BIN)/python
	@echo "Installing mercer with what the tests need (once; a minute or so) ..."
	@$(INSTALL) -e '.[dev]'
	@touch $(VENV)/.core $(VENV)/.app $@

$(VENV)/.docs: $(PINS) | $(BIN)/python
	@echo "Installing mercer with what the documentation needs (once; a minute or so) ..."
	@$(INSTALL) -e '.[docs]'
	@touch $(VENV)/.core $@

$(VENV)/.bench: benchmarks/requirements.txt $(VENV)/.core
	@echo "Installing the libraries to compare with (once) ..."
	@$(INSTALL) -r benchmarks/requirements.txt || echo "Some are not available here: their columns stay empty."
	@touch $@
