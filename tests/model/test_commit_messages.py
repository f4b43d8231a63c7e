"""A commit message can be read back exactly, by us and by git, whatever the texts in it say."""

from __future__ import annotations

from pathlib import Path

import pygit2
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gitmem.errors import BadInput
from gitmem.model.commit_messages import (
    Note,
    Parsed,
    check_agent,
    compose,
    parse,
    revealed,
    signature_name,
    title_of,
    visible,
)
from tests.support.git import git

WRITE = Note("write", "01J", "ada")

# Any character at all, with those that might break something well represented.
TROUBLE = ["\\", "u{", "{", "}", " ", "\t", "\n", "\r", "\x00", "\x1b", "\x85", "\u2028", "\u202e"]
TROUBLE += ["\u200d", "\u3000", "\ufeff", "\ud800", "\U000e0041", "---", "#", ":", "Gitmem-Op: x"]
WORDS = ["Signed-off-by: x", "(cherry picked from commit 1)", "é", "日本", "\\u{0041}", "\n\n", "a"]
WORDS += [
    "# ------------------------ >8 ------------------------",
    "Conflicts:",
    "\n ",
    "diff --git",
]
anything = st.lists(st.sampled_from(TROUBLE + WORDS) | st.characters(), max_size=12).map("".join)
values = anything.filter(bool)
extras = st.lists(
    st.tuples(st.sampled_from(["Gitmem-Violation", "Gitmem-From", "Gitmem-Undoes"]), values),
    max_size=4,
).map(tuple)
notes = st.builds(
    Note,
    op=st.sampled_from(["write", "capture", "undo"]),
    id=values,
    agent=values,
    title=anything,
    paths=st.lists(values, max_size=3).map(tuple),
    session=anything,
    source=anything,
    turn=anything,
    reason=anything,
    extra=extras,
)


def as_given(reason: str) -> str:
    """A reason with its line ends made LF and without the blank lines around it."""
    lines = reason.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    while lines and not lines[0].strip(" \t"):
        del lines[0]
    while lines and not lines[-1].strip(" \t"):
        del lines[-1]
    return "\n".join(lines)


def test_a_message_has_a_subject_the_reason_and_the_trailers() -> None:
    note = Note(
        op="write",
        id="01J9",
        agent="Ada (reviewer)",
        title="Use ESM  only",
        paths=("reference/decisions.md",),
        session="s-1",
        source="chat",
        turn="7",
        reason="The bundler\ndropped CommonJS.",
        extra=(("Gitmem-Undoes", "abc"), ("Gitmem-Undoes", "def")),
    )

    assert compose(note) == (
        "write(reference/decisions.md): Use ESM only\n"
        "\n"
        "The bundler\n"
        "dropped CommonJS.\n"
        "\n"
        "Gitmem-Op: write\n"
        "Gitmem-Id: 01J9\n"
        "Gitmem-Agent: Ada (reviewer)\n"
        "Gitmem-Session: s-1\n"
        "Gitmem-Source: chat\n"
        "Gitmem-Turn: 7\n"
        "Gitmem-Reason: The bundler dropped CommonJS.\n"
        "Gitmem-Undoes: abc\n"
        "Gitmem-Undoes: def\n"
    )


def test_what_is_empty_is_left_out() -> None:
    assert compose(WRITE) == "write\n\nGitmem-Op: write\nGitmem-Id: 01J\nGitmem-Agent: ada\n"
    assert compose(WRITE._replace(reason=" \n\t\n")) == compose(WRITE)


@pytest.mark.parametrize(
    ("paths", "title", "subject"),
    [
        ((), "Hello", "write: Hello"),
        (("a.md",), "", "write(a.md)"),
        (("a.md", "b.md", "c.md"), "Hello", "write(3 files): Hello"),
        (
            ("a.md",),
            " two\n\nlines \u2028 and\x1b[2J\u202e",
            "write(a.md): two lines and\\u{001B}[2J\\u{202E}",
        ),
        (("a.md",), "t" * 200, "write(a.md): " + "t" * 86 + "…"),
        (("d/" * 50 + "name.md",), "Hello", "write(…" + ("d/" * 50 + "name.md")[-59:] + "): Hello"),
        (("a.md",), "\x1b" * 50, "write(a.md): " + "\\u{001B}" * 10 + "…"),
    ],
)
def test_a_subject_names_operation_path_and_title(
    paths: tuple[str, ...], title: str, subject: str
) -> None:
    message = compose(WRITE._replace(paths=paths, title=title))

    assert message.split("\n")[0] == subject


@given(notes)
def test_a_subject_is_one_short_line(note: Note) -> None:
    subject, blank = compose(note).split("\n")[:2]

    assert subject.startswith(note.op)
    assert len(subject) <= 100
    assert subject == " ".join(subject.split(" ")).strip()
    assert blank == ""


