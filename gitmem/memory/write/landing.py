"""What every operation says of how it landed, whatever else it has to say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitmem.store.transaction.publish import Published
    from gitmem.store.transaction.writer import Writer


def landing(writer: Writer, published: Published | None) -> dict[str, Any]:
    """The commit that holds it now, a new one or the last, and what was found on the way to it."""
    return {
        "commit": published.commit if published else writer.repository.tip(),
        "captured": tuple(writer.captured),
        "set_aside": tuple(writer.set_aside),
        "pending": writer.pending,
    }
