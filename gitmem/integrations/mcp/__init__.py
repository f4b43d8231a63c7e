"""Serve a group to agents by the Model Context Protocol."""

from __future__ import annotations