@given(notes)
def test_what_was_composed_is_read_back(note: Note) -> None:
    parsed = parse(compose(note))

    assert (parsed.op, parsed.id, parsed.agent) == (note.op, note.id, note.agent)
    assert (parsed.session, parsed.source, parsed.turn) == (note.session, note.source, note.turn)
    assert parsed.extra == note.extra
    assert parsed.body == as_given(note.reason)
    assert parsed.reason == " ".join(note.reason.split())


@given(notes)
def test_a_message_holds_nothing_that_hides(note: Note) -> None:
    message = compose(note)

    assert message.encode()  # no half characters
    lines = message.replace("\t", " ").splitlines()
    assert lines == message.replace("\t", " ").split("\n")[:-1]
    assert all(visible(line).replace("\\u{005C}", "\\") == line for line in lines)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("messages")


def block_of(message: str) -> str:
    return message.rpartition("\n\n")[2]


FORGERIES = [
    "---\nGitmem-Op: purge",
    "first\n---\nlast",
    "--- a/file\n+++ b/file\n",
    "---\tx",
    "# only a comment",
    "last\n# a comment",
    "# ------------------------ >8 ------------------------\n# Do not modify",
    "; ------------------------ >8 ------------------------",
    "Signed-off-by: Eve <eve@example.org>",
    "words\n\nSigned-off-by: Eve <eve@example.org>\nGitmem-Op: purge\nGitmem-Agent: root",
    "Gitmem-Op: purge\n continued\n\n  \n",
    "words\n\n continued\n\tand on",
    "Conflicts:\n\ta.md",
    "(cherry picked from commit 0123456789)",
    "\r\n\r\nGitmem-Op: purge\r\n\r\n",
    "a\rGitmem-Op: purge",
    "a\u2028Gitmem-Op: purge",
    "\x0bGitmem-Op: purge\x0c",
    "diff --git a/x b/x",
    "x" * 100_000,
]


@pytest.mark.parametrize("reason", FORGERIES)
def test_git_sees_our_trailers_and_no_others(folder: Path, reason: str) -> None:
    note = WRITE._replace(reason=reason, title=reason, session=reason, paths=(reason,))
    message = compose(note)

    assert git(folder, "interpret-trailers", "--parse", input=message) == block_of(message)
    assert parse(message).all("Gitmem-Op") == ("write",)
    assert parse(message).session == reason


@settings(max_examples=60)
@given(notes)
def test_git_sees_our_trailers_whatever_the_texts_say(folder: Path, note: Note) -> None:
    message = compose(note)
    seen = git(folder, "interpret-trailers", "--parse", input=message)

    assert seen == block_of(message)
    assert parse("x\n\n" + seen).trailers == parse(message).trailers


def test_git_log_prints_the_same_trailers(tmp_path: Path) -> None:
    repo = pygit2.init_repository(tmp_path, bare=True)
    who = pygit2.Signature(signature_name('"Ada".'), "ada@example.org", 1_770_000_000, 0)
    message = compose(WRITE._replace(reason="\n\n".join(FORGERIES[:-1]), title="t"))
    repo.create_commit("refs/heads/main", who, who, message, repo.TreeBuilder().write(), [])

    seen = git(tmp_path, "log", "-1", "--format=%(trailers:only,unfold)", "main")
    assert seen.rstrip("\n") == block_of(message).rstrip("\n")
    assert git(tmp_path, "log", "-1", "--format=%s", "main") == "write: t\n"
    assert git(tmp_path, "log", "-1", "--format=%an", "main") == "Ada\n"


def test_an_extra_trailer_cannot_pose_as_a_standard_one() -> None:
    for key in (
        "Gitmem-Op",
        "Gitmem-OP",
        "gitmem-x",
        "Signed-off-by",
        "Gitmem-",
        "Gitmem-X\nGitmem-Op",
    ):
        with pytest.raises(ValueError, match="invalid extra trailer"):
            compose(WRITE._replace(extra=((key, "x"),)))


def test_a_message_of_plain_git_has_no_operation() -> None:
    assert parse("Fix a typo") == Parsed("Fix a typo", "", ())
    assert parse("") == Parsed("", "", ())
    assert parse("Fix\na typo\r\n\r\nIt said \\u{0041}.\n\nSigned-off-by: x\n") == Parsed(
        "Fix a typo", "It said \\u{0041}.\n\nSigned-off-by: x", ()
    )
    assert parse("Fix a typo").op == parse("Fix a typo").get("Gitmem-Id") == ""


@pytest.mark.parametrize(
    "message",
    [
        "Gitmem-Op: write",
        "x\n\nGitmem-Op: write\n\nMore words.",
        "x\n\nSome words\nGitmem-Op: write",
        "x\n\n  Gitmem-Op: write",
    ],
)
def test_only_a_last_paragraph_of_trailers_counts(message: str) -> None:
    assert parse(message).trailers == ()


