"""The grammar of paths and groups, twins and globs."""

from __future__ import annotations

import json
import posixpath
import unicodedata
from collections.abc import Callable
from itertools import islice
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gitmem.errors import GitmemError, GroupRefused, PathRefused
from gitmem.model.paths import (
    check_group,
    check_path,
    find_twin,
    fold,
    glob_match,
    is_path,
    numbered,
)
from tests.support.git import git

ZWNJ = "\u200c"

TRICKS = [
    # The table of git's own test of confusing trees.
    (".", "dot-part"),
    ("..", "dot-part"),
    (".git", "git-look-alike"),
    (".GIT", "git-look-alike"),
    (f"{ZWNJ}.Git", "git-look-alike"),
    (f".gI{ZWNJ}T", "git-look-alike"),
    (f".GiT{ZWNJ}", "git-look-alike"),
    ("git~1", "git-look-alike"),
    ("GIT~2", "git-look-alike"),
    (".git. ", "git-look-alike"),
    (".git ", "git-look-alike"),
    (".\\.GIT\\foobar", "backslash"),
    (".git\\foobar", "backslash"),
    (".git...:alternate-stream", "git-look-alike"),
    (".git::$INDEX_ALLOCATION", "git-look-alike"),
    ("git~1:stream", "git-look-alike"),
    ("git~1 .", "git-look-alike"),
    # Other hidden files, and names that other systems shorten.
    (".gitmodules", "leading-dot"),
    (".hidden.md", "leading-dot"),
    ("...", "leading-dot"),
    ("notes.", "trailing-dot"),
    ("notes ", "edge-space"),
    (" notes", "edge-space"),
    ("\u00a0notes", "edge-space"),
    ("notes\u3000", "edge-space"),
    # What becomes a way out once somebody decodes it.
    ("%2e", "encoded-traversal"),
    ("%2e%2e", "encoded-traversal"),
    ("%2E.", "trailing-dot"),
    (".%2e", "leading-dot"),
    ("%252e%252E", "encoded-traversal"),
    ("%2e%2e%2fetc", "encoded-traversal"),
    ("a%2fb", "encoded-traversal"),
    ("a%5Cb", "encoded-traversal"),
    ("a%00b.md", "encoded-traversal"),
    ("%2egit", "encoded-traversal"),
    ("%c0%ae%C0%AE", "encoded-traversal"),
    # Characters that cannot be seen, or are no characters.
    ("a\0b", "control-character"),
    ("a\nb", "control-character"),
    ("a\x1b[31mb", "control-character"),
    ("a\x7fb", "control-character"),
    ("a\x85b", "control-character"),
    ("a\u202eb.md", "invisible-character"),
    ("a\u200bb", "invisible-character"),
    ("a\ufeffb", "invisible-character"),
    ("a\u00adb", "invisible-character"),
    ("a\u2028b", "invisible-character"),
    ("a\u2029b", "invisible-character"),
    ("a\u3164b", "invisible-character"),
    ("a\U000e0061b", "invisible-character"),
    ("a\ud800b", "not-utf-8"),
    # Size.
    ("a" * 201, "part-too-long"),
    ("日" * 67, "part-too-long"),
]


@pytest.mark.parametrize(("part", "rule"), TRICKS)
@pytest.mark.parametrize("place", ["{}", "notes/{}", "{}/notes.md", "a/{}/b.md"])
def test_path_table(part: str, rule: str, place: str) -> None:
    path = place.format(part)

    with pytest.raises(PathRefused) as refused:
        check_path(path)

    assert refused.value.facts == {"path": path, "rule": rule}
    assert refused.value.hint


@pytest.mark.parametrize(("part", "rule"), TRICKS)
def test_a_group_name_is_held_to_the_same_table(part: str, rule: str) -> None:
    with pytest.raises(GroupRefused) as refused:
        check_group(part)

    assert refused.value.facts == {"group": part, "rule": rule}


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("", "empty"),
        ("/etc/passwd", "absolute"),
        ("C:/Users", "absolute"),
        ("c:", "absolute"),
        ("a//b", "empty-part"),
        ("a/", "empty-part"),
        ("a/../b", "dot-part"),
        ("a/./b", "dot-part"),
        ("1/2/3/4/5/6/7/8/9", "too-deep"),
        ("/".join(["a" * 180] * 6), "too-long"),
    ],
)
def test_a_path_is_refused_as_a_whole(path: str, rule: str) -> None:
    with pytest.raises(PathRefused) as refused:
        check_path(path)

    assert refused.value.facts["rule"] == rule


