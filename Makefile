# The two commands: `make table` and `make test`. Each sets up what it needs in .venv.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
WORKERS ?= auto
SECONDS ?= 300

.PHONY: table test lint bench coverage faults fuzz soak clean

table: $(VENV)/.ready
	$(RUN) -m vidc.build
	$(RUN) -m vidc.eval --engine processes

test: lint $(VENV)/.ready-oldest
	VIDC_OLD_DATASETS_PYTHON=$(CURDIR)/$(VENV)/oldest/bin/python $(RUN) -m pytest -n $(WORKERS) $(ARGS)

lint: $(VENV)/.ready-dev $(VENV)/.audited
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

bench: $(VENV)/.ready-dev
	$(RUN) -m benchmarks $(ARGS)

# Lines of vidc, builders and eval that the tests run: make coverage
coverage: $(VENV)/.ready-oldest
	VIDC_OLD_DATASETS_PYTHON=$(CURDIR)/$(VENV)/oldest/bin/python $(RUN) -m pytest -n $(WORKERS) \
	    --cov --cov-report=term-missing:skip-covered $(ARGS)

# Every fault, counted; `make test` tries a few of each kind: make faults ARGS="--fault-seed 1"
faults: $(VENV)/.ready-dev
	$(RUN) -m pytest -n $(WORKERS) --all-faults tests/faults $(ARGS)

# Every reader of outside files against damaged ones: make fuzz SECONDS=3600
fuzz: $(VENV)/.ready-dev
	$(RUN) -m tests.fuzz $(SECONDS)

# A long stream built and evaluated: make soak ARGS="--frames 20000"
soak: $(VENV)/.ready-dev
	$(RUN) -m benchmarks.soak $(ARGS)

clean:
	rm -rf datasets results dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis $(VENV)

# A marker file stands for a finished install, so that a second run installs nothing.
$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.ready-dev: $(VENV)/.ready
	$(RUN) -m pip install --quiet --constraint constraints.txt --editable ".[ray,test,dev]"
	touch $@

# The oldest `datasets` that pyproject.toml allows: what is built must load with it too.
$(VENV)/.ready-oldest: pyproject.toml $(VENV)/.ready-dev
	$(PYTHON) -m venv $(VENV)/oldest
	$(VENV)/oldest/bin/python -m pip install --quiet datasets==3.6.0 huggingface_hub==0.30.2 pillow
	touch $@

$(VENV)/.audited: constraints.txt $(VENV)/.ready-dev
	$(RUN) -m tests.security.audit $@
