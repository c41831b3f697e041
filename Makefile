# Every command sets up what it needs: a virtual environment with the locked requirements.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV ?= .venv
DURATION ?= 60
TARGET ?= messages
DIR ?= w3c
RUNS ?= 100000
ARGS ?=

# Tests start hundreds of processes of the package, so modules are compiled once, whatever the environment says.
export PYTHONDONTWRITEBYTECODE :=

# A file of tests stays together, as it shares sessions; `tests/order.py` says in which order. Two cores have work for a
# third worker while processes start and time out; a fourth would only warm up one more JVM.
WORKERS := -n 3 --dist loadscope --no-loadscope-reorder
THOROUGH_TESTS := tests/examples tests/faults tests/fuzz tests/laws $(wildcard tests/integration/test_*_on_*.py) \
	tests/integration/test_kafka_errors.py tests/integration/test_parts_in_executors.py tests/programs tests/unit/backends \
	tests/integration/test_bootstrap.py tests/integration/test_snapshot.py \
	tests/integration/test_storage_crash.py tests/unit/history/test_past_damage.py \
	tests/unit/state/test_storage_damage.py tests/unit/state/test_storage_maintain.py

# Those of the project's tools, and those that need a peer of a version of its own, run with the locked versions only.
UNIT_TESTS := tests/unit $(addprefix --ignore=tests/unit/,benchmarks scripts shapes/test_validation.py test_conformance.py \
	test_house.py)

BIN := $(VENV)/bin
# The stamps carry a checksum, so that a changed lock installs again whatever the clock of the checkout says.
LOCK := $(shell cat pyproject.toml requirements/*.txt | cksum | cut -d ' ' -f 1)
RUN_STAMP := $(VENV)/.run-$(LOCK)
# The site's generator has an environment of its own, as it shares no package with ours.
DOCS := $(VENV)/docs
DOCS_STAMP := $(DOCS)/.docs-$(shell cksum < requirements/docs.txt | cut -d ' ' -f 1)
DEV_STAMP := $(VENV)/.dev-$(LOCK)
PIP := $(BIN)/python -m pip --disable-pip-version-check install

.PHONY: help demo test test-thorough check format format-check lint types imports docstrings house licences bench
.PHONY: conformance fuzz picture reference docs lock clean
.PHONY: test-versions test-lowest test-newest test-spark-versions test-spark-4.1 test-spark-4.2 release try-wheel
.PHONY: python java

help: ## List the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1	\2/' | expand -t 22

demo: java $(RUN_STAMP) ## Run broker, pipeline and a live stream on this machine (DURATION=60 seconds)
	$(BIN)/streamreasoner demo --duration $(DURATION) $(ARGS)

test: java $(DEV_STAMP) ## Run all tests on real Kafka, Spark and Delta (ARGS="-k name" for some)
	$(BIN)/python -m pytest $(WORKERS) $(ARGS)

test-thorough: java $(DEV_STAMP) ## Run laws and crashes at length, for hours (ARGS="-k name" for some)
	HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest $(WORKERS) --timeout=0 $(THOROUGH_TESTS) $(ARGS)

test-versions: test-lowest test-newest ## Run the unit tests with the lowest and the newest dependencies

# Kernels of another numba are compiled into a cache of their own.
test-lowest test-newest: test-%: java $(VENV)/%/.installed-$(LOCK)
	NUMBA_CACHE_DIR=$(abspath $(VENV)/$*/kernels) $(VENV)/$*/bin/python -m pytest $(UNIT_TESTS) $(ARGS)

test-spark-versions: test-spark-4.1 test-spark-4.2 ## Run pipelines on later series of Spark

test-spark-4.1 test-spark-4.2: test-%: java $(VENV)/%/.installed-$(LOCK)
	$(VENV)/$*/bin/python -m pytest tests/integration/test_small_batches.py \
		tests/integration/test_pipeline_in_a_session.py $(ARGS)

