"""The conversations that agent hosts keep, as what was said."""

from __future__ import annotations
