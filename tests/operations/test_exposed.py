"""A commit by plain git passes no guard: what it brings is found, named, and shown to no model."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.core.secrets import TABLE
from gitmem.errors import NotFound
from gitmem.git.acknowledged import _make, read_acknowledged, salted
from gitmem.git.acknowledged import acknowledge as keep_acknowledged
from gitmem.git.publish import Plan, Step
from gitmem.hosts.hooks.changes import changed_since
from gitmem.hosts.mcp.desk import Desk, Kept
from gitmem.hosts.mcp.tools import answered
from gitmem.hosts.memory_tool.commands import MemoryCommands
from gitmem.index import scanned
from gitmem.index.scanned import read_scanned
from gitmem.operations import exposed
from gitmem.operations.capture import capture
from gitmem.operations.check import check
from gitmem.operations.exposed import acknowledge, open_secrets, scan_commits
from gitmem.operations.group import Group, Who, scanned_in
from gitmem.operations.held import held_accept
from gitmem.operations.init import init
from gitmem.operations.inject import inject
from gitmem.operations.maintain import maintain
from gitmem.operations.move import move
from gitmem.operations.restore import restore
from gitmem.operations.search import search
from gitmem.operations.snapshot import snapshot
from gitmem.operations.status import status
from gitmem.operations.write import Allowed, Edit, write
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
    shown = group.repository.tip().commit
    leak(group)
    bad = group.repository.tip().commit
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

    assert read_scanned(group.gitdir).tip == group.repository.tip().commit
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


def test_what_was_restored_with_leave_is_no_finding(group: Group) -> None:
    leak(group)
    bad = group.repository.tip().commit
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
    base = group.repository.tip().commit
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

    monkeypatch.setattr(exposed, "found_in", no_more)
    status(group)
    check(group)
    assert all(each.outcome != "failed" for each in maintain(group).steps)


def test_a_write_leaves_a_long_history_to_maintenance(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old store has no memory of what was searched: nobody waits for all of it."""
    leak(group)
    os.unlink(group.gitdir / "gitmem" / scanned.NAME)
    monkeypatch.setattr(exposed, "MOST_COMMITS", 2)

    put(group, "other.md", "x\n")

    assert read_scanned(group.gitdir).tip == ""
    assert "[redacted: github-token]" in inject(group).text, "what is shown is searched itself"
    (step,) = (each for each in maintain(group).steps if each.step == "secrets")
    assert (step.outcome, step.detail) == ("done", "1 secret found, see `gitmem check`")
    assert [each.path for each in status(group).secrets] == ["state.md"]
    (step,) = (each for each in maintain(group).steps if each.step == "secrets")
    assert step.outcome == "nothing"


def test_a_large_file_is_left_to_maintenance_and_searched_to_its_end(group: Group) -> None:
    text = "word and word\n" * 200_000 + f"the key is {TOKEN}\n"
    commit(group, "large.md", text)

    put(group, "other.md", "x\n")
    assert open_ids(group) == []
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
        exposed.Exposed("id", "rule", 1, "b" * 40, "c" * 40, path)
        for path in ("a b.md", "tab\t.md", "line\n.md", "ä 日本.md", "\udcff.md", "back\\slash")
    )
    known = scanned.Scanned("d" * 40, "", rows)

    scanned.keep_scanned(tmp_path, known)

    assert read_scanned(tmp_path) == known


def test_new_rules_are_a_new_form() -> None:
    """Who changes a rule counts up FORM in index/scanned.py, and puts the new digest here."""
    from hashlib import sha256

    patterns = [(rule.slug, rule.literals, rule.pattern) for rule in TABLE]
    assert (scanned.FORM, sha256(repr(patterns).encode()).hexdigest()[:12]) == ("1", "e35b5d7f8703")


@pytest.mark.parametrize("look", [lambda group: None, check])
def test_no_door_of_a_model_shows_it(group: Group, look: Callable[[Group], object]) -> None:
    """A model that asks for a file by name, or for its history, is a model, too."""
    commit(group, "state.md", f"# State\n\nthe key is {TOKEN} now\n", f"with {TOKEN}")
    look(group)
    kept = Kept()
    desk = Desk(kept, group.store, group.name, group.name, Who("model"))
    try:
        for name, given in {
            "memory_get": {"path": "state.md"},
            "memory_history": {},
            "memory_search": {"query": "key"},
        }.items():
            answer = answered(desk, name, given)
            assert not answer.failed, answer
            assert TOKEN not in repr(answer), name
    finally:
        kept.close()
    seen = MemoryCommands(group).answer({"command": "view", "path": "/memories/state.md"})
    assert "[redacted: " in seen.content
    assert TOKEN not in seen.content


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
    return scanned_in(group.gitdir)[0].tip == group.repository.tip().commit


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


def plan_of(group: Group, path: str, data: bytes) -> Plan:
    return Plan((Step({path: data}, group.note("write", paths=(path,))),))


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

    assert scanned_in(group.gitdir)[0].tip == ""
    put(group, "a.md", "c\n")
    assert searched(group)


def test_what_maintenance_has_to_search_stays_left_to_it(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else every write would try again, and give up again."""
    leak(group)
    os.unlink(group.gitdir / "gitmem" / scanned.NAME)
    monkeypatch.setattr(exposed, "MOST_COMMITS", 2)
    put(group, "a.md", "a\n")
    before = stored(group)

    put(group, "a.md", "b\n")
    put(group, "a.md", "c\n")

    assert stored(group) == before
    monkeypatch.undo()
    maintain(group)
    assert len(open_ids(group)) == 1