conformance: $(DEV_STAMP) ## Run the test suites of the W3C in a folder (DIR=w3c)
	$(BIN)/python tests/conformance/run.py $(DIR) $(ARGS)

fuzz: $(DEV_STAMP) ## Search for inputs that go wrong (TARGET=messages RUNS=100000)
	$(BIN)/python tests/fuzz/run.py $(TARGET) --runs $(RUNS) $(ARGS)

check: format-check lint types imports docstrings house licences ## Run every static check

format: $(DEV_STAMP) ## Format the code and fix what ruff can fix
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

format-check: $(DEV_STAMP)
	$(BIN)/ruff format --check

lint: $(DEV_STAMP)
	$(BIN)/ruff check

types: $(DEV_STAMP)
	$(BIN)/mypy

imports: $(DEV_STAMP)
	$(BIN)/lint-imports

docstrings: $(DEV_STAMP)
	$(BIN)/interrogate -vv --omit-covered-files

house: $(DEV_STAMP)
	$(BIN)/python scripts/house.py

licences: $(DEV_STAMP)
	$(BIN)/python scripts/licences.py

bench: java $(DEV_STAMP) ## Run the benchmarks and print their tables
	$(BIN)/python -m benchmarks $(ARGS)

picture: java $(DEV_STAMP) ## Take the pictures of the demo and of its page again
	$(BIN)/python scripts/picture.py $(ARGS)
	$(BIN)/python scripts/screenshots.py

reference: $(DEV_STAMP) ## Write the parts of the reference that are made from code
	PYTHONPATH=scripts $(BIN)/python -m reference

docs: $(DOCS_STAMP) ## Build the site of the documents into build/site/html
	$(DOCS)/bin/python scripts/build_docs.py

release: $(VENV)/release/.installed-$(LOCK) ## Make the wheel, sdist, bill of materials and notes of a release in dist/
	$(VENV)/release/bin/python scripts/release.py

try-wheel: java ## Install the wheel of dist/ in new environments and run a pipeline (takes minutes)
	$(PYTHON) scripts/try_wheel.py dist/*.whl

lock: ## Compile the lock files again from pyproject.toml (needs uv)
	scripts/lock $(ARGS)

clean: ## Remove the virtual environment, builds and tool caches
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

python:
	@scripts/prerequisites $(PYTHON)

java:
	@scripts/prerequisites $(PYTHON) java

$(RUN_STAMP): | python
	@echo "Installing the locked requirements into $(VENV), once per lock file."
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r requirements/run.txt
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

# The development lock holds everything the other one holds, at the same versions.
$(DEV_STAMP): | python
	@echo "Installing the locked development requirements into $(VENV), once per lock file."
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r requirements/dev.txt
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $@ $(RUN_STAMP)

$(patsubst %,$(VENV)/%/.installed-$(LOCK),lowest newest release): $(VENV)/%/.installed-$(LOCK): requirements/%.txt | python
	@echo "Installing the $* requirements into $(@D), once per lock file."
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip --disable-pip-version-check install --require-hashes -r $<
	$(@D)/bin/python -m pip --disable-pip-version-check install --no-deps --no-build-isolation -e .
	@touch $@

# The packages of the development environment, and another PySpark, which Python finds before theirs.
$(VENV)/spark-%/.installed-$(LOCK): requirements/spark-%.txt $(DEV_STAMP)
	@echo "Installing the PySpark of $< into $(@D), once per lock file."
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip --disable-pip-version-check install --require-hashes --no-deps -r $<
	@packages=$$(cd $(@D) && echo lib/python*/site-packages) && \
	echo "import site; site.addsitedir('$(abspath $(VENV))/$$packages')" > $(@D)/$$packages/development.pth
	@touch $@

$(DOCS_STAMP): | python
	@echo "Installing the locked generator of the site into $(DOCS), once per lock file."
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip --disable-pip-version-check install --require-hashes -r requirements/docs.txt
	@touch $@