@pytest.mark.parametrize(
    "path",
    [
        "MEMORY.md",
        "reference/decisions.md",
        "Meeting notes/Q1 & Q2 (final).md",
        "users/telegram%3A123.md",
        "users/telegram:123.md",
        "users/caf%C3%A9.md",
        "users/100%.md",
        "users/%41da.md",
        "À la carte%20menu.md",
        "日記/2026年2月8日.md",
        "عربي/ملاحظات.md",
        "emoji 🎉.md",
        "cafe\u0301.md",
        "caf\u00e9.md",
        "git/notes.md",
        "digit~1.md",
        "git~1.md",
        "a..b.md",
        "a. b.md",
        "-dash.md",
        "~tilde.md",
        "CON.md",
        "1/2/3/4/5/6/7/8",
        "a" * 200,
        "日" * 66 + "ab",
    ],
)
def test_ordinary_names_of_any_script_are_kept_byte_for_byte(path: str) -> None:
    assert check_path(path) is path


def test_a_path_of_exactly_the_longest_size_is_inside() -> None:
    path = "/".join(["a" * 200] * 5)
    path += "/" + "b" * (1024 - len(path) - 1)

    assert check_path(path) == path
    with pytest.raises(PathRefused, match="1025 bytes"):
        check_path(path + "b")


def test_a_group_is_one_name_of_at_most_100_bytes() -> None:
    assert check_group("Team Ä 1") == "Team Ä 1"
    assert check_group("g" * 100) == "g" * 100
    for name, rule in [("a/b", "slash"), ("g" * 101, "too-long"), ("", "empty")]:
        with pytest.raises(GroupRefused) as refused:
            check_group(name)
        assert refused.value.facts["rule"] == rule


def test_a_refusal_can_be_printed_whatever_was_refused() -> None:
    for name in ("a\ud800b", "a\u202eb", "a\x1b[31m", "x" * 5000):
        with pytest.raises(PathRefused) as refused:
            check_path(name)
        assert len(refused.value.message) < 200
        assert refused.value.message.isprintable()
        assert json.dumps(refused.value.facts)


tricky_text = st.text(
    st.one_of(
        st.sampled_from("./\\%~: aAgGiItT12eEfFcC05\0\n\u200c\u202e"),
        st.characters(),
        st.characters(categories=["Cs"]),
    ),
    max_size=40,
)


@given(tricky_text | st.text())
@example("%2e%2e/a")
@settings(max_examples=400)
def test_any_text_is_refused_or_stays_inside_its_folder(text: str) -> None:
    if not _accepts(check_path, text):
        with pytest.raises(PathRefused) as refused:
            check_path(text)
        assert refused.value.facts["path"] == text
        assert refused.value.message.isprintable()
        return

    path = check_path(text)
    parts = path.split("/")
    assert path == text == "/".join(parts)
    assert posixpath.normpath(posixpath.join("/base", path)) == f"/base/{path}"
    assert len(path.encode()) <= 1024
    assert len(parts) <= 8
    for part in parts:
        assert part.strip() == part != ""
        assert not part.startswith(".")
        assert not part.endswith(".")
        assert not {unicodedata.category(c) for c in part} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


@given(tricky_text | st.text())
def test_a_group_name_is_a_path_of_one_part(text: str) -> None:
    assert _accepts(check_group, text) <= (_accepts(check_path, text) and "/" not in text)


def _accepts(check: Callable[[str], str], text: str) -> bool:
    try:
        check(text)
    except GitmemError:
        return False
    return True


