# Everything runs in .venv, which is made on first use. Needs Python 3.11 or newer and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.installed
STAMP := $(VENV)/.complete
# Two tests for each core at a time: they wait for servers, processes and disks half of the time.
WORKERS := $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))

# Tests start hundreds of processes, and each would compile all that it imports: bytecode is kept, whatever the caller's environment says.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test check soak coverage audit mutation lint bench bench-billion figures docs vectors clean
help:                     ## show what can be done
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' Makefile

# What runs, and what tests, docs and benchmarks need on top: the demo does not wait for the second.
$(RUNS): pyproject.toml constraints.txt scripts/setup.sh
	@sh scripts/setup.sh "$(PYTHON)" "$(VENV)"

$(STAMP): $(RUNS) constraints-beam.txt scripts/setup_tests.sh
	@sh scripts/setup_tests.sh "$(PYTHON)" "$(VENV)"

setup: $(STAMP)           ## make the whole environment, with what tests, docs and benchmarks need

demo: $(RUNS)             ## 20,000 devices report to a collector on this machine (about a minute); SERVE=1 keeps it serving
	@$(BIN)/deniable demo $(if $(SERVE),--serve)

test: $(STAMP)            ## run all tests
	@echo "running the tests (about a quarter of an hour on two cores) ..."
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

check: $(STAMP) lint      ## formatting, types, laws, and the tests of the nouns: two minutes, while you work
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests/laws tests/contract tests/client tests/core

soak: $(STAMP)            ## the long runs: tables of PEM with 1,000 runs a cell, coverage of intervals, servers killed 200 times, hostile publications (about 85 minutes on two cores)
	@$(BIN)/python -m pytest soak -n auto

coverage: $(STAMP)        ## all tests, and which lines they do not reach (about an hour)
	@rm -f .bench/coverage.data*
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --cov --cov-report=term:skip-covered --cov-report=html:.bench/coverage

audit: $(STAMP)           ## licenses of what users install, and known vulnerabilities of everything that is installed
	@$(BIN)/python scripts/checks/licenses.py && $(BIN)/python scripts/checks/audit.py

mutation: $(STAMP)        ## how many of 100 small faults in contract, client, core and tasks the tests find (half an hour)
	@$(BIN)/python mutation/run.py

lint: $(STAMP)            ## formatting, lint, types, import order, words
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python scripts/checks/voice.py

bench: $(STAMP)           ## side by side with the other libraries and with plain C
	@$(BIN)/python benchmarks/run.py

bench-billion: $(STAMP)   ## a billion reports counted on two cores, beside Polars and DuckDB (some minutes, 2.6 GB of disk)
	@$(BIN)/python benchmarks/billion.py

figures: $(STAMP)         ## draw the docs' figures and run its notebooks anew, theory and measurement (more than half an hour on two cores)
	@$(BIN)/python scripts/figures/make_figures.py && $(BIN)/python scripts/docs/make_notebooks.py && git status --short docs/figures docs/notebooks

docs: $(STAMP)            ## the docs as a site in site/: every page, and the reference of public names
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet && echo "open site/index.html, or: $(BIN)/mkdocs serve"

vectors: $(STAMP)         ## write the test vectors anew (a change of meaning: bump the version)
	@$(BIN)/python scripts/vectors/make_vectors.py && git status --short vectors

clean:                    ## remove the environment and what was built
	rm -rf $(VENV) $(VENV)-beam site .bench demo-output .hypothesis .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find src tests -name __pycache__ -prune -exec rm -rf {} +
