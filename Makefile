# Every target installs what it needs into .venv first: `demo` gitmem alone, the others the tools of
# its developers as well. The first run needs a package index; after that everything works offline
# until pyproject.toml changes.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
RUNTIME := $(VENV)/.installed-runtime
INSTALLED := $(VENV)/.installed
PIP_INSTALL := $(RUN) -m pip install --disable-pip-version-check --progress-bar off

# The tests start thousands of processes, and without compiled modules each of them compiles gitmem anew.
unexport PYTHONDONTWRITEBYTECODE

NO_INDEX = { echo "pip failed; see above. The first run needs a package index." >&2; exit 1; }

.DEFAULT_GOAL := test
# The very programs that tests/real_hosts was written for.
HOSTS := .hosts
CLAUDE_CODE := 2.1.325
OLDER_CLAUDE_CODE := 2.1.197
CODEX := 0.166.0
GEMINI := 0.61.0
COPILOT := 1.0.102
HOSTS_INSTALLED := $(HOSTS)/.installed-$(CLAUDE_CODE)-$(OLDER_CLAUDE_CODE)-$(CODEX)-$(GEMINI)-$(COPILOT)
NPM_INSTALL := npm install --no-audit --no-fund --save-exact

.PHONY: test test-slow test-hosts lint fix demo bench docs handshake plugin clean

# Every write is synced, so the disk decides how long the tests take: in memory one module took 14 s
# instead of 171 s on a busy disk. The slow tests run on the disk.
ROOM := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4000000 { print "/dev/shm" }')
IN_MEMORY := $(if $(ROOM),PYTEST_DEBUG_TEMPROOT=$(ROOM))

test: lint
	$(IN_MEMORY) $(RUN) -m pytest -n 2

test-slow: $(INSTALLED)
	GITMEM_TEST_STEPS=all $(RUN) -m pytest -n 2 -m 'slow or every_step'

# GITMEM_TEST_HOSTS names a folder where the programs are installed already.
test-hosts: $(INSTALLED) $(if $(GITMEM_TEST_HOSTS),,$(HOSTS_INSTALLED))
	$(RUN) -m pytest -n 2 --dist loadfile -m hosts tests/real_hosts

lint: $(INSTALLED)
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

fix: $(INSTALLED)
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

demo: $(RUNTIME)
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" bash docs/demo.sh

bench: $(INSTALLED)
	$(RUN) -m benchmarks

# The page of commands, the tables of the API, and the outputs in the README and the tutorial.
# By way of a second file, so that a failure does not leave an empty page behind.
docs: $(INSTALLED)
	$(RUN) -m gitmem.cli.reference > docs/cli.md.new
	mv docs/cli.md.new docs/cli.md
	$(RUN) -m tests.support.api_page
	$(RUN) -m tests.support.console

# The first answers of `gitmem mcp`, which it gives before it loads the SDK.
handshake: $(INSTALLED)
	$(RUN) -m gitmem.integrations.mcp.generate

# What is in templates/plugin is made of hooks/hooks.json and templates/skills.
plugin: $(INSTALLED)
	$(RUN) -m gitmem.integrations.install.skills

clean:
	rm -rf $(VENV) $(HOSTS) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache docs/cli.md.new
	find . -name .git -prune -o -name __pycache__ -prune -exec rm -rf {} +

# A file, not the folder: a folder's time changes with its content and is there after a failure.
# pip shows what it collects and installs: a silent minute looks like a hang.
$(RUNTIME): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "gitmem needs Python 3.11 or newer, and '$(PYTHON)' is not one:" >&2; \
		$(PYTHON) --version >&2; \
		echo "Name another, for example: make PYTHON=python3.12" >&2; \
		exit 1; \
	}
	@echo "Installing gitmem into $(VENV) ..." >&2
	@$(PYTHON) -m venv $(VENV)
	@$(PIP_INSTALL) --editable . || $(NO_INDEX)
	@touch $@

$(INSTALLED): $(RUNTIME) pyproject.toml
	@echo "Installing the tools for tests and lint into $(VENV) ..." >&2
	@$(PIP_INSTALL) --editable '.[dev]' || $(NO_INDEX)
	@touch $@

$(HOSTS_INSTALLED):
	@command -v npm >/dev/null || { \
		echo "make test-hosts installs the agent hosts with npm, and there is no npm." >&2; \
		echo "Install Node.js 22 or newer, or set GITMEM_TEST_HOSTS to a folder of hosts." >&2; \
		exit 1; \
	}
	@mkdir -p $(HOSTS)/claude-code-$(OLDER_CLAUDE_CODE)
	@echo "Installing Claude Code, Codex, Gemini CLI and Copilot CLI into $(HOSTS) ..." >&2
	@$(NPM_INSTALL) --prefix $(HOSTS) \
		@anthropic-ai/claude-code@$(CLAUDE_CODE) @openai/codex@$(CODEX) \
		@google/gemini-cli@$(GEMINI) @github/copilot@$(COPILOT)
	@$(NPM_INSTALL) --prefix $(HOSTS)/claude-code-$(OLDER_CLAUDE_CODE) \
		@anthropic-ai/claude-code@$(OLDER_CLAUDE_CODE)
	@touch $@
