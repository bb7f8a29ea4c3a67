# The two commands: `make table` and `make test`. Each sets up what it needs in .venv.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
WORKERS ?= auto

.PHONY: table test lint bench clean

table: $(VENV)/.ready
	$(RUN) -m vidc.build
	$(RUN) -m vidc.eval

test: lint
	$(RUN) -m pytest -n $(WORKERS) $(ARGS)

lint: $(VENV)/.ready-dev
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

bench: $(VENV)/.ready-dev
	$(RUN) -m benchmarks $(ARGS)

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
