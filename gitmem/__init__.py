"""An agent's memory as plain Markdown in plain git: every write is one commit."""

from __future__ import annotations

__version__ = "0.1.0"