@pytest.fixture(scope="module")
def strict_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose git protects all systems at once from their look-alikes of `.git`."""
    where = tmp_path_factory.mktemp("strict")
    git(where, "init", "-q", ".")
    for key in ("core.protectHFS", "core.protectNTFS"):
        git(where, "config", key, "true")
    return where


@given(st.lists(tricky_text | st.text(), max_size=60))
@settings(max_examples=40, deadline=None)
def test_git_itself_accepts_every_path_that_we_accept(
    strict_repository: Path, texts: list[str]
) -> None:
    accepted = {text for text in texts if _accepts(check_path, text)}
    # A file and a folder cannot have the same name, in git as anywhere.
    folders = {str(folder) for text in accepted for folder in PurePosixPath(text).parents}

    assert _staged(strict_repository, accepted - folders) == accepted - folders


@pytest.mark.parametrize("path", [".git", f"a/.gI{ZWNJ}T", "git~1", ".git...:stream", "a/../b"])
def test_git_as_a_judge_does_say_no(strict_repository: Path, path: str) -> None:
    assert _staged(strict_repository, {path, "good.md"}) == {"good.md"}


def _staged(repository: Path, paths: set[str]) -> set[str]:
    """Those of PATHS that git was willing to put into its index."""
    empty = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    lines = "".join(f"100644 {empty} 0\t{path}\0" for path in paths)
    git(repository, "read-tree", "--empty")
    git(repository, "update-index", "-z", "--index-info", input=lines)
    return set(git(repository, "ls-files", "-z").split("\0")) - {""}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Notes.md", "notes.MD"),
        ("caf\u00e9.md", "cafe\u0301.md"),
        ("CAF\u00c9.md", "cafe\u0301.md"),
        ("Straße", "STRASSE"),
        ("ſecret", "Secret"),
        ("ΟΔΟΣ", "οδος"),
        ("K", "\u212a"),
        ("\u0345\u0300", "\u0300\u0399"),
    ],
)
def test_twins_are_equal_under_fold(one: str, other: str) -> None:
    assert fold(one) == fold(other)
    assert find_twin(one, ["x", other]) == other


@pytest.mark.parametrize(("one", "other"), [("a", "b"), ("ﬁ x", "f x"), ("e", "é"), ("²", "2")])
def test_names_that_look_alike_are_not_twins(one: str, other: str) -> None:
    assert find_twin(one, [other]) is None


def test_a_name_is_not_its_own_twin() -> None:
    assert find_twin("a.md", ["a.md"]) is None
    assert find_twin("a.md", ["a.md", "A.md"]) == "A.md"
    assert find_twin("a.md", []) is None


@given(st.text())
def test_fold_is_idempotent_and_blind_to_form(text: str) -> None:
    key = fold(text)

    assert fold(key) == key
    for form in ("NFC", "NFD"):
        assert fold(unicodedata.normalize(form, text)) == key
    assert fold(text.casefold()) == key


GLOBS = [
    ("reference/*.md", "reference/a.md", True),
    ("reference/*.md", "reference/sub/a.md", False),
    ("reference/*.md", "other/a.md", False),
    ("*.md", "a.md", True),
    ("*.md", "deep/er/a.md", True),
    ("*.md", "deep/a.txt", False),
    ("**/*.md", "a.md", True),
    ("**/*.md", "x/y/a.md", True),
    ("reference/**", "reference/x/y.md", True),
    ("reference/**", "reference", False),
    ("reference/**/y.md", "reference/y.md", True),
    ("reference/**/y.md", "reference/a/b/y.md", True),
    ("reference/**.md", "reference/a/b/y.md", True),
    ("reference/**.md", "reference/y.md", True),
    ("reference/**.md", "reference/y.txt", False),
    ("**", "a/b/c", True),
    ("a**z", "a/b/z", True),
    ("reference/", "reference/a/b.md", True),
    ("reference/", "reference", False),
    ("ref*/", "reference/a.md", True),
    ("ref*/", "other/reference/a.md", False),
    ("reference", "reference/a/b.md", True),
    ("reference", "references/a.md", False),
    ("a/b", "a/b/c.md", True),
    ("a/b", "x/a/b/c.md", False),
    ("?.md", "a.md", True),
    ("?.md", "ab.md", False),
    ("a?b", "a/b", False),
    ("[ab].md", "b.md", True),
    ("[!ab].md", "c.md", True),
    ("[^ab].md", "a.md", False),
    ("[a-c]x", "bx", True),
    ("[z-a]x", "zx", False),
    ("[ab", "[ab", True),
    ("a[/]b", "a/b", False),
    ("A.md", "a.md", False),
    ("notes (1).md", "notes (1).md", True),
    ("a+b.md", "aab.md", False),
    ("", "a.md", False),
    ("/", "a.md", False),
    ("日*.md", "diary/日記.md", True),
]


@pytest.mark.parametrize(("pattern", "path", "fits"), GLOBS)
def test_globs_read_as_in_a_shell(pattern: str, path: str, fits: bool) -> None:
    assert glob_match(pattern, path) is fits


@given(st.text("ab/*?[]!-.", max_size=25), st.text("ab/.", max_size=25))
def test_any_pattern_gives_an_answer(pattern: str, path: str) -> None:
    assert glob_match(pattern, path) in (True, False)


@given(st.lists(st.text("abc.-_ é", min_size=1), min_size=1, max_size=6))
def test_a_path_fits_itself_and_every_folder_above_it(parts: list[str]) -> None:
    path = "/".join(parts)

    assert glob_match(path, path)
    assert glob_match("**", path)
    for depth in range(1, len(parts)):
        assert glob_match("/".join(parts[:depth]) + "/", path)
        assert glob_match("/".join(parts[:depth]), path)


def test_a_hostile_pattern_comes_back() -> None:
    path = "/".join(["a" * 120] * 8)

    assert not glob_match("**a" * 60 + "b", path)
    assert not glob_match("*a" * 60 + "b", path)
    assert not glob_match("**/*a/" * 30 + "b", path)


# Names of about as many bytes as there may be, with and without an ending.
names_near_the_end = st.builds(
    lambda letter, size, ending: (letter * 220).encode()[:size].decode(errors="ignore") + ending,
    st.sampled_from("aä漢🦩%."),
    st.integers(1, 200),
    st.text("md.x ", max_size=60).map(lambda text: text and f".{text}"),
).filter(is_path)


@given(names_near_the_end, st.integers(1, 10**6))
def test_a_numbered_name_is_as_good_as_the_name(name: str, first: int) -> None:
    found = list(islice(numbered(name, first), 4))

    assert all(map(is_path, found))
    assert len({*found}) == len(found)
    assert found[0] == name
