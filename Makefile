# Every target installs what it needs into .venv first. The first run needs a package index;
# after that everything works offline until pyproject.toml changes.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed

.DEFAULT_GOAL := test
.PHONY: test test-slow lint fix demo bench docs plugin clean

test: lint
	$(RUN) -m pytest -n 2

test-slow: $(INSTALLED)
	$(RUN) -m pytest -n 2 -m slow

lint: $(INSTALLED)
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

fix: $(INSTALLED)
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

demo: $(INSTALLED)
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" bash docs/demo.sh

bench: $(INSTALLED)
	$(RUN) -m benchmarks

# By way of a second file, so that a failure does not leave an empty page behind.
docs: $(INSTALLED)
	$(RUN) -m gitmem.cli.reference > docs/cli.md.new
	mv docs/cli.md.new docs/cli.md

# What is in templates/plugin is made of hooks/hooks.json and templates/skills.
plugin: $(INSTALLED)
	$(RUN) -m gitmem.hosts.install.plugin

clean:
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache docs/cli.md.new
	find . -name .git -prune -o -name __pycache__ -prune -exec rm -rf {} +

# A file, not the folder: a folder's time changes with its content and is there after a failure.
$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "gitmem needs Python 3.11 or newer, and '$(PYTHON)' is not one:" >&2; \
		$(PYTHON) --version >&2; \
		echo "Name another, for example: make PYTHON=python3.12" >&2; \
		exit 1; \
	}
	@echo "Installing gitmem and its tools into $(VENV) ..." >&2
	@$(PYTHON) -m venv $(VENV)
	@$(RUN) -m pip install -qq --disable-pip-version-check --editable '.[dev]' || { \
		echo "Installing failed; see above. The first run needs a package index." >&2; \
		exit 1; \
	}
	@touch $@
