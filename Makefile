# Everything runs in .venv, which is made on first use. Needs Python 3.11 or newer and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.complete

.PHONY: help setup demo test soak coverage mutation lint bench bench-billion figures docs vectors clean
help:                     ## show what can be done
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' Makefile

$(STAMP): pyproject.toml constraints.txt constraints-beam.txt scripts/setup.sh
	@sh scripts/setup.sh "$(PYTHON)" "$(VENV)"

setup: $(STAMP)           ## make the environment

demo: $(STAMP)            ## 20,000 devices report to a collector on this machine (about a minute); SERVE=1 keeps it serving
	@$(BIN)/deniable demo $(if $(SERVE),--serve)

test: $(STAMP)            ## run all tests
	@echo "running the tests (about sixteen minutes on two cores) ..."
	@$(BIN)/python -m pytest -n auto --dist worksteal

soak: $(STAMP)            ## the long runs: tables of PEM with 1,000 runs a cell, servers killed 200 times (twenty minutes on two cores)
	@$(BIN)/python -m pytest soak -n auto

coverage: $(STAMP)        ## all tests, and which lines they do not reach (half an hour)
	@$(BIN)/python -m pytest -n auto --dist worksteal --cov=deniable --cov-report=term:skip-covered --cov-report=html:.bench/coverage

mutation: $(STAMP)        ## how many of 100 small faults in contract, client and core the tests find (half an hour)
	@$(BIN)/python mutation/run.py

lint: $(STAMP)            ## formatting, lint, types, import order
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(STAMP)           ## side by side with the other libraries and with plain C
	@$(BIN)/python benchmarks/run.py

bench-billion: $(STAMP)   ## a billion reports counted on two cores, beside Polars and DuckDB (some minutes, 2.6 GB of disk)
	@$(BIN)/python benchmarks/billion.py

figures: $(STAMP)         ## draw the docs' figures anew, theory and measurement (some minutes)
	@$(BIN)/python scripts/make_figures.py && $(BIN)/python scripts/make_mean_figures.py && $(BIN)/python scripts/make_distribution_figures.py && $(BIN)/python scripts/make_delta_figure.py && $(BIN)/python scripts/make_series_figure.py && $(BIN)/python scripts/make_marginals_figure.py && $(BIN)/python scripts/make_range_figure.py && $(BIN)/python scripts/make_page_figures.py && $(BIN)/python scripts/make_notebooks.py && git status --short docs/figures docs/notebooks

docs: $(STAMP)            ## the docs as a site in site/: every page, and the reference of public names
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet && echo "open site/index.html, or: $(BIN)/mkdocs serve"

vectors: $(STAMP)         ## write the test vectors anew (a change of meaning: bump the version)
	@$(BIN)/python scripts/make_vectors.py && git status --short vectors

clean:                    ## remove the environment and what was built
	rm -rf $(VENV) $(VENV)-beam site .bench demo-output .hypothesis .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find src tests -name __pycache__ -prune -exec rm -rf {} +
