"""Claude's memory tool on a group."""

from __future__ import annotations
