"""Wiring gitmem into agent hosts, and taking it out again."""

from __future__ import annotations