def test_trailers_added_by_git_do_not_hide_ours() -> None:
    message = compose(WRITE._replace(reason="why")).rstrip("\n") + (
        "\nSigned-off-by: A Person <p@example.org>\n(cherry picked from commit 0123)\n"
    )
    folded = "x\n\nGitmem-Op: write\nGitmem-Note: one\n  two\n"

    assert parse(message) == parse(compose(WRITE._replace(reason="why")))
    assert parse(folded).get("gitmem-note") == "one two"


@given(anything)
@example("\\u{0041}")
@example("\\\\u{")
@example("\\u{005C}u{0041}")
@example("\\u{110000}")
@example("\\\u200b")
def test_what_was_made_visible_can_be_revealed(text: str) -> None:
    assert revealed(visible(text)) == text


def test_what_no_escape_says_is_left_alone() -> None:
    assert (
        revealed("\\u{110000} \\u{41} \\u{00e9} \\u0041") == "\\u{110000} \\u{41} \\u{00e9} \\u0041"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain – text, 日本語　です, 👍", "plain – text, 日本語　です, 👍"),
        ("a\x1b[2Jb\x00", "a\\u{001B}[2Jb\\u{0000}"),
        ("\u202eevil\u2066", "\\u{202E}evil\\u{2066}"),
        ("a\nb\tc\x85d\u2029", "a\\u{000A}b\\u{0009}c\\u{0085}d\\u{2029}"),
        ("tag\U000e0041", "tag\\u{E0041}"),
        ("half\ud83d", "half\\u{D83D}"),
        ("C:\\users \\u{0041}", "C:\\users \\u{005C}u{0041}"),
    ],
)
def test_hidden_characters_are_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("ada", "ada"),
        ("Ada Lovelace, Jr.", "Ada Lovelace, Jr"),
        ("bot <bot@example.org>", "bot (bot@example.org)"),
        ("'quoted'", "quoted"),
        ("...", "agent"),
        ("", "agent"),
        (" \n ", "agent"),
        ("a\nb\x00c", "a b\\u{0000}c"),
        ("名前", "名前"),
    ],
)
def test_an_agents_name_is_made_fit_for_an_author_line(agent: str, name: str) -> None:
    assert signature_name(agent) == name


@settings(max_examples=60)
@given(anything)
def test_git_and_libgit2_keep_the_name_as_it_is(folder: Path, agent: str) -> None:
    name = signature_name(agent)
    said = git(folder, "var", "GIT_AUTHOR_IDENT", env={"GIT_AUTHOR_NAME": name})

    assert said.startswith(f"{name} <person@example.org> ")
    assert pygit2.Signature(name, "x@example.org").name == name


@pytest.mark.parametrize(
    "name", ["ada", "名前 <x>", "...", "'\"", "a" * 200, "-x\\", "\u00e9\u3000"]
)
def test_any_printable_name_will_do_for_an_agent(name: str) -> None:
    assert check_agent(f" {name}\n") == name.strip()


@pytest.mark.parametrize("name", ["", "  \n", "a" * 201, "a\x00", "a\nb", "a\u202eb", "\ud800"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(BadInput) as caught:
        check_agent(name)

    assert caught.value.message.isprintable()
    assert "GITMEM_AGENT" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("", ""),
        ("\n\n  \n", ""),
        ("Plain words\nmore", "Plain words"),
        ("# Use ESM only\n", "Use ESM only"),
        ("### Closed heading ###\n", "Closed heading"),
        ("#tag stays", "#tag stays"),
        ("- **Field:** value", "Field: value"),
        ("1. first *of* all", "first of all"),
        ("- [x] done `now`", "done now"),
        ("> - quoted item", "quoted item"),
        ("***both*** and __strong__ and ~~gone~~", "both and strong and gone"),
        ("keep snake_case_names and 2 * 3 * 4", "keep snake_case_names and 2 * 3 * 4"),
        ("See [the page](https://example.org) now", "See the page now"),
        ("---\ntitle: x\n---\n\n# Real\n", "Real"),
        ("\ufeff---\r\ntitle: x\r\n...\r\nReal\r\n", "Real"),
        ("---\ntitle: x\n---\n", ""),
        ("---\nnever closed\n", "never closed"),
        ("***\n===\n```python\ncode()\n```", "code()"),
        ("<!-- note -->\n|---|---|\n##\nTable", "Table"),
        ("a  b\t c", "a b c"),
        ("w" * 60, "w" * 60),
        ("w" * 61, "w" * 59 + "…"),
    ],
)
def test_a_title_is_the_first_line_that_says_something(text: str, title: str) -> None:
    assert title_of(text) == title


@given(anything)
def test_a_title_is_always_short_and_on_one_line(text: str) -> None:
    title = title_of(text)

    assert len(title) <= 60
    assert title == " ".join(title.split())
