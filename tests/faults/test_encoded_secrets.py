"""Credentials of every kind, in every disguise and encoding, at every door: none gets in."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.errors import SecretFound
from gitmem.memory.admin.git_hook import guard_message, guard_staged
from gitmem.memory.adopt.adopt import adopt
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.recover.held import held_show
from gitmem.memory.transcripts.add import NewMessage, transcript_add
from gitmem.memory.transcripts.status import transcript_show
from gitmem.memory.write.capture import capture
from gitmem.memory.write.write import Edit, write
from gitmem.model.guards import check_message_text, check_secrets, hold_rule
from gitmem.model.secrets.find import find, find_in_bytes, redact
from tests.support.disguises import DISGUISES, ENCODINGS, Disguise
from tests.support.git import git_bytes
from tests.support.histories import by_hand
from tests.support.samples import in_context, narrow

TOKENS = [(rule, tokens[0]) for rule, tokens in narrow().items()]
EVERY_TOKEN = [(rule, token) for rule, tokens in narrow().items() for token in tokens]
CONTEXTS = [(rule, *samples[0]) for rule, samples in in_context().items()]
# A disguise that changes single characters leaves the words around a value, and those of armour.
WHOLE = ("soft hyphen everywhere", "json escapes", "html numbers", "html in html", "hex escapes")


def line_with(hidden: str) -> str:
    return f"# Notes\n\nhere: {hidden} and so on\n"


@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=DISGUISES)
def test_every_token_is_found_in_every_disguise_by_its_line(disguise: Disguise) -> None:
    for rule, token in EVERY_TOKEN:
        text = line_with(disguise(token))

        assert (rule, 3) in {(each.rule, each.line) for each in find(text)}, rule


@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=DISGUISES)
def test_redacting_hides_the_characters_that_were_written(disguise: Disguise) -> None:
    for rule, token in EVERY_TOKEN:
        text = line_with(disguise(token))

        clean, _ = redact(text)

        assert "[redacted: " in clean, rule
        assert clean.startswith("# Notes\n\nhere: ")
        assert clean.endswith(" and so on\n")
        assert find(clean) == []
        assert len(clean) < len("# Notes\n\nhere: [redacted: digitalocean-token] and so on\n") + 40


@pytest.mark.parametrize("disguise", WHOLE)
def test_what_is_known_by_its_context_is_found_escaped_with_it(disguise: str) -> None:
    for rule, text, _ in CONTEXTS:
        hidden = DISGUISES[disguise](text)

        assert rule in {each.rule for each in find(f"one\n{hidden}\nend\n")}, rule


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_kind_is_found_in_every_encoding_by_its_line(encoding: str) -> None:
    for rule, token in EVERY_TOKEN:
        data = f"é Übung\n\nkey {token}\n".encode(encoding)
        assert (rule, 3) in {(each.rule, each.line) for each in find_in_bytes(data)}, rule
    for rule, text, _ in CONTEXTS:
        data = f"é Übung\n\n{text}\n".encode(encoding)
        assert rule in {each.rule for each in find_in_bytes(data)}, rule


def test_an_encoding_is_found_behind_another_one() -> None:
    """As a shell leaves it that appends UTF-16 to a file of UTF-8."""
    token = narrow()["github-token"][0]
    for before in ("plain text\n", "an odd number\n"):
        assert find_in_bytes(before.encode() + f"key {token}\r\n".encode("utf-16"))


def refused(act: Callable[[], object]) -> bool:
    try:
        act()
    except SecretFound:
        return True
    return False


Judged = Callable[[str], bool]
# The guards themselves, as every operation calls them.
GUARDS: dict[str, Judged] = {
    "write": lambda text: refused(lambda: check_secrets("a.md", text.encode())),
    "edit": lambda text: hold_rule("a.md", "", text.encode(), None).startswith("secret"),
    "message": lambda text: refused(lambda: check_message_text("reason", text)),
    "git's message": lambda text: bool(guard_message(text).refused),
}


@pytest.mark.slow
@pytest.mark.parametrize("door", GUARDS.values(), ids=GUARDS)
@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=DISGUISES)
def test_no_guard_lets_any_kind_in(door: Judged, disguise: Disguise) -> None:
    for rule, token in EVERY_TOKEN:
        assert door(f"here: {disguise(token)} and so on"), rule


def objects(group: Group) -> bytes:
    return git_bytes(group.gitdir, "cat-file", "--batch-all-objects", "--batch")


# Of every family one, at the doors that make commits.
FEW = ("soft hyphens", "markdown escapes", "colours", "json escapes", "html numbers", "full width")


@pytest.mark.parametrize("name", FEW)
def test_a_write_is_refused_and_an_edit_is_held(group: Group, name: str) -> None:
    token = narrow()["anthropic-key"][0]
    hidden = DISGUISES[name](token)

    with pytest.raises(SecretFound) as caught:
        write(group, [Edit("a.md", line_with(hidden))])
    (group.worktree / "b.md").write_text(line_with(hidden))
    done = capture(group)

    assert caught.value.facts["line"] == 3
    assert [each.path for each in done.held] == ["b.md"]
    assert hidden.encode() not in objects(group)
    assert "[redacted: anthropic-key]" in held_show(group, "b.md").text


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_a_file_in_another_encoding_is_held_shown_and_not_adopted(
    store: Store, group: Group, tmp_path: Path, encoding: str
) -> None:
    token = narrow()["github-token"][0]
    data = f"# Notizen\nSchlüssel {token}\n".encode(encoding)
    (group.worktree / "b.md").write_bytes(data)
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "c.md").write_bytes(data)
    (folder / "d.md").write_text("fine\n")

    held = capture(group).held
    adopted = adopt(store, "other", folder, layout="standard", who=Who("ada"))

    assert [(each.path, each.rule) for each in held] == [("b.md", "secret: github-token, line 2")]
    assert held_show(group, "b.md").text.strip("\ufeff") == (
        "# Notizen\nSchlüssel [redacted: github-token]\n"
    )
    assert "c.md" in repr(adopted)
    other = Group(store, "other")
    for each in (group, other):
        assert token.encode(encoding)[4:] not in objects(each)
    other.close()


@pytest.mark.parametrize("name", FEW)
def test_git_is_told_before_a_commit(group: Group, name: str) -> None:
    hidden = DISGUISES[name](narrow()["npm-token"][0])
    (group.worktree / "a.md").write_text(line_with(hidden))
    by_hand(group, "add", "a.md")

    (found,) = guard_staged(group).refused

    assert found.rule == "secret: npm-token, line 3"


@pytest.mark.parametrize("sign", ["\r", "\f", "\u2028", "\x85"])
def test_a_message_of_git_has_no_lines_but_its_own(sign: str) -> None:
    token = narrow()["npm-token"][0]

    assert guard_message(f"one\n\nkey {token[:9]}{sign}{token[9:]}\n").refused
    assert guard_message(f"one\n\nfine{sign}# {token}\n").refused
    assert not guard_message(f"one\n\nfine\n# {token}\n").refused


@pytest.mark.parametrize("name", FEW)
def test_a_message_is_kept_without_it(group: Group, name: str) -> None:
    hidden = DISGUISES[name](narrow()["npm-token"][0])

    transcript_add(group, [NewMessage("c", "ada", f"hello {hidden} and more", None, "1")])

    (kept,) = transcript_show(group, "c").messages
    assert kept.text.startswith("hello ")
    assert kept.text.endswith(" and more")
    assert "[redacted: npm-token]" in kept.text
    assert hidden[4:-4] not in json.dumps(kept.text, ensure_ascii=False)


def test_a_stream_of_a_shell_is_read_as_it_is(group: Group) -> None:
    """A write from a pipe of PowerShell is UTF-16, and is no text to us."""
    stream = io.BytesIO(f"key {narrow()['npm-token'][0]}\n".encode("utf-16"))

    with pytest.raises(SecretFound):
        check_secrets("a.md", stream.read())


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_no_edit_of_any_kind_in_any_encoding_gets_in(group: Group, encoding: str) -> None:
    for number, (_, token) in enumerate(EVERY_TOKEN):
        (group.worktree / f"n{number}.md").write_bytes(f"é key {token}\n".encode(encoding))

    done = capture(group)

    assert len(done.held) == len(EVERY_TOKEN)
    assert done.captured == ()
