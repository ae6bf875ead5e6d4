# Every target is one line of `make help`; the text after ## is that line.
PYTHON ?= python3
# One more than there are processors: tests of browsers, databases and kills wait half of the time.
WORKERS ?= $(shell echo $$(($$(nproc 2>/dev/null || echo 2) + 1)))

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Debian packages that the present tests need. Empty: the step is skipped.
TEST_PACKAGES := postgresql default-jre-headless chromium
# Debian packages that the proofs and the second judge need.
PROOF_PACKAGES := coq ocaml-nox ocaml-findlib libzarith-ocaml-dev

# What runs on the other supported versions of Python: every example of the package, and the
# unit tests of the rooms that lean on the most libraries (NumPy, SciPy, sqlglot, DuckDB).
QUICK_TESTS := src/tightrope tests/unit/channels tests/unit/publish \
  tests/interfaces/test_docstrings.py

# Tests start commands in processes of their own. Without bytecode on the disk each of them would
# compile every library anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install demo check test test-others proofs lint format docs dist bench ablate mutate lock clean debian-packages

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' Makefile

install: $(STAMP) ## make .venv with the package, every extra and the tools

$(STAMP): requirements.lock pyproject.toml
	@scripts/install $(VENV) $(PYTHON)
	@touch $@
	@echo "installed: $(BIN)/tightrope"

demo: install ## the whole way on an example table; leaves demo/report.html
	@$(BIN)/python examples/demo.py

debian-packages: ## install the Debian packages that the tests need (as root)
	@if [ -n "$(strip $(TEST_PACKAGES))" ]; then scripts/debian-packages $(TEST_PACKAGES); fi

check: install ## lint, types, and the tests of the rooms that changed (since BASE, default HEAD)
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python scripts/check.py $(BASE)

# One thread for linear algebra in each worker: threads of several workers only get in each
# other's way on the small systems of the tests.
# Whoever is done takes tests from the others: the slowest ones are beside each other, and one worker
# ran all of them while the others waited.
test: install debian-packages proofs ## run every test and every documented example
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

test-others: install ## run the quick tests on every other supported Python that is found
	@scripts/other-pythons $(BIN)/python | while read -r python; do \
	  environment=$(VENV)-$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	  echo "== the quick tests on $$($$python --version)"; \
	  scripts/install $$environment $$python && \
	  OPENBLAS_NUM_THREADS=1 $$environment/bin/python -m pytest -q -n $(WORKERS) $(QUICK_TESTS) || exit 1; \
	done

proofs: ## check the proofs with Coq and build the second judge, proofs/build/judge
	@scripts/debian-packages $(PROOF_PACKAGES)
	@$(MAKE) --no-print-directory -C proofs

lint: install ## check style, format, types and import directions; print the rooms' sizes
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python scripts/check_words.py
	@$(BIN)/python scripts/measure_code.py

format: install ## put the code into the house format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: install ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "built: site/index.html"

dist: install ## build wheel, source archive, SBOM and hashes; try each in a clean environment
	@$(BIN)/python scripts/make_dist.py dist

bench: install ## measure beside the peers and write docs/benchmarks.md (half an hour)
	@$(BIN)/python -m benchmarks $(ARGS)

ablate: install ## measure what each setting of the solver is worth; write docs/ablation.md (half an hour)
	@$(BIN)/python -m benchmarks.ablate $(ARGS)

mutate: install ## draw mutants of the rooms that decide and print those that no test notices
	@$(BIN)/python scripts/mutate.py $(ARGS)

lock: ## make the lock files of the project and of the benchmarks' peers anew (needs uv)
	@uv=$$(command -v $(BIN)/uv || command -v uv) || \
	  { echo "make lock needs uv: run make install, or put uv on the PATH" >&2; exit 1; }; \
	"$$uv" pip compile pyproject.toml --upgrade --quiet --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-emit-find-links --extra all --extra dev \
	  --custom-compile-command "make lock (for Python 3.11 and later, all platforms)" \
	  --output-file requirements.lock && \
	for list in peers smartnoise tumult; do \
	  "$$uv" pip compile benchmarks/$$list.txt --upgrade --quiet --universal --python-version 3.11 \
	    --generate-hashes --no-emit-index-url --no-emit-find-links \
	    --custom-compile-command "make lock" --output-file benchmarks/$$list.lock || exit 1; \
	done

clean: ## remove .venv and everything built
	@rm -rf $(VENV) $(VENV)-3.* site build dist demo proofs/build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .mutation .benchmarks benchmarks/.peers
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
