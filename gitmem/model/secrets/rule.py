"""What a rule about credentials is."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gitmem.model.secrets.shapes import is_issued


class Rule:
    """One format: where to look (`literals`), what must stand there, and how to be sure.

    The value is the last group that matched, or the whole match. A `wide` rule may cross white
    space, a `weak` one is guesswork and yields to any other, and `backs` says how far before its
    literal a match may begin. A text without any of `needs` is not searched at all.

    What no pattern can tell has a `finder` in place of literals and a pattern: it yields the spans
    of values in long words, one to a line; for a wide rule, in the whole text in small letters.
    """

    # A plain class: a NamedTuple takes ten times as long to define, and every write imports this.
    __slots__ = (
        *("about", "backs", "finder", "judge", "literals", "needs", "pattern", "slug", "weak"),
        "wide",
    )

    def __init__(
        self,
        slug: str,
        about: str,
        literals: tuple[str, ...],
        pattern: str,
        judge: Callable[[str], bool] | None = is_issued,
        *,
        backs: tuple[int, ...] = (0,),
        wide: bool = False,
        weak: bool = False,
        needs: tuple[str, ...] = (),
        finder: Callable[[str], Iterator[tuple[int, int]]] | None = None,
    ) -> None:
        self.slug, self.about, self.literals, self.pattern = slug, about, literals, pattern
        self.judge, self.backs, self.wide, self.weak = judge, backs, wide, weak
        self.needs, self.finder = needs, finder
