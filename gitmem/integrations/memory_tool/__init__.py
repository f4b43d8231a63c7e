"""Claude's memory tool on a group: its commands, and the texts of its answers."""

from __future__ import annotations
