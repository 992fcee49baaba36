# Everything runs in .venv, which is made on first use. Needs Python 3.11 or newer and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.complete

.PHONY: help setup demo test soak lint bench figures vectors clean
help:                     ## show what can be done
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' Makefile

$(STAMP): pyproject.toml constraints.txt scripts/setup.sh
	@sh scripts/setup.sh "$(PYTHON)" "$(VENV)"

setup: $(STAMP)           ## make the environment

demo: $(STAMP)            ## 20,000 devices report to a collector on this machine (about a minute); SERVE=1 keeps it serving
	@$(BIN)/deniable demo $(if $(SERVE),--serve)

test: $(STAMP)            ## run all tests
	@echo "running the tests (about twenty-five minutes on two cores) ..."
	@$(BIN)/python -m pytest -n auto --dist worksteal

soak: $(STAMP)            ## the long runs: tables of PEM with 1,000 runs a cell, servers killed 200 times (twenty minutes on two cores)
	@$(BIN)/python -m pytest soak -n auto

lint: $(STAMP)            ## formatting, lint, types, import order
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(STAMP)           ## side by side with the other libraries and with plain C
	@$(BIN)/python benchmarks/run.py

figures: $(STAMP)         ## draw the docs' figures anew, theory and measurement (some minutes)
	@$(BIN)/python scripts/make_figures.py && $(BIN)/python scripts/make_mean_figures.py && $(BIN)/python scripts/make_distribution_figures.py && $(BIN)/python scripts/make_delta_figure.py && $(BIN)/python scripts/make_histogram_figure.py && $(BIN)/python scripts/make_series_figure.py && $(BIN)/python scripts/make_marginals_figure.py && $(BIN)/python scripts/make_range_figure.py && $(BIN)/python scripts/make_places_figure.py && $(BIN)/python scripts/make_words_figure.py && git status --short docs/figures

vectors: $(STAMP)         ## write the test vectors anew (a change of meaning: bump the version)
	@$(BIN)/python scripts/make_vectors.py && git status --short vectors

clean:                    ## remove the environment and what was built
	rm -rf $(VENV) .bench demo-output .hypothesis .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find src tests -name __pycache__ -prune -exec rm -rf {} +
