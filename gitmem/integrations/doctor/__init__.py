"""What is wired, what is not, and what would make a hook fail."""

from __future__ import annotations
