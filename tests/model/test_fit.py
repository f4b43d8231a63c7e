"""The budget: never exceeded, whatever it is, and the ladder is obeyed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.context.fit import Fitted, fit
from gitmem.model.context.pieces import Piece
from gitmem.model.context.render import ContextPage
from gitmem.model.layout.layout import FORMATS

words = st.sampled_from(["alpha", "=== X ===", "</knowledge>", "&lt;", "é\u200b", "漢字 " * 9])
some_lines = st.lists(words, min_size=1, max_size=3).map("\n".join)
paragraphs = st.lists(some_lines, min_size=1, max_size=4)
kinds = st.sampled_from(["document", "document", "log", "notes", "entries", "journal", "profile"])


@st.composite
def some_pieces(draw: st.DrawFn) -> list[Piece]:
    """Layers of one piece or several, which share a block if they are summaries."""
    made: list[Piece] = []
    for layer in range(draw(st.integers(0, 4))):
        kind, base = draw(kinds), draw(st.integers(1, 5))
        allowed = draw(st.sampled_from([0, 0, 20, 60]))
        most = 1 if kind in ("document", "log", "profile") else 4
        for group in sorted(draw(st.lists(st.sampled_from(["", "global"]), max_size=most))):
            own = draw(st.integers(1, 5)) if kind in ("entries", "journal") else base
            piece = Piece(
                f"layer-{layer}", kind, group=group, importance=own, vital=base == 1,
                path=f"{kind}/{len(made)}.md", date=draw(some_dates) if most > 1 else "",
                budget=allowed,
            )  # fmt: skip
            made.append(draw(fillings)(piece, "\n\n".join(draw(paragraphs))))
    return made


some_dates = st.sampled_from(["", "2026-02-01", "2026-02-08"])


def said(piece: Piece, text: str) -> Piece:
    if piece.kind != "journal":
        return piece._replace(text=text)
    return piece._replace(text=text.replace("\n", " "), render="summary", age="today")


def pointed(piece: Piece, text: str) -> Piece:
    return piece._replace(text=text, render="pointer")


def lacking(piece: Piece, text: str) -> Piece:
    del text
    is_own = piece.kind == "document" and not piece.group
    return piece._replace(lack="missing" if is_own else "unreadable")


fillings = st.sampled_from([said, said, said, said, pointed, lacking])


def rank(piece: Piece, pieces: list[Piece]) -> tuple[object, ...]:
    """Where on the ladder PIECE goes: the lowest first."""
    whole = piece.kind in ("document", "log")
    return piece.vital, whole, -piece.importance, piece.date, -pieces.index(piece)


def fitted(pieces: list[Piece], budget: int, page: ContextPage) -> tuple[Fitted, str]:
    found = fit(pieces, budget, page.size)
    return found, page.text(found.pieces)


pages = st.builds(
    lambda format, marks: ContextPage(format, annotate=marks),
    st.sampled_from(FORMATS),
    st.booleans(),
)


@pytest.mark.parametrize("annotate", [False, True])
@pytest.mark.parametrize("format", FORMATS)
@given(pieces=some_pieces(), budget=st.integers(0, 1200))
def test_a_budget_is_never_exceeded(
    format: str, annotate: bool, pieces: list[Piece], budget: int
) -> None:
    page = ContextPage(format, annotate=annotate)
    found, text = fitted(pieces, budget, page)

    assert len(text) <= budget
    if page.size(pieces) <= budget:
        assert found == Fitted(tuple(pieces), ())


@given(pieces=some_pieces(), budget=st.integers(0, 1200), page=pages)
def test_everything_is_kept_cut_or_named_and_in_its_order(
    pieces: list[Piece], budget: int, page: ContextPage
) -> None:
    found, _ = fitted(pieces, budget, page)

    order = {each.path: at for at, each in enumerate(pieces)}
    kept = [order[each.path] for each in found.pieces]
    assert sorted([*kept, *(order[each.path] for each in found.dropped)]) == list(
        range(len(pieces))
    )
    assert kept == sorted(kept)
    for each in found.pieces:
        whole = pieces[order[each.path]]
        if each.whole is None:
            assert each == whole
        else:
            assert whole.text.startswith(each.text)
            assert (each.kind in ("document", "log"), each.render, each.lack) == (True, "whole", "")
            assert each.whole == len(whole.text.encode()) > each.size
            assert page.size([each]) < page.size([whole])


@given(pieces=some_pieces(), budget=st.integers(0, 1200), page=pages)
def test_what_goes_is_less_important_or_older_than_what_stays(
    pieces: list[Piece], budget: int, page: ContextPage
) -> None:
    found, _ = fitted(pieces, budget, page)

    stays = [rank(each, pieces) for each in pieces if each in found.pieces]
    goes = [rank(each, pieces) for each in found.dropped]
    assert goes == sorted(goes)
    assert not goes or not stays or max(goes) < min(stays)
    cut = [each for each in found.pieces if each.whole is not None]
    entries = [each for each in found.pieces if each.kind not in ("document", "log")]
    over = {each.path for each in pieces if each.is_over}
    for each in cut:  # within its budget, a document is cut only when no entry is left to go first
        if each.path not in over:
            assert not any(other.vital <= each.vital for other in entries)


@given(pieces=some_pieces(), budget=st.integers(0, 1200), page=pages)
def test_no_step_is_taken_that_was_not_needed(
    pieces: list[Piece], budget: int, page: ContextPage
) -> None:
    found, _ = fitted(pieces, budget, page)

    if found.dropped and not any(each.whole is not None for each in found.pieces):
        back = found.dropped[-1]
        again = [each for each in pieces if each in found.pieces or each == back]
        shortest = back._replace(text="", whole=back.size) if back.text else back
        could_be_cut = page.size([shortest]) < page.size([back]) and back.kind in (
            "document",
            "log",
        )
        smallest = [shortest if each == back and could_be_cut else each for each in again]
        assert page.size(smallest) > budget


@given(pieces=some_pieces(), budget=st.integers(0, 1200), page=pages)
def test_more_room_never_shows_less(pieces: list[Piece], budget: int, page: ContextPage) -> None:
    small, _ = fitted(pieces, budget, page)
    large, _ = fitted(pieces, budget + 50, page)

    sizes = {each.path: each.size for each in large.pieces}
    assert all(each.size <= sizes.get(each.path, -1) for each in small.pieces)


def document(text: str, **more: object) -> Piece:
    return Piece("state", "document", text, path="state.md", **more)  # type: ignore[arg-type]


TEXT = (
    "One one one one one one one.\nStill one.\n\nTwo two two two two two two two.\n\n"
    "Three three three three three three three three three."
)


def shown_within(budget: int) -> str:
    return fitted([document(TEXT)], budget, ContextPage("markdown"))[1].removeprefix("## state\n")


def test_a_document_is_cut_at_a_paragraph_else_at_a_line_and_says_so() -> None:
    note = "[... {} of 129 bytes: gitmem read state.md]"
    at_line, at_paragraph = TEXT.partition("\n")[0], TEXT.rpartition("\n\n")[0]

    assert len(TEXT) == 129
    assert shown_within(200) == TEXT
    two = f"{at_paragraph}\n{note.format(73)}"
    assert shown_within(len("## state\n") + len(two)) == two
    one = f"{at_line}\n{note.format(28)}"
    assert shown_within(len("## state\n") + len(one)) == one
    assert shown_within(len("## state\n") + len(note.format(0))) == note.format(0)
    assert shown_within(len("## state\n") + len(note.format(0)) - 1) == ""


def test_a_document_shorter_than_a_note_on_it_is_left_as_it_is() -> None:
    short = document("Brief.", importance=5)._replace(layer="short")
    page, pieces = ContextPage("xml"), [short, document("Long. " * 40 + "\n\n" + "More. " * 40)]

    found = fit(pieces, page.size(pieces) - 1, page.size)

    assert found.pieces[0] == short
    assert found.pieces[1].whole is not None


def test_identity_and_state_go_last() -> None:
    pieces = [
        document("identity " * 20, importance=1, vital=True)._replace(layer="identity"),
        document("references " * 20)._replace(layer="references", importance=2),
        Piece("facts", "notes", "fact " * 20, importance=2),
        Piece("decisions", "entries", "a critical one " * 5, importance=1),
    ]
    page = ContextPage("xml")
    orders = [fit(pieces, budget, page.size) for budget in range(page.size(pieces), -1, -1)]

    gone = [each.layer for each in orders[-1].dropped]
    assert gone == ["facts", "decisions", "references", "identity"]
    for found in orders:
        if any(each.layer == "identity" and each.whole is not None for each in found.pieces):
            assert [each.layer for each in found.pieces] == ["identity"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_document_over_its_budget_is_cut_first_and_down_to_it(format: str) -> None:
    lines = "".join(f"- task {n} of Ada\n" for n in range(400))
    pieces = [
        document("I am.\n" * 20, importance=1, vital=True)._replace(layer="identity"),
        document(lines, importance=1, vital=True, budget=1024),
        document("- TZ: see .env", importance=2, budget=512)._replace(layer="references"),
        Piece("facts", "notes", "fact " * 20, importance=2, path="facts/a.md"),
    ]
    page = ContextPage(format)
    others = page.size([each for each in pieces if each.layer != "state"])

    for budget in range(others + 1300, page.size(pieces), 397):
        identity, state, *rest = fit(pieces, budget, page.size).pieces
        assert [identity, *rest] == [pieces[0], *pieces[2:]]
        assert state.whole == len(lines)
        assert state.size > 900


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("letter", ["x", "語", "😀"])
def test_a_document_over_its_budget_takes_no_more_than_one_at_it(format: str, letter: str) -> None:
    """The note on the cut stands in its own room, not in that of files within their budgets."""
    lines = f"- {letter}\n" * 3000
    state = document(lines, importance=1, vital=True, budget=1024)
    rest = [document("- TZ: see .env\n" * 30, importance=2, budget=512)._replace(layer="r")]
    page = ContextPage(format)
    at_it = [state._replace(text=lines.encode()[:1024].decode("utf-8", "ignore")), *rest]

    found = fit([state, *rest], page.size(at_it), page.size).pieces

    assert list(found[1:]) == rest
    assert found[0].size > 850


def test_one_line_over_its_budget_goes_before_anything_within_its_own() -> None:
    pieces = [
        document("word " * 400, importance=1, vital=True, budget=100),
        document("- TZ: see .env", importance=2, budget=512)._replace(layer="references"),
    ]
    found = fit(pieces, 300, ContextPage("sections").size)

    assert [each.text for each in found.pieces] == ["", "- TZ: see .env"]


def test_the_cost_does_not_grow_with_the_square() -> None:
    days = [f"2026-02-{number % 28 + 1:02}" for number in range(2000)]
    pieces = [Piece(f"l{at}", "notes", "text " * 20, date=day) for at, day in enumerate(days)]
    page, calls = ContextPage("xml"), []

    def counted(each: list[Piece]) -> int:
        calls.append(len(each))
        return page.size(each)

    fit(pieces, page.size(pieces) // 2, counted)  # type: ignore[arg-type]

    assert sum(calls) < 20 * len(pieces)


def test_a_path_that_needs_quotes_gets_them_in_the_note() -> None:
    piece = document("a\n" * 99)._replace(path="my notes/it's.md", group="global")
    text = fitted([piece], 120, ContextPage("xml"))[1]

    assert re.search(r"bytes: gitmem read -g global 'my notes/it'\"'\"'s.md'\]", text)


def test_a_long_list_is_cut_between_its_lines() -> None:
    """It is one paragraph: whole it may have no room, and cut at its head nothing is left of it."""
    text = "# State\n\n" + "\n".join(f"- task {n} of Ada" for n in range(200))
    page = ContextPage("sections")

    found, shown = fitted([document(text)], 2000, page)

    assert 1800 < len(shown) <= 2000
    assert found.pieces[0].text.endswith(" of Ada")
