.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
AIRFLOW := .venv/airflow/bin
SPARK := .venv/spark/bin
EDGE := .venv/edge/bin
TOOLS := .venv/tools/bin
SCAN := .venv/scan/bin

export PYTHONPATH := $(CURDIR)/plugins:$(CURDIR)
# Airflow writes its settings and its database where this points, by default into the home folder.
export AIRFLOW_HOME := $(CURDIR)/build/airflow

WITH_SPARK = JAVA_HOME=$$(cat .venv/java_home) PYSPARK_PYTHON=$(CURDIR)/$(SPARK)/python

SHELL_SCRIPTS = $$(git ls-files --cached --others --exclude-standard -- '*.sh' .ci/run terraform/check)

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## make or update the environments in .venv and fetch the jars
	@$(PYTHON) -m local.setup

.PHONY: lock
lock: ## resolve local/setup/*.in again and write the locks
	@$(PYTHON) -m local.setup.compile

# What runs on Lambda, and the local AWS that it runs on here.
EDGE_TESTS := tests/aws tests/edge tests/lambdas tests/local/aws tests/local/bootstrap tests/local/delivery

.PHONY: test test-airflow test-edge test-edge-faults test-spark test-faults
test: setup ## run all tests, two suites at a time
	@$(MAKE) --jobs=2 test-spark test-faults test-edge test-airflow test-edge-faults

test-airflow: setup
	$(AIRFLOW)/python -m pytest -m "not spark" $(addprefix --ignore=,$(EDGE_TESTS))

test-edge: setup
	$(EDGE)/python -m pytest -m "not faults" $(EDGE_TESTS)

# A function is killed before and after every call that changes something.
test-edge-faults: setup
	$(EDGE)/python -m pytest -m faults tests/lambdas

# The core also runs on Glue, under an older Python.
test-spark: setup
	$(WITH_SPARK) $(SPARK)/python -m pytest -m "not faults" tests/core tests/local/test_*.py tests/local/jobs/test_spark.py tests/spark_jobs

# Kills, races, splits and broken protocols on real Spark.
test-faults: setup
	$(WITH_SPARK) $(SPARK)/python -m pytest -m faults tests/spark_jobs

LINTS := lint-ruff lint-types lint-imports lint-shell lint-yaml lint-security

.PHONY: lint $(LINTS)
lint: $(LINTS) ## check style, types, import directions, scripts, YAML and security
$(LINTS): setup

lint-ruff:
	$(TOOLS)/ruff check .
	$(TOOLS)/ruff format --check .

lint-types:
	$(TOOLS)/mypy --python-executable $(SPARK)/python --exclude plugins/leanops/airflow
	$(TOOLS)/mypy --python-executable $(AIRFLOW)/python -p leanops.airflow
	$(TOOLS)/mypy --python-executable $(EDGE)/python -p lambdas -p leanops.aws -p local.aws -p local.bootstrap -p local.delivery

lint-imports:
	$(TOOLS)/lint-imports

lint-shell:
	$(TOOLS)/shellcheck $(SHELL_SCRIPTS)

lint-yaml:
	$(TOOLS)/yamllint --strict .

lint-security:
	$(TOOLS)/bandit --quiet --configfile pyproject.toml --recursive lambdas local plugins spark_jobs

.PHONY: lint-terraform
lint-terraform: setup ## check, test and scan terraform/
	terraform/check
	$(SCAN)/checkov --config-file terraform/.checkov.yaml --directory terraform

.PHONY: schema
schema: setup ## write the contract's JSON Schema to schemas/
	$(AIRFLOW)/python -m leanops.core.contract --schema > schemas/contract.schema.json

.PHONY: format
format: setup ## let ruff rewrite what it can
	$(TOOLS)/ruff check --fix .
	$(TOOLS)/ruff format .

.PHONY: package
package: setup ## make the wheel and the functions' zips in build/dist
	$(EDGE)/python -m local.package

.PHONY: demo
demo: setup ## show the product at work
	$(WITH_SPARK) $(SPARK)/python -m local.demo

.PHONY: bench
bench: setup ## run the benchmarks, or only NAME=…
	$(AIRFLOW)/python -m tests.benchmarks $(NAME)

.PHONY: clean
clean: ## remove what was built, but not the environments
	rm -rf build .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
