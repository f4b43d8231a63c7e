"""How big a file is against what its layer allows: UTF-8 bytes, and at the budget is inside."""

from __future__ import annotations

from gitmem.model.layout.layout import Layer

KILO = 1024


def fill(layer: Layer, size: int) -> str:
    """`over` the budget, `near` it, or `ok`."""
    if layer.budget and size > layer.budget:
        return "over"
    return "near" if layer.warn and size > layer.warn else "ok"


def percent(layer: Layer, size: int) -> int:
    """How much of the budget is used; 0 where there is none."""
    return round(100 * size / layer.budget) if layer.budget else 0


def human(size: int) -> str:
    """A size for people: `812B`, `4.0KB`, `1.5MB`."""
    if size < KILO:
        return f"{size}B"
    return f"{size / KILO:.1f}KB" if size < KILO * KILO else f"{size / KILO / KILO:.1f}MB"
