# Every target is one line of `make help`; the text after ## is that line.
PYTHON ?= python3
WORKERS ?= $(shell nproc 2>/dev/null || echo 2)

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Debian packages that the present tests need. Empty: the step is skipped.
TEST_PACKAGES := postgresql default-jre-headless chromium

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install demo test lint format docs bench ablate lock clean debian-packages

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' Makefile

install: $(STAMP) ## make .venv with the package, every extra and the tools

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "Tightrope needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Try: make install PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing the locked dependencies into $(VENV) (some minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
	@echo "installed: $(BIN)/tightrope"

demo: install ## the whole way on an example table; leaves demo/report.html
	@$(BIN)/python examples/demo.py

debian-packages: ## install the Debian packages that the tests need (as root)
	@if [ -n "$(strip $(TEST_PACKAGES))" ]; then scripts/debian-packages $(TEST_PACKAGES); fi

# One thread for linear algebra in each worker: threads of several workers only get in each
# other's way on the small systems of the tests.
test: install debian-packages ## run every test and every documented example
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

lint: install ## check style, format, types and import directions; print the rooms' sizes
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python scripts/count_code.py

format: install ## put the code into the house format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: install ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "built: site/index.html"

bench: install ## measure beside the peers and write docs/benchmarks.md (half an hour)
	@$(BIN)/python -m benchmarks $(ARGS)

ablate: install ## measure what each setting of the solver is worth; write docs/ablation.md (a quarter of an hour)
	@$(BIN)/python -m benchmarks.ablate $(ARGS)

lock: ## make the lock files of the project and of the benchmarks' peers anew (needs uv)
	@uv=$$(command -v $(BIN)/uv || command -v uv) || \
	  { echo "make lock needs uv: run make install, or put uv on the PATH" >&2; exit 1; }; \
	"$$uv" pip compile pyproject.toml --upgrade --quiet --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-emit-find-links --extra all --extra dev \
	  --custom-compile-command "make lock" --output-file requirements.lock && \
	for list in peers smartnoise tumult; do \
	  "$$uv" pip compile benchmarks/$$list.txt --upgrade --quiet --universal --python-version 3.11 \
	    --generate-hashes --no-emit-index-url --no-emit-find-links \
	    --custom-compile-command "make lock" --output-file benchmarks/$$list.lock || exit 1; \
	done

clean: ## remove .venv and everything built
	@rm -rf $(VENV) site build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks benchmarks/.peers
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
