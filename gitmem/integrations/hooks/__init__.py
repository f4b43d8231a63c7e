"""What an agent's host is answered at its events."""

from __future__ import annotations
