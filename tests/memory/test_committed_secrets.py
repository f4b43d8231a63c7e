"""A commit by plain git passes no guard: what it brings is found, named, and shown to no model."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.cache import scanned
from gitmem.cache.scanned import read_scanned
from gitmem.errors import NotFound, SecretFound
from gitmem.integrations.hooks.context import changed_since
from gitmem.integrations.hooks.edits import edit_notes
from gitmem.integrations.hooks.protocol import Room
from gitmem.integrations.mcp.groups import Endpoint, OpenGroups
from gitmem.integrations.mcp.tools import answered
from gitmem.integrations.memory_tool.commands import MemoryCommands
from gitmem.memory.admin import commit_search, committed_secrets, secret_findings
from gitmem.memory.admin.check import check
from gitmem.memory.admin.committed_secrets import acknowledge, scan_commits
from gitmem.memory.admin.init import init
from gitmem.memory.admin.secret_findings import SecretLocation, open_secrets, secret_words
from gitmem.memory.context.inject import inject
from gitmem.memory.curate.lint import lint
from gitmem.memory.group import Group, Who
from gitmem.memory.read.status import status
from gitmem.memory.recover.held import held_accept
from gitmem.memory.recover.kept import kept_drop, kept_list, kept_restore
from gitmem.memory.recover.restore import restore
from gitmem.memory.search.search import search
from gitmem.memory.searched import scanned_in
from gitmem.memory.upkeep.maintain import maintain
from gitmem.memory.upkeep.snapshot import snapshot
from gitmem.memory.write.capture import capture
from gitmem.memory.write.move import move
from gitmem.memory.write.write import Allowed, Edit, write
from gitmem.model.secrets.find import TABLE
from gitmem.store.fsck.acknowledged import _make, read_acknowledged, salted
from gitmem.store.fsck.acknowledged import acknowledge as keep_acknowledged
from gitmem.store.lock import last_run
from gitmem.store.transaction.plan import Plan, Step
from tests.support.git import git
from tests.support.histories import by_hand, edit, put
from tests.support.samples import LETTERS, body

TOKEN = "gh" + "p_" + body(LETTERS, 36, 11)
OTHER = "gh" + "p_" + body(LETTERS, 36, 12)
LAYOUT = """gitmem: 1
layers:
  state: {path: state.md, kind: document, load: always}
  notes: {path: notes/*.md, kind: notes, load: query}
"""


@pytest.fixture(autouse=True)
def laid_out(group: Group) -> None:
    put(group, "gitmem.yaml", LAYOUT)
    put(group, "state.md", "# State\n\nall is well\n")


def commit(group: Group, path: str, text: str, message: str = "by hand") -> str:
    """What a person does with git, who knows nothing of us."""
    edit(group, path, text)
    by_hand(group, "add", "-A")
    by_hand(group, "commit", "-q", "-m", message)
    return by_hand(group, "rev-parse", "HEAD")


def leak(group: Group) -> str:
    return commit(group, "state.md", f"# State\n\nthe key is {TOKEN} now\n")


def open_ids(group: Group) -> list[str]:
    return [each.id for each in open_secrets(group, read_scanned(group.gitdir))]


COMMANDS: dict[str, Callable[[Group], object]] = {
    "write": lambda g: put(g, "other.md", "x\n"),
    "append": lambda g: write(g, [Edit("state.md", "more", append=True)]),
    "capture": capture,
    "snapshot": snapshot,
    "status": status,
    "maintain": maintain,
    "check": check,
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_the_next_command_finds_it_and_status_names_it(
    group: Group, command: Callable[[Group], object]
) -> None:
    bad = leak(group)

    command(group)

    (found,) = open_secrets(group, read_scanned(group.gitdir))
    assert (found.rule, found.path, found.line, found.commit) == (
        "github-token",
        "state.md",
        3,
        bad,
    )
    assert found.standing
    shown = status(group)
    assert shown.secrets == (found,)
    assert "1 secret in files" in shown.concerns
    assert shown.health == "attention"
    assert TOKEN not in repr(shown)


def test_no_file_beside_git_holds_the_value(group: Group) -> None:
    leak(group)
    check(group)

    kept = [path for path in (group.gitdir / "gitmem").rglob("*") if path.is_file()]
    assert kept
    assert all(TOKEN[4:].encode() not in path.read_bytes() for path in kept)


@pytest.mark.parametrize("searched", [False, True], ids=["not searched", "searched"])
def test_it_is_never_injected(group: Group, searched: bool) -> None:
    leak(group)
    commit(group, "notes/a.md", f"# Robots\n\nthe robot has the key {OTHER} for billing\n")
    if searched:
        check(group)

    shown = inject(group)
    asked = inject(group, prompt="which key has the robot for billing?")
    found = search(group, "robot billing")

    assert "the key is [redacted: github-token] now" in shown.text
    assert "the robot has the key [redacted: github-token] for billing" in asked.memory_context
    assert TOKEN not in repr((shown, asked))
    assert OTHER not in repr((shown, asked, found))
    assert shown.manifest.notes == ("state.md: 1 secret masked, see `gitmem check`",)
    assert inject(group) == shown, "the same bytes again"


def test_what_was_masked_before_history_was_searched_is_masked_the_same_way_after(
    group: Group,
) -> None:
    leak(group)
    before = inject(group)

    check(group)

    assert inject(group) == before
    assert before.pins == {"main": by_hand(group, "rev-parse", "HEAD")}


def test_a_session_that_goes_on_does_not_get_it_either(group: Group) -> None:
    shown = group.repository.tip()
    leak(group)
    bad = group.repository.tip()
    commit(group, "state.md", "# State\n\nclean\n")

    for since in (shown, bad):
        for look in (None, check):
            if look:
                look(group)
            pieces = changed_since(group, [("main", since)]).pieces
            assert pieces
            assert TOKEN not in repr(pieces)


def test_the_next_version_through_us_is_masked_too(group: Group) -> None:
    leak(group)
    write(group, [Edit("state.md", "one more line", append=True)])
    move(group, "state.md", "old.md")
    move(group, "old.md", "state.md")

    assert read_scanned(group.gitdir).tip == group.repository.tip()
    assert "[redacted: github-token] now\none more line" in inject(group).text
    assert len(open_ids(group)) == 1, "one value, one finding"


def test_an_old_moment_is_masked_too(group: Group) -> None:
    bad = leak(group)
    put(group, "state.md", "# State\n\nclean\n")

    assert TOKEN not in inject(group, at=bad).text
    assert "[redacted: github-token]" in inject(group, at=bad).text


def test_check_tells_of_it_until_it_is_acknowledged(group: Group) -> None:
    leak(group)

    found = [each for each in check(group).findings if each.code == "secret"]
    (first,) = found
    assert not check(group).sound
    assert first.severity == "warning"
    assert f"gitmem check --acknowledge {first.id}" in first.hint
    assert TOKEN not in repr(found)
    done = acknowledge(group, [first.id])

    assert done.changed
    assert not acknowledge(group, [first.id]).changed
    assert check(group).sound
    assert status(group).secrets == ()
    assert TOKEN in inject(group).text, "somebody said that it is none"


def test_in_history_only_it_is_a_notice(group: Group) -> None:
    leak(group)
    put(group, "state.md", "# State\n\nclean\n")

    checked = check(group)
    (found,) = (each for each in checked.findings if each.code == "secret")
    assert checked.sound
    assert found.severity == "info"
    assert "history holds what looks like a credential (github-token): state.md line 3" in (
        found.message
    )
    assert status(group).concerns == ("1 secret in history",)
    acknowledge(group, [found.id])

    assert [each for each in check(group).findings if each.code == "secret"] == []
    assert status(group).secrets == ()


def test_an_id_that_there_is_not_is_not_acknowledged(group: Group) -> None:
    with pytest.raises(NotFound) as caught:
        acknowledge(group, ["0123456789ab"])

    assert "gitmem check" in caught.value.hint


def test_an_acknowledgement_outlives_the_memory_of_what_was_searched(group: Group) -> None:
    leak(group)
    check(group)
    acknowledge(group, open_ids(group))
    os.unlink(group.gitdir / "gitmem" / scanned.NAME)

    assert check(group).sound
    assert status(group).secrets == ()


def test_what_somebody_allowed_is_no_finding_also_when_all_is_searched_again(group: Group) -> None:
    write(group, [Edit("a.md", f"{TOKEN}\n")], allowed=Allowed(secrets=("github-token",)))
    edit(group, "b.md", f"{OTHER}\n")
    capture(group)
    held_accept(group, "b.md", reason="an example")
    assert "Gitmem-Allowed: github-token" in git(group.gitdir, "log", "--format=%B", "main")

    for _ in range(2):
        assert check(group).sound
        assert status(group).secrets == ()
        os.unlink(group.gitdir / "gitmem" / scanned.NAME)


def test_what_is_accepted_counts_for_its_own_file_only(group: Group) -> None:
    edit(group, "b.md", f"{TOKEN}\n")
    capture(group)
    held_accept(group, "b.md")
    write(group, [Edit("b.md", "one more line", append=True)])
    assert status(group).secrets == ()

    leak(group)

    (found,) = status(group).secrets
    assert (found.path, found.places) == ("state.md", (SecretLocation("state.md", 3),))
    assert "[redacted: github-token]" in inject(group).text
    acknowledge(group, [found.id])
    assert status(group).secrets == ()
    assert TOKEN in inject(group).text


def test_what_is_allowed_in_a_file_is_not_allowed_beside_it(group: Group) -> None:
    commit(group, "a.md", f"{TOKEN}\n")
    write(group, [Edit("a.md", OTHER, append=True)], allowed=Allowed(("github-token",)))

    (found,) = status(group).secrets

    assert (found.path, found.line) == ("a.md", 1), "the one that nobody allowed"


def test_what_is_allowed_goes_with_its_file(group: Group) -> None:
    before = group.repository.tip()
    edit(group, "state.md", f"key {TOKEN}\n")
    capture(group)
    held_accept(group, "state.md")
    move(group, "state.md", "old.md")
    assert status(group).secrets == ()
    move(group, "old.md", "state.md")

    assert status(group).secrets == ()
    assert TOKEN in inject(group).text
    (piece,) = changed_since(group, [("main", before)]).pieces
    assert TOKEN in piece.text


def test_a_move_allows_nothing_that_was_not_allowed_where_it_stood(group: Group) -> None:
    edit(group, "b.md", f"{TOKEN}\n")
    capture(group)
    held_accept(group, "b.md")
    commit(group, "c.md", f"{TOKEN}\n")
    move(group, "c.md", "d.md")

    (found,) = status(group).secrets

    assert found.places == (SecretLocation("d.md", 1),)


def test_every_file_that_holds_it_is_named(group: Group) -> None:
    leak(group)
    commit(group, "notes/a.md", f"{TOKEN}\n")
    edit(group, "notes/b.md", f"{TOKEN}\n")
    commit(group, f"notes/{TOKEN}.md", f"one\n{TOKEN}\n")

    (found,) = status(group).secrets
    (told,) = (each for each in check(group).findings if each.code == "secret")

    masked = "notes/[redacted: github-token].md"
    assert set(found.places) == {
        SecretLocation("state.md", 3),
        SecretLocation("notes/a.md", 1),
        SecretLocation("notes/b.md", 1),
        SecretLocation(masked, 2),
        SecretLocation(masked, 0),
    }
    assert told.message.startswith("state.md line 3, ")
    for each in ("notes/a.md line 1", "notes/b.md line 1", f"{masked} line 2", f"name of {masked}"):
        assert each in told.message
    assert "hold what looks like a credential (github-token)" in told.message
    assert TOKEN not in repr((found, told))


def test_lint_names_what_stands_as_check_does(group: Group) -> None:
    put(group, "gitmem.yaml", LAYOUT.replace("load: always", "lint: [no-secrets]"))
    commit(group, "state.md", f"# State\n\nthe key is {TOKEN} now\n")
    commit(group, "other.md", f"one\n{TOKEN}\n")
    commit(group, f"{OTHER}.md", "fine\n")

    found = {(each.path, each.line): each for each in lint(group).findings}

    masked = "[redacted: github-token].md"
    assert set(found) == {("state.md", 3), ("other.md", 2), (masked, 0)}
    assert {each.rule for each in found.values()} == {"secret"}
    assert "gitmem check --acknowledge " in found["other.md", 2].hint
    assert found[masked, 0].message.startswith("its name holds what looks like a credential")
    acknowledge(group, open_ids(group))
    assert [each.path for each in lint(group).findings] == ["state.md"], "its layer wants none"


def test_a_value_in_very_many_files_makes_no_endless_sentence(group: Group) -> None:
    for number in range(secret_findings.MOST_NAMED + 1):
        edit(group, f"notes/{number:03}.md", f"{TOKEN}\n")
    leak(group)

    (found,) = status(group).secrets

    assert len(found.places) == secret_findings.MOST_NAMED + 2
    assert secret_words(found)[0].count(" line ") == secret_findings.MOST_NAMED
    assert " and 2 more hold what looks like a credential" in secret_words(found)[0]


def test_a_name_that_stands_is_no_history(group: Group) -> None:
    commit(group, f"notes/{TOKEN}.md", "fine\n")

    checked = check(group)
    (found,) = (each for each in checked.findings if each.code == "secret")

    assert not checked.sound
    assert found.message == (
        "the name of notes/[redacted: github-token].md holds what looks like a credential "
        "(github-token)"
    )
    assert found.hint.startswith("rename the file and replace the key; ")
    assert "1 secret in files" in status(group).concerns
    move(group, f"notes/{TOKEN}.md", "notes/fine.md")
    assert status(group).concerns == ("1 secret in history",)
    (found,) = (each for each in check(group).findings if each.code == "secret")
    assert ": the name of notes/[redacted: github-token].md of commit " in found.message


def test_no_commit_is_named_that_is_gone(group: Group) -> None:
    base = group.repository.tip()
    leak(group)
    status(group)
    by_hand(group, "reset", "-q", "--hard", base)
    commit(group, "state.md", "# State\n\nclean\n")
    assert len(status(group).secrets) == 1
    by_hand(group, "reflog", "expire", "--expire=now", "--all")
    by_hand(group, "prune", "--expire=now")

    assert status(group).secrets == ()
    assert [each for each in check(group).findings if each.code == "secret"] == []


def test_the_hint_of_a_finding_in_history_is_a_command_that_ends_it(group: Group) -> None:
    leak(group)
    put(group, "state.md", "# State\n\nclean\n")
    (found,) = (each for each in check(group).findings if each.code == "secret")

    (said,) = re.findall(r"`gitmem check --acknowledge ([0-9a-f]+)`", found.hint)
    acknowledge(group, [said])

    assert "docs/secrets.md says how to remove it from history" in found.hint
    assert [each for each in check(group).findings if each.code == "secret"] == []


def kept_with(group: Group, path: str, text: str, message: str = "by hand") -> str:
    """Commits that a person took off the branch, one of which is no clean one."""
    commit(group, path, text, message)
    put(group, path if path == "state.md" else "state.md", "# State\n\nwell again\n")
    top = put(group, "other.md", "x\n").commit
    by_hand(group, "reset", "-q", "--hard", "HEAD~3")
    put(group, "more.md", "y\n")
    return top


LEAKS = {
    "file": ("state.md", f"# State\n\nthe key is {TOKEN} now\n", "by hand"),
    "name": (f"{TOKEN}.md", "fine\n", "by hand"),
    "message": ("state.md", "# State\n\nmore\n", f"use {TOKEN}"),
}


@pytest.mark.parametrize("leaked", LEAKS.values(), ids=LEAKS)
def test_kept_commits_that_hold_it_are_not_merged(
    group: Group, leaked: tuple[str, str, str]
) -> None:
    top = kept_with(group, *leaked)
    before = group.repository.tip()

    with pytest.raises(SecretFound) as caught:
        kept_restore(group, top[:10])

    assert group.repository.tip() == before
    assert [each.commit for each in kept_list(group)] == [top]
    assert caught.value.facts["rule"] == "github-token"
    assert TOKEN not in repr((str(caught.value), caught.value.hint, caught.value.facts))
    assert f"memory.restore('PATH', at='{top[:10]}')" in caught.value.hint
    assert "allow_secret='github-token'" in caught.value.hint
    done = kept_restore(group, top[:10], allow_secret=["github-token"])
    assert done.commit == group.repository.tip() != before
    assert status(group).secrets == ()


def test_kept_commits_without_it_are_merged_as_before(group: Group) -> None:
    top = kept_with(group, "notes/a.md", "fine\n")

    kept_restore(group, top[:10])

    assert status(group).secrets == ()
    assert group.repository.snapshot().read("notes/a.md") == b"fine\n"


def test_what_was_restored_with_leave_is_no_finding(group: Group) -> None:
    leak(group)
    bad = group.repository.tip()
    put(group, "state.md", "# State\n\nclean\n")
    restore(group, "state.md", at=bad, allowed=Allowed(("github-token",), policy=True))

    assert status(group).secrets == ()


def test_no_trailer_that_a_person_types_is_believed(group: Group) -> None:
    message = "by hand\n\nGitmem-Op: write\nGitmem-Id: x\nGitmem-Allowed: github-token\n"
    commit(group, "state.md", f"key {TOKEN}\n", message)

    assert [each.rule for each in status(group).secrets] == ["github-token"]


def test_a_message_and_a_name_by_plain_git_are_searched(group: Group) -> None:
    commit(group, "fine.md", "fine\n", f"use {TOKEN} for it")
    commit(group, f"{OTHER}.md", "fine\n")

    found = check(group).findings

    texts = [each.message for each in found if each.code == "secret"]
    assert len(texts) == 2
    assert any("the message of commit" in each for each in texts)
    assert TOKEN not in repr(found)
    assert OTHER not in repr(found)


def test_a_merge_and_an_amend_are_searched(group: Group) -> None:
    status(group)
    by_hand(group, "checkout", "-q", "-b", "side")
    commit(group, "side.md", f"key {TOKEN}\n")
    by_hand(group, "checkout", "-q", "main")
    commit(group, "main.md", "fine\n")
    by_hand(group, "merge", "-q", "--no-edit", "side")
    assert [each.path for each in status(group).secrets] == ["side.md"]

    edit(group, "main.md", f"key {OTHER}\n")
    by_hand(group, "commit", "-q", "-a", "--amend", "--no-edit")

    assert sorted(each.path for each in status(group).secrets) == ["main.md", "side.md"]


def test_what_was_removed_from_history_is_no_notice_any_more(group: Group) -> None:
    base = group.repository.tip()
    leak(group)
    status(group)
    by_hand(group, "reset", "-q", "--hard", base)
    commit(group, "state.md", "# State\n\nclean\n")
    assert [each.standing for each in status(group).secrets] == [False], "the object is there still"
    by_hand(group, "reflog", "expire", "--expire=now", "--all")
    by_hand(group, "gc", "-q", "--prune=now")
    commit(group, "other.md", "fine\n")

    assert status(group).secrets == ()


def test_each_commit_is_searched_once(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    leak(group)
    status(group)

    def no_more(data: bytes) -> list[object]:
        raise AssertionError("searched again")

    monkeypatch.setattr(commit_search, "find_in_bytes", no_more)
    status(group)
    check(group)
    assert all(each.outcome != "failed" for each in maintain(group).steps)


def test_a_write_leaves_a_long_history_to_maintenance(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old store has no memory of what was searched: nobody waits for all of it."""
    leak(group)
    os.unlink(group.gitdir / "gitmem" / scanned.NAME)
    monkeypatch.setattr(committed_secrets, "MOST_COMMITS", 2)

    put(group, "other.md", "x\n")

    assert read_scanned(group.gitdir).tip == ""
    assert "[redacted: github-token]" in inject(group).text, "what is shown is searched itself"
    (step,) = (each for each in maintain(group).steps if each.step == "secrets")
    assert (step.outcome, step.detail) == ("done", "1 secret found")
    assert [each.path for each in status(group).secrets] == ["state.md"]
    (step,) = (each for each in maintain(group).steps if each.step == "secrets")
    assert step.outcome == "nothing"


def test_a_large_file_is_left_to_maintenance_and_searched_to_its_end(group: Group) -> None:
    text = "word and word\n" * 200_000 + f"the key is {TOKEN}\n"
    commit(group, "large.md", text)

    put(group, "other.md", "x\n")
    assert read_scanned(group.gitdir).tip != group.repository.tip()
    assert len(open_ids(group)) == 1, "history is left to maintenance, no file is"
    scan_commits(group)

    (found,) = open_secrets(group, read_scanned(group.gitdir))
    assert (found.path, found.line) == ("large.md", 200_001)


def test_whoever_only_reads_keeps_nothing(group: Group) -> None:
    init(group.store, "global")
    init(group.store, "research")
    shared = Group(group.store, "global", acting="main")
    put(shared, "facts.md", "fact\n")
    commit(shared, "facts.md", f"key {TOKEN}\n")
    before = (shared.gitdir / "gitmem" / scanned.NAME).read_bytes()
    names = sorted(os.listdir(shared.gitdir / "gitmem"))

    reader = Group(group.store, "global", acting="research")
    assert [each.path for each in status(reader).secrets] == ["facts.md"]

    assert (shared.gitdir / "gitmem" / scanned.NAME).read_bytes() == before
    assert sorted(os.listdir(shared.gitdir / "gitmem")) == names
    reader.close()
    shared.close()


def test_two_who_acknowledge_at_once_lose_nothing(group: Group) -> None:
    first = salted(group.gitdir)
    _make(group.gitdir, "another salt")  # what somebody does who saw none yet
    keep_acknowledged(group.gitdir, ["a" * 12])
    with open(group.gitdir / "gitmem" / "acknowledged", "a") as file:
        file.write("torn")
    keep_acknowledged(group.gitdir, ["b" * 12, "a" * 12])

    known = read_acknowledged(group.gitdir)
    assert known.salt == first.salt
    assert known.ids == {"a" * 12, "b" * 12, "torn"}


@pytest.mark.parametrize(
    "torn", [b"", b"1\n", b"9\nabc\n\n", b"1\nx\n\nno row\n", b"\xff\xfe", b"1\nx\n\na\tb\tc"]
)
def test_a_torn_memory_costs_one_more_search(group: Group, torn: bytes) -> None:
    leak(group)
    (group.gitdir / "gitmem" / scanned.NAME).write_bytes(torn)

    assert [each.path for each in status(group).secrets] == ["state.md"]


def test_odd_names_come_back_from_the_memory(tmp_path: Path) -> None:
    (tmp_path / "gitmem").mkdir()
    rows = tuple(
        committed_secrets.Exposed("id", "rule", 1, "b" * 40, "c" * 40, path)
        for path in ("a b.md", "tab\t.md", "line\n.md", "ä 日本.md", "\udcff.md", "back\\slash")
    )
    known = scanned.Scanned("d" * 40, "", rows)

    scanned.keep_scanned(tmp_path, known)

    assert read_scanned(tmp_path) == known


def test_new_rules_are_a_new_form() -> None:
    """Who changes a rule counts up FORM in cache/scanned.py, and puts the new digest here."""
    from hashlib import sha256

    patterns = [(rule.slug, rule.literals, rule.pattern) for rule in TABLE]
    assert (scanned.FORM, sha256(repr(patterns).encode()).hexdigest()[:12]) == ("6", "ca90de6d6c6e")


def asked(group: Group, calls: dict[str, dict[str, object]]) -> dict[str, object]:
    """What the tools of MCP answer."""
    kept = OpenGroups()
    endpoint = Endpoint(kept, group.store, group.name, group.name, Who("model"))
    try:
        return {name: answered(endpoint, name, given) for name, given in calls.items()}
    finally:
        kept.close()


@pytest.mark.parametrize("look", [lambda group: None, check])
def test_no_door_of_a_model_shows_it(group: Group, look: Callable[[Group], object]) -> None:
    """A model that asks for a file by name, or for its history, is a model, too."""
    commit(group, "state.md", f"# State\n\nthe key is {TOKEN} now\n", f"with {TOKEN}")
    look(group)
    calls: dict[str, dict[str, object]] = {
        "memory_get": {"path": "state.md"},
        "memory_history": {},
        "memory_search": {"query": "key"},
    }
    for name, answer in asked(group, calls).items():
        assert not answer.failed, answer  # type: ignore[attr-defined]
        assert TOKEN not in repr(answer), name
    tool = MemoryCommands(group)
    seen = tool.answer({"command": "view", "path": "/memories/state.md"})
    assert "[redacted: " in seen.content
    assert TOKEN not in seen.content
    file = {"path": "/memories/state.md", "old_str": "now", "new_str": "then"}
    seen = tool.answer({"command": "str_replace", **file})
    assert "then" in seen.content
    assert TOKEN not in seen.content


@pytest.mark.parametrize("look", [lambda group: None, check])
def test_no_door_of_a_model_shows_it_in_a_name(
    group: Group, look: Callable[[Group], object]
) -> None:
    shown = group.repository.tip()
    put(group, "gitmem.yaml", LAYOUT + "  log: {path: log/*.md, kind: notes, load: always}\n")
    commit(group, f"notes/{TOKEN}.md", f"# About {OTHER}\n\notters pay no tax\n")
    commit(group, f"log/{TOKEN}.md", "badgers\n")
    look(group)
    edit(group, f"held {OTHER}.md", "x\n")
    calls: dict[str, dict[str, object]] = {
        "memory_get": {"path": f"notes/{TOKEN}.md"},
        "memory_list": {},
        "memory_history": {},
        "memory_search": {"query": "otters"},
        "memory_status": {},
    }
    said = [
        *asked(group, calls).values(),
        MemoryCommands(group).answer({"command": "view", "path": "/memories"}),
        search(group, "otters"),
        inject(group, prompt="what do otters pay?", annotate=True),
        inject(group, budget=200, annotate=True),
        changed_since(group, [("main", shown)]),
        *edit_notes(capture(group), "main", Room(9000, 9000)),
    ]

    for each in said:
        assert "[redacted: github-token]" in repr(each) or "otters" not in repr(each)
        for key in (TOKEN, OTHER):
            assert key not in repr(each), each
    assert "otters" in repr(said[3:4])


@pytest.mark.parametrize("look", [lambda group: None, check])
def test_nor_is_it_injected_as_the_name_of_a_file(
    group: Group, look: Callable[[Group], object]
) -> None:
    put(group, "gitmem.yaml", LAYOUT.replace("load: query", "load: always"))
    commit(group, f"notes/{TOKEN}.md", "otters pay no tax\n")
    look(group)

    shown = inject(group, annotate=True)

    assert "otters pay no tax" in shown.text
    assert TOKEN not in shown.text


def stored(group: Group) -> bytes:
    return (group.gitdir / "gitmem" / scanned.NAME).read_bytes()


def searched(group: Group) -> bool:
    return scanned_in(group.gitdir)[0].tip == group.repository.tip()


def test_writes_of_ours_count_as_searched_and_write_nothing_down(group: Group) -> None:
    put(group, "a.md", "a\n")
    before = stored(group)

    for number in range(3):
        put(group, f"notes/{number}.md", "x\n")
        assert searched(group)

    assert stored(group) == before


def test_after_a_commit_by_plain_git_a_new_run_begins(group: Group) -> None:
    put(group, "a.md", "a\n")
    commit(group, "b.md", "by hand\n")
    assert not searched(group)

    put(group, "a.md", "b\n")
    before = stored(group)
    put(group, "a.md", "c\n")

    assert searched(group)
    assert stored(group) == before
    leak(group)
    put(group, "a.md", "d\n")
    assert len(open_ids(group)) == 1


def test_a_commit_by_plain_git_that_nobody_had_time_to_search_is_searched_later(
    group: Group,
) -> None:
    put(group, "a.md", "a\n")
    leak(group)

    with group.writing(hurried=True) as writer:
        writer.publish(lambda snapshot: plan_of(group, "a.md", b"b\n"))

    assert not searched(group)
    status(group)
    assert len(open_ids(group)) == 1


def plan_of(group: Group, path: str, data: bytes) -> Plan[None]:
    return Plan((Step({path: data}, group.note("write", paths=(path,))),), None)


def test_a_release_that_names_no_run_costs_one_search(group: Group) -> None:
    for number in range(3):
        put(group, f"{number}.md", "x\n")
    lock = group.gitdir / "gitmem" / "lock"
    lock.write_bytes(lock.read_bytes().partition(b"\n")[0])
    assert not searched(group)
    leak(group)

    put(group, "a.md", "a\n")
    put(group, "a.md", "b\n")

    assert len(open_ids(group)) == 1
    assert searched(group)


def test_other_rules_search_again_what_writers_have_counted(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(group, "a.md", "a\n")
    put(group, "a.md", "b\n")
    monkeypatch.setattr(scanned, "FORM", "next")
    group = Group(group.store, group.name)  # other rules come with another process

    assert scanned_in(group.gitdir)[0].tip == ""
    put(group, "a.md", "c\n")
    assert searched(group)


def test_what_maintenance_has_to_search_stays_left_to_it(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else every write would try again, and give up again."""
    leak(group)
    put(group, "state.md", "# State\n\nclean\n")
    os.unlink(group.gitdir / "gitmem" / scanned.NAME)
    monkeypatch.setattr(committed_secrets, "MOST_COMMITS", 2)
    put(group, "a.md", "a\n")
    before = stored(group)

    put(group, "a.md", "b\n")
    put(group, "a.md", "c\n")

    assert stored(group) == before
    monkeypatch.undo()
    maintain(group)
    assert len(open_ids(group)) == 1


def few(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    """More writes of ours than a bounded search would look at."""
    put(group, "first.md", "x\n")
    for number in range(5):
        put(group, "a.md", f"{number}\n")
    monkeypatch.setattr(committed_secrets, "MOST_COMMITS", 3)


def stop_hook(group: Group) -> None:
    """What a hook does that finds nothing to capture."""
    with group.writing(hurried=True):
        pass


def lost_line(group: Group) -> None:
    """A write by a release that names no run."""
    lock = group.gitdir / "gitmem" / "lock"
    lock.write_bytes(lock.read_bytes().partition(b"\n")[0])


def lost_cache(group: Group) -> None:
    (group.gitdir / "gitmem" / scanned.NAME).unlink(missing_ok=True)


def kept_merge(group: Group) -> None:
    """A line of commits that was written before lands as it is."""
    top = kept_with(group, "notes/a.md", "fine\n")
    kept_restore(group, top[:10])


@pytest.mark.parametrize("then", [stop_hook, status, COMMANDS["write"]])
@pytest.mark.parametrize("before", [None, lost_line, lost_cache, kept_merge])
@pytest.mark.parametrize("after", [None, stop_hook, lost_line, lost_cache])
def test_no_lost_run_hides_a_secret_in_a_file(
    group: Group,
    monkeypatch: pytest.MonkeyPatch,
    before: Callable[[Group], object] | None,
    after: Callable[[Group], object] | None,
    then: Callable[[Group], object],
) -> None:
    few(group, monkeypatch)
    if before:
        before(group)
    leak(group)
    if after:
        after(group)

    then(group)

    for _ in range(2):
        shown = status(group)
        assert shown.health == "attention"
        assert "1 secret in files" in shown.concerns
        put(group, "a.md", "z\n")


def test_a_hook_that_captures_nothing_keeps_what_the_run_vouched_for(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    few(group, monkeypatch)
    ours = group.repository.tip()
    bad = leak(group)

    stop_hook(group)

    assert read_scanned(group.gitdir).tip == ours
    shown = status(group)
    assert [each.commit for each in shown.secrets] == [bad]
    assert shown.unsearched == 0, "nothing was left to maintenance"


def test_a_repair_keeps_what_the_run_vouched_for(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    few(group, monkeypatch)
    lock = group.gitdir / "gitmem" / "lock"
    _, _, run = lock.read_bytes().partition(b"\n")
    lock.write_bytes(b'00000000 ["torn\n' + run)

    check(group, repair=True)

    assert last_run(group.gitdir)[0] == "", "the lock was cleared"
    assert searched(group)


def test_status_is_not_ok_while_history_is_not_searched(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    leak(group)
    put(group, "state.md", "# State\n\nclean\n")
    few(group, monkeypatch)
    lost_cache(group)
    count = int(by_hand(group, "rev-list", "--count", "HEAD"))

    shown = status(group)

    assert (shown.health, shown.secrets, shown.unsearched) == ("attention", (), count)
    assert f"{count} commits not searched for secrets yet" in shown.concerns
    put(group, "a.md", "z\n")
    assert status(group).unsearched == count + 1, "all of them wait: nobody has seen the first ones"
    monkeypatch.setattr(committed_secrets, "MOST_COUNTED", 4)
    assert status(group).unsearched == 5
    maintain(group)
    assert status(group).unsearched == 0
    assert status(group).concerns == ("1 secret in history",)


def test_a_branch_moved_back_is_searched_where_history_was_left(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = leak(group)
    few(group, monkeypatch)
    put(group, "state.md", "# State\n\nclean\n")
    lost_cache(group)
    assert status(group).secrets == ()

    by_hand(group, "reset", "-q", "--hard", bad)

    assert [each.places for each in status(group).secrets] == [(SecretLocation("state.md", 3),)]


def test_the_commit_that_brought_it_is_named_once_history_is_searched(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = leak(group)
    few(group, monkeypatch)
    lost_cache(group)
    (glanced,) = status(group).secrets
    assert glanced.commit == group.repository.tip(), "it has the file, and was looked at"

    check(group)

    assert [each.commit for each in status(group).secrets] == [bad]


def accepted(group: Group) -> None:
    write(group, [Edit("k.md", f"{TOKEN}\n")], allowed=Allowed(secrets=("github-token",)))


def acknowledged(group: Group) -> None:
    leak(group)
    check(group)
    acknowledge(group, open_ids(group))


def removed(group: Group) -> None:
    base = group.repository.tip()
    leak(group)
    status(group)
    by_hand(group, "reset", "-q", "--hard", base)
    commit(group, "b.md", "clean\n")
    status(group)
    by_hand(group, "reflog", "expire", "--expire=now", "--all")
    by_hand(group, "prune", "--expire=now")
    assert status(group).secrets == ()


@pytest.mark.parametrize("made", [accepted, acknowledged, removed])
def test_a_finding_that_is_no_news_is_not_written_down_with_every_write(
    group: Group, made: Callable[[Group], None]
) -> None:
    made(group)
    put(group, "a.md", "a\n")
    before = (group.gitdir / "gitmem" / scanned.NAME).stat()

    for number in range(3):
        put(group, "a.md", f"{number}\n")
        assert searched(group)

    after = (group.gitdir / "gitmem" / scanned.NAME).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert status(group).secrets == ()


def test_the_next_version_of_an_accepted_file_is_known(group: Group) -> None:
    accepted(group)
    write(group, [Edit("k.md", "one more line", append=True)])
    blobs = {each.blob for each in read_scanned(group.gitdir).found}

    assert group.repository.snapshot().oid("k.md") in blobs
    assert searched(group)
    assert status(group).secrets == ()


def test_a_group_that_stays_open_sees_what_others_searched_and_lost(group: Group) -> None:
    """It does not read again what it left itself: only while nobody else has touched it."""
    for number in range(3):
        put(group, "a.md", f"{number}\n")
    other = Group(group.store, group.name)

    put(other, "a.md", "other\n")
    put(group, "a.md", "mine\n")
    assert searched(group)
    lost_cache(group)
    put(group, "a.md", "again\n")
    assert searched(group)
    leak(group)
    check(other)
    put(group, "a.md", "more\n")
    put(group, "a.md", "most\n")
    assert searched(group)
    assert len(status(group).secrets) == 1
    acknowledge(other, open_ids(group))
    put(group, "a.md", "last\n")
    put(group, "a.md", "of all\n")
    assert searched(group)


@pytest.mark.parametrize("what", ["main~2", "main~2^{tree}"], ids=["commit", "tree"])
def test_damage_in_history_hides_no_secret_in_a_file(group: Group, what: str) -> None:
    """What stands in the files is searched though a commit on the way there cannot be read."""
    for number in range(3):
        edit(group, "f.md", f"{number}\n")
        by_hand(group, "add", "-A")
        by_hand(group, "commit", "-qm", "by a person")
    leak(group)
    lost = git(group.gitdir, "rev-parse", what).strip()
    os.unlink(group.gitdir / "objects" / lost[:2] / lost[2:])

    for again in range(2):
        found = status(group)
        assert [each.rule for each in found.secrets] == ["github-token"]
        assert any("not searched" in each for each in found.concerns)
        assert [each.rule for each in open_secrets(group, scan_commits(group))] == ["github-token"]
        put(group, "b.md", f"{again}\n")


# Beside the branch -------------------------------------------------------------------------------


def off_the_branch(group: Group) -> str:
    """A commit with a credential that nobody searched while the branch had it."""
    base = group.repository.tip()
    bad = leak(group)
    by_hand(group, "reset", "-q", "--hard", base)
    return bad


def kept(group: Group) -> str:
    bad = off_the_branch(group)
    assert check(group, repair=True).sound
    assert [each.commit for each in kept_list(group)] == [bad]
    return bad


def kept_by_a_writer(group: Group) -> str:
    """The writer before that has searched it, on the branch."""
    bad = left_just_now(group)
    put(group, "other.md", "x\n")
    return bad


def left_just_now(group: Group) -> str:
    base = group.repository.tip()
    bad = leak(group)
    put(group, "state.md", "# State\n\nclean\n")
    by_hand(group, "reset", "-q", "--hard", base)
    return bad


def named_by(*words: str) -> Callable[[Group], str]:
    """A commit that no branch ever had, and the ref that git gives it by WORDS."""

    def made(group: Group) -> str:
        by_hand(group, "switch", "-q", "--detach")
        bad = leak(group)
        by_hand(group, "switch", "-q", "main")
        by_hand(group, *words, bad)
        return bad

    return made


BESIDE: dict[str, Callable[[Group], str]] = {
    "kept": kept,
    "kept by a writer": kept_by_a_writer,
    "tag": named_by("tag", "-m", "old", "old"),
    "plain tag": named_by("tag", "old"),
    "branch": named_by("branch", "side"),
    "remote": named_by("update-ref", "refs/remotes/origin/main"),
    "stash": named_by("update-ref", "refs/stash"),
}


@pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
@pytest.mark.parametrize("made", BESIDE.values(), ids=BESIDE)
def test_a_secret_beside_the_branch_is_named_until_it_is_acknowledged(
    group: Group, made: Callable[[Group], str], packed: bool
) -> None:
    status(group)
    bad = made(group)
    if packed:
        by_hand(group, "pack-refs", "--all")

    (found,) = status(group).secrets

    assert (found.path, found.line, found.commit) == ("state.md", 3, bad)
    assert not found.standing
    assert "1 secret in history" in status(group).concerns
    (told,) = (each for each in check(group).findings if each.code == "secret")
    assert told.severity == "info"
    where = f"state.md line 3 of commit {bad[:10]}, which is not on the branch"
    assert where in told.message
    assert TOKEN not in repr(told)
    (said,) = re.findall(r"`gitmem check --acknowledge ([0-9a-f]+)`", told.hint)
    acknowledge(group, [said])
    assert status(group).secrets == ()
    assert [each for each in check(group).findings if each.code == "secret"] == []


@pytest.mark.parametrize("made", BESIDE.values(), ids=BESIDE)
@pytest.mark.parametrize("command", [maintain, check, status])
def test_whoever_searches_history_finds_what_is_beside_it(
    group: Group, made: Callable[[Group], str], command: Callable[[Group], object]
) -> None:
    status(group)
    maintain(group)
    maintain(group)
    bad = made(group)

    command(group)

    assert [each.commit for each in scanned.read_scanned_refs(group.gitdir).found] == [bad]


@pytest.mark.parametrize("look", [status, lambda group: None], ids=["after status", "at once"])
@pytest.mark.parametrize("made", [kept, kept_by_a_writer, left_just_now])
def test_dropping_the_commit_ends_it_where_nothing_else_leads_to_it(
    group: Group, made: Callable[[Group], str], look: Callable[[Group], object]
) -> None:
    bad = made(group)
    look(group)
    by_hand(group, "tag", "also", bad)
    (top,) = kept_list(group)
    kept_drop(group, top.commit[:10])
    assert len(status(group).secrets) == 1, "the tag leads to it"

    by_hand(group, "tag", "-d", "also")

    assert status(group).secrets == ()
    assert [each for each in check(group).findings if each.code == "secret"] == []


@pytest.mark.parametrize("made", [kept, kept_by_a_writer, left_just_now])
def test_dropping_the_commit_at_once_ends_it(group: Group, made: Callable[[Group], str]) -> None:
    made(group)

    kept_drop(group, kept_list(group)[0].commit)

    assert status(group).secrets == ()
    assert read_scanned(group.gitdir).found == ()


def test_what_comes_back_to_the_branch_is_a_finding_of_its_history(group: Group) -> None:
    status(group)
    by_hand(group, "switch", "-q", "-c", "side")
    bad = leak(group)
    by_hand(group, "switch", "-q", "main")
    assert [each.beside for each in status(group).secrets] == [True]
    by_hand(group, "merge", "-q", "--ff-only", "side")
    by_hand(group, "branch", "-q", "-d", "side")
    commit(group, "state.md", "# State\n\nclean\n")

    (found,) = status(group).secrets

    assert (found.commit, found.standing, found.beside) == (bad, False, False)
    assert TOKEN not in inject(group).text


@pytest.mark.parametrize("stays", ["main^1", "main^2"])
def test_a_value_that_another_line_brought_too_stays_masked(group: Group, stays: str) -> None:
    """One search found it in two lines of commits; one of them leaves the branch again."""
    by_hand(group, "switch", "-q", "-c", "side")
    commit(group, "notes/a.md", f"the robot has the key {TOKEN}\n")
    by_hand(group, "switch", "-q", "main")
    commit(group, "notes/b.md", f"the robot has the key {TOKEN}\n")
    by_hand(group, "merge", "-q", "--no-edit", "side")
    by_hand(group, "branch", "-q", "-D", "side")
    put(group, "other.md", "x\n")
    by_hand(group, "reset", "-q", "--hard", stays.replace("main", "main~1"))
    put(group, "other.md", "y\n")

    (left,) = kept_list(group)
    kept_drop(group, left.commit)

    assert [len(each.places) for each in status(group).secrets] == [1]
    assert "the key [redacted: github-token]" in repr(search(group, "robot key"))
    assert TOKEN not in repr(search(group, "robot key"))


def test_refs_that_were_searched_cost_nothing_more(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    named_by("branch", "side")(group)
    for number in range(3):
        put(group, "other.md", f"{number}\n")
        snapshot(group, force=True)
    status(group)

    def no_more(*_: object) -> None:
        raise AssertionError("searched again")

    monkeypatch.setattr(commit_search.CommitSearch, "step", no_more)
    monkeypatch.setattr(commit_search, "peel", no_more)
    assert len(status(group).secrets) == 1
    check(group)


def test_status_leaves_a_long_line_beside_the_branch_to_maintenance(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    status(group)
    by_hand(group, "switch", "-q", "-c", "side")
    leak(group)
    for number in range(4):
        commit(group, "notes/a.md", f"{number}\n")
    by_hand(group, "switch", "-q", "main")
    monkeypatch.setattr(committed_secrets, "MOST_COMMITS", 3)

    shown = status(group)
    assert (shown.secrets, shown.unsearched) == ((), 5)
    assert "5 commits not searched for secrets yet" in shown.concerns
    maintain(group)

    shown = status(group)
    assert (len(shown.secrets), shown.unsearched) == (1, 0)


@pytest.mark.parametrize("what", ["side", "side^{tree}"])
def test_damage_beside_the_branch_hides_nothing_else(group: Group, what: str) -> None:
    status(group)
    by_hand(group, "switch", "-q", "-c", "side")
    commit(group, "notes/a.md", "fine\n")
    by_hand(group, "switch", "-q", "main")
    bad = named_by("tag", "old")(group)
    oid = by_hand(group, "rev-parse", what)
    (group.gitdir / "objects" / oid[:2] / oid[2:]).unlink()

    scanned_now = committed_secrets.scan_beside(group)

    assert [each.commit for each in scanned_now.found] == [bad]


def test_a_torn_memory_of_refs_costs_one_more_search(group: Group) -> None:
    named_by("tag", "old")(group)
    before = status(group).secrets
    (group.gitdir / "gitmem" / scanned.REFS_NAME).write_bytes(b"torn")

    assert status(group).secrets == before != ()
