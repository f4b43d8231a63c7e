"""Readers of the transcripts that agent hosts record."""

from __future__ import annotations
