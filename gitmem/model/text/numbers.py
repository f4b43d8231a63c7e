"""Numbers for people."""

from __future__ import annotations


def counted(number: int, unit: str) -> str:
    """A number with its unit, in the plural where it is one: 1 entry, 1,200 entries, 2 days."""
    if number == 1:
        return f"1 {unit}"
    is_soft = unit.endswith("y") and unit[-2] not in "aeiou"
    return f"{number:,} {unit[:-1]}ies" if is_soft else f"{number:,} {unit}s"
