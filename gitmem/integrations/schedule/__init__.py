"""Letting the machine call gitmem."""

from __future__ import annotations
