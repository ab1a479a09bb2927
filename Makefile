# Every target makes .venv and installs what it needs on a fresh machine.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
PEERS_STAMP := .venv/.installed-peers
DOCS_STAMP := .venv/.installed-docs
TABLES_STAMP := .venv/.installed-tables
APART := .venv/apart
# Two processes of one thread each: threads of two processes wait for one another.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest -n 2
# The real datasets, where they lie beside the checkout.
DATA := $(wildcard ../shared/data)
export OTFAIR_DATA_HOME ?= $(if $(DATA),$(abspath $(DATA)))

.PHONY: install demo test test-fast test-all test-oldest fuzz lint bench bench-audit bench-busy bench-peers bench-tables bench-boosting bench-training bench-scale docs notebooks results clean
install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@echo "Installing into .venv: a few minutes, the first time only."
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch==2.13.0
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(STAMP)
	$(BIN)/otfair demo

# Reports are tested in Chromium; where it can't be installed, those tests fail.
test: $(STAMP)
	-@scripts/chromium.sh
	$(PYTEST)

# What answers while one works: no notebook, browser or process.
test-fast: $(STAMP)
	$(PYTEST) -m "not slow"

test-all: $(STAMP)
	-@scripts/chromium.sh
	$(PYTEST) --exhaustive

# Thousands of hostile inputs from each generator; `make test` tries a hundred of each.
fuzz: $(STAMP)
	$(BIN)/pytest tests/fuzz --fuzz 3000

# The lowest versions that pyproject.toml promises.
test-oldest: $(STAMP)
	$(BIN)/nox -s oldest -- -m "not slow"

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/docstrings.py

bench: $(STAMP)
	$(BIN)/python benchmarks/bench_core.py

bench-busy: $(STAMP)
	$(BIN)/python benchmarks/bench_busy.py

# What others offer for the same work, then docs/performance.md from what was measured.
bench-peers: $(PEERS_STAMP)
	$(BIN)/python benchmarks/bench_peers.py
	$(BIN)/python docs/performance.py

$(PEERS_STAMP): $(STAMP)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[peers]'
	touch $@

# Our rows in other people's tables: hours, of which what is in the CSVs already is not made again.
# LINEAR_POST=folder of a checkout of github.com/rxian/fair-classification adds its authors' code.
bench-tables: $(TABLES_STAMP)
	OMP_NUM_THREADS=1 PYTHONPATH=$(APART):$(LINEAR_POST) $(BIN)/python -W ignore benchmarks/bench_tables.py
	$(BIN)/python docs/benchmarks.py

# error-parity asks for NumPy below 2, and runs with ours: it is installed apart from the rest.
$(TABLES_STAMP): $(STAMP)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[peers,tables]'
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --target $(APART) error-parity==0.3.12 ecos==2.0.14
	touch $@

bench-audit: $(STAMP)
	$(BIN)/python benchmarks/bench_audit.py

bench-boosting: $(STAMP)
	$(BIN)/python benchmarks/bench_boosting.py

bench-training: $(STAMP)
	$(BIN)/python benchmarks/bench_training.py

# Hours; what was measured already is kept in benchmarks/scale.csv.
bench-scale: $(STAMP)
	$(BIN)/python benchmarks/bench_scale.py

$(DOCS_STAMP): $(STAMP)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@

# The examples of the gallery run the first time, and when they change: a minute or two.
docs: $(DOCS_STAMP)
	$(BIN)/sphinx-build -q -W --keep-going -d out/doctrees docs out/docs
	@echo "The pages are in out/docs: open out/docs/index.html"

notebooks: $(STAMP)
	$(BIN)/python docs/execute.py

# Pages with their pictures, from the runs that are committed.
results: $(STAMP)
	$(BIN)/python docs/results.py
	$(BIN)/python docs/decisions.py
	$(BIN)/python docs/training.py
	$(BIN)/python docs/metrics.py
	$(BIN)/python docs/boosting.py
	$(BIN)/python docs/benchmarks.py

clean:
	rm -rf .venv out docs/examples build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
