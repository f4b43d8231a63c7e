"""Answer the events of agent hosts: a start, a prompt, a tool, the end of a turn."""

from __future__ import annotations
