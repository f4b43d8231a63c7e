"""A credential knocks at every door, and its bytes end up in no object, ref, log or record."""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitmem.errors import BadInput, GitmemError, PlanRefused, SecretFound
from gitmem.memory.admin.check import check
from gitmem.memory.admin.committed_secrets import acknowledge
from gitmem.memory.admin.groups import rename_group
from gitmem.memory.admin.init import init
from gitmem.memory.adopt.adopt import adopt
from gitmem.memory.curate.archive import archive
from gitmem.memory.curate.consolidate import consolidate
from gitmem.memory.curate.decide import decide
from gitmem.memory.entries.confirm import confirm
from gitmem.memory.entries.move_entry import move_entry
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.read import read
from gitmem.memory.read.status import status
from gitmem.memory.recover.held import (
    held_accept,
    held_drop,
    held_list,
    held_restore,
    held_show,
    held_trash,
)
from gitmem.memory.recover.kept import kept_list
from gitmem.memory.recover.restore import restore
from gitmem.memory.recover.undo import undo
from gitmem.memory.search.search import search
from gitmem.memory.transcripts.add import NewMessage, transcript_add
from gitmem.memory.transcripts.checkpoint import transcript_checkpoint
from gitmem.memory.transcripts.import_file import ParsedLine, transcript_import
from gitmem.memory.transcripts.pending import transcript_pending
from gitmem.memory.transcripts.prune import transcript_prune
from gitmem.memory.transcripts.status import transcript_show
from gitmem.memory.upkeep.compact import compact
from gitmem.memory.upkeep.jobs import last_jobs
from gitmem.memory.upkeep.rollup import rollup
from gitmem.memory.upkeep.rotate import rotate
from gitmem.memory.upkeep.snapshot import snapshot
from gitmem.memory.write.capture import capture
from gitmem.memory.write.move import move, remove
from gitmem.memory.write.write import Allowed, Edit, write
from gitmem.store.objects.database import blob_id
from tests.support.git import git, git_bytes
from tests.support.histories import by_hand, edit, put
from tests.support.samples import LETTERS, UPPER, body, in_context, narrow

KEY = "AKIA" + body(UPPER, 16, 7)
TOKEN = "gh" + "p_" + body(LETTERS, 36, 7)
HELD = ("gitmem", "held")
TRASH = ("gitmem", "trash")
WEEK = ("week", "2026-W01")


def traces(store: Store, secret: str) -> list[str]:
    """Where the bytes of SECRET, or most of them, are in any object or file of the store."""
    found = []
    for part in (secret[: len(secret) * 2 // 3].encode(), secret[len(secret) // 3 :].encode()):
        for gitdir in (store.root / "repos").iterdir():
            objects = git_bytes(gitdir, "cat-file", "--batch-all-objects", "--batch")
            found += ["an object"] if part in objects else []
            found += ["a ref"] if part in git_bytes(gitdir, "for-each-ref") else []
        for path in store.root.rglob("*"):
            inside = path.relative_to(store.root).parts
            aside = inside[2:4] in (HELD, TRASH) and path.name == "content"
            mine = inside[0] == "groups" or aside
            if not mine:
                found += [str(path)] if part in os.fsencode(path.name) else []
            if path.is_file() and not path.is_symlink() and not mine:
                found += [str(path)] if part in path.read_bytes() else []
    return found


def test_the_search_finds_what_is_there(store: Store, group: Group) -> None:
    write(group, [Edit("a.md", f"{KEY}\n")], allowed=Allowed(secrets=("aws-key-id",)))
    assert "an object" in traces(store, KEY)

    (group.gitdir / "gitmem" / "note").write_text(f"x {TOKEN}")
    assert traces(store, TOKEN) != []


def named(group: Group, **who: str) -> Group:
    return Group(group.store, "main", who=Who(**{"agent": "ada", **who}))


Door = Callable[[Group, str], object]

REFUSED: dict[str, Door] = {
    "write": lambda g, s: put(g, "a.md", f"key {s}\n"),
    "write of a new file": lambda g, s: put(g, "new.md", f"{s}"),
    "append": lambda g, s: write(g, [Edit("a.md", f"key {s}", append=True)]),
    "append of the other half": lambda g, s: write(
        g, [Edit("a.md", s[:9]), Edit("a.md", s[9:], append=True), Edit("a.md", s)]
    ),
    "batch": lambda g, s: write(g, [Edit("a.md", "fine\n"), Edit("b.md", f"key {s}\n", line=2)]),
    "path": lambda g, s: put(g, f"{s}.md", "text\n"),
    "folder": lambda g, s: put(g, f"notes/{s}/x.md", "text\n"),
    "reason": lambda g, s: put(g, "a.md", "text\n", reason=f"the key is {s}"),
    "turn": lambda g, s: put(g, "a.md", "text\n", turn=s),
    "operation id": lambda g, s: put(g, "a.md", "text\n", operation=s),
    "agent": lambda g, s: put(named(g, agent=s), "a.md", "text\n"),
    "session": lambda g, s: put(named(g, session=s), "a.md", "text\n"),
    "source": lambda g, s: put(named(g, source=f"from {s}"), "a.md", "text\n"),
    "capture's reason": lambda g, s: capture(g, reason=s),
    "capture's agent": lambda g, s: capture(named(g, agent=s)),
    "restore's reason": lambda g, s: restore(g, "a.md", at="HEAD~1", reason=s),
    "undo's reason": lambda g, s: undo(g, reason=s),
    "move's reason": lambda g, s: move(g, "a.md", "c.md", reason=s),
    "move's target": lambda g, s: move(g, "a.md", f"{s}.md"),
    "move into a folder": lambda g, s: move(g, "a.md", f"{s}/"),
    "remove's reason": lambda g, s: remove(g, "a.md", reason=s),
    "archive's reason": lambda g, s: archive(g, ["notes/c.md#one"], reason=s),
    "confirmation's reason": lambda g, s: confirm(g, ["notes/c.md#one"], reason=s),
    "restored entry's reason": lambda g, s: restore(g, "notes/c.md#one", reason=s),
    "group's name": lambda g, s: init(g.store, s),
    "init's agent": lambda g, s: init(g.store, "new", who=Who(s)),
    "group's new name": lambda g, s: rename_group(g.store, "main", s),
    "file of a layout": lambda g, s: init(g.store, "new", layout=folder(g, "a.md", s)),
    "name in a layout": lambda g, s: init(g.store, "new", layout=folder(g, f"{s}.md", "x")),
    "layout": lambda g, s: init(g.store, "new", layout=folder(g, "a.md", "x", f"layout: {s}\n")),
    "entry": lambda g, s: write(g, [Edit("a.md", f"key {s}", entry="Title")]),
    "entry's title": lambda g, s: write(g, [Edit("a.md", "text", entry=s)]),
    "entry's field": lambda g, s: write(g, [Edit("a.md", entry="T", set=(("Key", s),))]),
    "frontmatter": lambda g, s: write(g, [Edit("a.md", set=(("key", s),))]),
    "user": lambda g, s: write(g, [Edit("user", "text\n", user=s)]),
    "compaction": lambda g, s: compact(g, f"the key is {s}"),
    "plan's reason": lambda g, s: decide(g, b"", reason=s),
    "consolidation's reason": lambda g, s: consolidate(g, reason=s),
    "roll-up": lambda g, s: rollup(g, *WEEK, f"the key is {s}", summary="one line"),
    "roll-up's summary": lambda g, s: rollup(g, *WEEK, "text", summary=f"the key is {s}"),
    "roll-up's reason": lambda g, s: rollup(g, *WEEK, "text", summary="one line", reason=s),
    "snapshot's reason": lambda g, s: snapshot(g, reason=s),
    "rotation's reason": lambda g, s: rotate(g, reason=s),
    "moved entry's field": lambda g, s: move_entry(g, "notes/c.md#one", "b.md", fields={"Key": s}),
    "checkpoint's summary": lambda g, s: checkpointed(g, f"the key is {s}"),
    "checkpoint's agent": lambda g, s: checkpointed(named(g, agent=s), "fine"),
    "message's agent": lambda g, s: transcript_add(
        named(g, agent=s), [NewMessage("c", "ada", "hi")]
    ),
    "message's session": lambda g, s: transcript_add(
        named(g, session=s), [NewMessage("c", "ada", "hi")]
    ),
    "prune's source": lambda g, s: transcript_prune(named(g, source=s), "2026-01-01"),
}


def checkpointed(group: Group, summary: str) -> object:
    """A range that is handed out to one whose words are fine, and closed by these."""
    fine = Group(group.store, "main", who=Who("ada", "s-1"))
    transcript_add(fine, [NewMessage("c", "ada", "hello")])
    token = transcript_pending(fine).token
    fine.close()
    return transcript_checkpoint(group, summary, token=token)


def folder(group: Group, name: str, text: str, more: str = "") -> str:
    """A layout of somebody's own."""
    place = group.store.root.parent / "mine"
    place.mkdir()
    (place / "layout.yaml").write_text(f"gitmem: 1\n{more}")
    (place / name).write_text(text)
    return str(place)


@pytest.mark.parametrize("secret", [KEY, TOKEN], ids=["key", "token"])
@pytest.mark.parametrize("door", REFUSED.values(), ids=REFUSED)
def test_it_is_refused_and_leaves_no_trace(
    store: Store, group: Group, door: Door, secret: str
) -> None:
    head = group.repository.tip()

    with pytest.raises(SecretFound) as caught:
        door(group, secret)

    assert secret not in str(caught.value) + caught.value.hint + repr(caught.value.facts)
    assert caught.value.facts["rule"] in ("aws-key-id", "github-token")
    assert group.repository.tip() == head
    assert traces(store, secret) == []


def row(action: str, **said: object) -> bytes:
    """A plan of one decision."""
    return json.dumps({"action": action, "address": "notes/c.md#one", **said}).encode()


DECISIONS: dict[str, Callable[[str], bytes]] = {
    "plan's text": lambda s: row("update", text=f"the key is {s}"),
    "plan's field": lambda s: row("update", set={"Key": s}),
    "plan's target": lambda s: row("move", to=f"{s}.md"),
    "plan's title": lambda s: json.dumps(
        {
            "action": "merge-entries",
            "addresses": ["a.md", "notes/c.md#one"],
            "into": "d.md",
            "title": s,
            "text": "text",
        }
    ).encode(),
    "decision's reason": lambda s: row("archive", reason=s),
}


@pytest.mark.parametrize("secret", [KEY, TOKEN], ids=["key", "token"])
@pytest.mark.parametrize("decision", DECISIONS.values(), ids=DECISIONS)
def test_a_plan_that_holds_it_is_refused_and_leaves_no_trace(
    store: Store, group: Group, decision: Callable[[str], bytes], secret: str
) -> None:
    head = group.repository.tip()

    with pytest.raises(PlanRefused) as caught:
        decide(group, decision(secret))

    (problem,) = caught.value.facts["problems"]  # type: ignore[misc]
    assert (problem["line"], problem["code"]) == (1, "secret-found")
    assert secret not in str(caught.value) + caught.value.hint + repr(caught.value.facts)
    assert group.repository.tip() == head
    assert traces(store, secret) == []


@pytest.mark.parametrize("secret", [KEY, TOKEN], ids=["key", "token"])
def test_a_plan_that_cannot_be_read_leaves_a_trace_without_it(
    store: Store, group: Group, secret: str
) -> None:
    with pytest.raises(BadInput):
        decide(group, row(secret))

    (trace,) = last_jobs(group)
    assert trace.outcome == "nothing"
    assert traces(store, secret) == []


HIDDEN: dict[str, Callable[[str], str]] = {
    "alone": lambda s: s,
    "in a line": lambda s: f"- the key: `{s}`, keep it\n",
    "cut by a line break": lambda s: f"{s[:24]}\n{s[24:]}\n",
    "after a mark": lambda s: f"\ufeff---\ntitle: x\n---\n{s}\n",
    "among carriage returns": lambda s: f"one\r\n{s}\r\n",
}


@pytest.mark.parametrize("dress", HIDDEN.values(), ids=HIDDEN)
def test_an_edit_that_holds_it_stays_outside(
    store: Store, group: Group, dress: Callable[[str], str]
) -> None:
    edit(group, "a.md", dress(TOKEN))
    edit(group, "new.md", dress(TOKEN))
    edit(group, "fine.md", "fine\n")

    done = capture(group)

    assert [each.path for each in done.captured] == ["fine.md"]
    assert {each.path for each in done.held} == {"a.md", "new.md"}
    assert traces(store, TOKEN) == []
    assert held_show(group, "a.md").redacted
    assert traces(store, TOKEN) == []


ON_THE_WAY: dict[str, Callable[[Group], object]] = {
    "write": lambda g: put(g, "a.md", "two\n"),
    "the same again": lambda g: put(g, "a.md", "one\n"),
    "append": lambda g: write(g, [Edit("a.md", "two", append=True)]),
    "batch": lambda g: write(g, [Edit("b.md", "x\n"), Edit("a.md", "two\n")]),
    "restore": lambda g: restore(g, "a.md"),
    "restore of an old version": lambda g: restore(g, "a.md", at="HEAD~1"),
    "restore of everything": lambda g: restore(g, ""),
    "undo": lambda g: undo(g, last=2),
    "move": lambda g: move(g, "a.md", "c.md"),
    "move onto it": lambda g: move(g, "notes/b.md", "a.md"),
    "remove": lambda g: remove(g, "a.md"),
    "archive": lambda g: archive(g, ["a.md"]),
    "archive of an entry": lambda g: archive(g, ["a.md#key"]),
    "plan": lambda g: decide(g, row("archive", address="a.md")),
    "restore of an entry": lambda g: restore(g, "a.md#key"),
    "drop": lambda g: held_drop(g, "a.md"),
    "accept, masked": lambda g: held_accept(g, "a.md", mask=True),
    "drop and restore": lambda g: (held_drop(g, "a.md"), held_restore(g, "a.md")),
}


@pytest.mark.parametrize("act", ON_THE_WAY.values(), ids=ON_THE_WAY)
def test_an_edit_found_on_the_way_stays_outside(
    store: Store, group: Group, act: Callable[[Group], object]
) -> None:
    put(group, "a.md", "one\nand more\n")
    text = f"one\nkey {TOKEN}\n"
    edit(group, "a.md", text)

    said = ""
    try:
        act(group)
    except GitmemError as error:  # refusing is as good as going ahead
        said = f"{error} {error.hint} {error.facts}"

    assert TOKEN not in said
    assert traces(store, TOKEN) == []
    places = (*held_list(group), *held_trash(group))
    kept = [Path(each.location).read_text() for each in places]
    standing = (group.worktree / "a.md").read_text() if (group.worktree / "a.md").exists() else ""
    assert text in (*kept, standing), "an edit is never lost"


WALLETS = {
    rule: in_context()[rule][0] for rule in ("wallet-key", "wallet-keystore", "seed-phrase")
} | {"wallet-export": (narrow()["wallet-export"][0],) * 2}


@pytest.mark.parametrize("rule", WALLETS)
def test_what_opens_a_wallet_gets_in_by_no_door(
    store: Store, group: Group, tmp_path: Path, rule: str
) -> None:
    """`identity.md` never holds a private key, whoever puts it there."""
    text, value = WALLETS[rule]
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "identity.md").write_text(f"# Wallet\n\n{text}\n")
    (folder / "fine.md").write_text("fine\n")
    edit(group, "b.md", f"# Wallet\n\n{text}\n")

    for door in (
        lambda: put(group, "identity.md", f"# Wallet\n\n{text}\n"),
        lambda: write(group, [Edit("a.md", text, append=True)]),
        lambda: put(group, "a.md", "two\n", reason=text),
        lambda: compact(group, text),
    ):
        with pytest.raises(SecretFound) as caught:
            door()
        assert caught.value.facts["rule"] == rule
    transcript_add(group, [NewMessage("c", "ada", text)])
    adopted = adopt(store, "other", folder, layout="standard", who=Who("ada"))

    assert [(x.path, x.rule.partition(",")[0]) for x in held_list(group)] == [
        ("b.md", f"secret: {rule}")
    ]
    assert f"[redacted: {rule}]" in transcript_show(group, "c").messages[0].text
    assert "identity.md" in repr(adopted)
    assert traces(store, value) == []


@pytest.mark.parametrize("rule", WALLETS)
def test_what_opens_a_wallet_is_reported_where_plain_git_let_it_in(group: Group, rule: str) -> None:
    edit(group, "a.md", f"{WALLETS[rule][0]}\n")
    by_hand(group, "commit", "-qam", "by a person, who may do everything")

    (found,) = (each for each in check(group).findings if each.code == "secret")

    assert rule in found.message
    assert WALLETS[rule][1] not in repr(found)


def test_a_file_whose_name_holds_it_stays_outside(store: Store, group: Group) -> None:
    edit(group, f"{TOKEN}.md", "text\n")
    (group.worktree / "a.md").rename(group.worktree / f"{TOKEN} moved.md")

    capture(group)

    assert traces(store, TOKEN) == []


def test_neither_restore_nor_undo_bring_it_back(store: Store, group: Group) -> None:
    """Somebody removed it from history by hand, but an old clone or a stash has it still."""
    edit(group, "a.md", f"key {TOKEN}\n")
    by_hand(group, "commit", "-qam", "by a person, who may do everything")
    bad = by_hand(group, "rev-parse", "HEAD")
    edit(group, "a.md", "clean\n")
    by_hand(group, "commit", "-qam", "clean again")
    cleaned = by_hand(group, "rev-parse", "HEAD")

    with pytest.raises(SecretFound):
        restore(group, "a.md", at=bad)
    with pytest.raises(SecretFound):
        restore(group, "", at=bad)
    (left,) = undo(group, [cleaned]).left

    assert TOKEN not in left.why
    assert git(group.gitdir, "rev-parse", "main").strip() == cleaned


def kept_with(group: Group, text: str) -> tuple[str, str]:
    """A commit with TEXT that a person took off the branch, kept, and without its blob."""
    edit(group, "a.md", text)
    by_hand(group, "commit", "-qam", "by a person")
    top = put(group, "c.md", "next\n").commit
    by_hand(group, "reset", "-q", "--hard", "HEAD~2")
    put(group, "d.md", "and on\n")
    assert [each.commit for each in kept_list(group)] == [top]
    return top, lose(group, blob_id(text.encode()))


def lose(group: Group, oid: str) -> str:
    os.unlink(group.gitdir / "objects" / oid[:2] / oid[2:])
    return oid


def placed(group: Group, place: str, oid: str, text: str) -> None:
    """Leave the bytes of a lost object where a repair may look for them."""
    if place == "quarantine":
        folder = group.gitdir / "gitmem" / "quarantine"
        folder.mkdir(exist_ok=True)
        raw = f"blob {len(text)}\0{text}".encode()
        (folder / f"{oid}.0").write_bytes(zlib.compress(raw))
        return
    edit(group, "a.md", text)
    if place == "held":
        put(group, "a.md", "two\n")


@pytest.mark.parametrize("place", ["work tree", "held", "quarantine"])
def test_no_repair_brings_it_back_for_a_ref_that_was_forgotten(
    store: Store, group: Group, place: str
) -> None:
    text = f"key {TOKEN}\n"
    bad, oid = kept_with(group, text)
    placed(group, place, oid, text)

    with pytest.raises(GitmemError):
        restore(group, "a.md", at=bad)
    (finding,) = (each for each in check(group, full=True).findings if each.object == oid)
    assert finding.hint == "run `gitmem check --repair`"
    check(group, repair=True, full=True)

    assert not group.repository.objects.holds(oid)
    assert "an object" not in traces(store, TOKEN)
    left = {each.code for each in check(group, full=True).findings if each.object == oid}
    assert left == {"version-lost"}, "the kept commit is whole without it, and somebody is told"


@pytest.mark.parametrize("heal", [lambda g: check(g, repair=True), lambda g: read(g, "a.md")])
def test_what_stands_at_head_is_healed_whatever_it_holds(
    group: Group, heal: Callable[[Group], object]
) -> None:
    text = f"key {TOKEN}\n"
    edit(group, "a.md", text)
    by_hand(group, "commit", "-qam", "by a person, who may do everything")
    oid = lose(group, blob_id(text.encode()))

    heal(group)

    assert group.repository.objects.holds(oid)


def test_what_the_branch_still_names_is_repaired_and_so_is_what_was_acknowledged(
    group: Group,
) -> None:
    text = f"key {TOKEN}\n"
    edit(group, "a.md", text)
    by_hand(group, "commit", "-qam", "by a person, who may do everything")
    put(group, "a.md", "clean\n")
    old = lose(group, blob_id(text.encode()))
    edit(group, "a.md", text)
    check(group, repair=True)
    assert group.repository.objects.holds(old)

    other = f"other {KEY}\n"
    edit(group, "notes/b.md", other)
    by_hand(group, "commit", "-qam", "by a person")
    acknowledge(group, [each.id for each in status(group).secrets if each.rule == "aws-key-id"])
    _, gone = kept_with(group, other)
    edit(group, "a.md", other)
    check(group, repair=True)

    assert group.repository.objects.holds(gone)


def test_somebody_who_decides_gets_it_into_the_file_and_nowhere_else(
    store: Store, group: Group
) -> None:
    edit(group, "a.md", f"# {TOKEN}\n{TOKEN} is the example of the manual\n")

    held_accept(group, "a.md", reason="an example")

    assert TOKEN in git(group.gitdir, "show", "main:a.md")
    assert traces(store, TOKEN) == ["an object", "an object"], "the blob, seen from both ends"
    for commit in git(group.gitdir, "rev-list", "main").split():
        assert TOKEN[:20] not in git(group.gitdir, "cat-file", "commit", commit)


def test_a_writer_that_meets_it_in_the_last_moment_sets_it_aside(
    store: Store, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The edit comes after the look at the file and before the new version is swapped in."""
    from gitmem.store import fault_points

    def reached(step: str) -> None:
        if step == "branch":
            edit(group, "a.md", f"key {TOKEN}\n")

    monkeypatch.setattr(fault_points, "reached", reached)
    put(group, "a.md", "two\n")
    monkeypatch.undo()

    put(group, "c.md", "next\n")

    assert (group.worktree / "a.md").read_text() == "two\n"
    assert [Path(each.location).read_text() for each in held_list(group)] == [f"key {TOKEN}\n"]
    assert traces(store, TOKEN) == []


SAID: dict[str, Callable[[str], NewMessage]] = {
    "text": lambda s: NewMessage("c", "ada", f"hello, the key is {s}, keep it"),
    "nothing but the text": lambda s: NewMessage("c", "ada", s),
    "sender": lambda s: NewMessage("c", s, "hello"),
    "sender among words": lambda s: NewMessage("c", f"ada ({s})", "hello"),
    "chat": lambda s: NewMessage(s, "ada", "hello"),
    "chat among words": lambda s: NewMessage(f"telegram:{s}", "ada", "hello"),
    "id": lambda s: NewMessage("c", "ada", "hello", None, s),
    "id among words": lambda s: NewMessage("c", "ada", "hello", None, f"message {s}"),
    "everywhere": lambda s: NewMessage(s, s, s, None, s),
}


@pytest.mark.parametrize("secret", [KEY, TOKEN], ids=["key", "token"])
@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
def test_a_message_is_kept_without_it(
    store: Store, group: Group, said: Callable[[str], NewMessage], secret: str
) -> None:
    messages = [said(secret), NewMessage("c", "bob", "hello to you", None, "fine")]

    done = transcript_add(group, messages)

    assert done.added == 2
    assert done.redacted == (4 if said is SAID["everywhere"] else 1)
    assert len(search(group, "hello", source="transcripts").hits) in (1, 2)
    assert traces(store, secret) == []
    if messages[0].id:  # it is recognised by it all the same
        again = transcript_add(group, messages)
        assert (again.added, again.known) == (0, 2)
    found = transcript_pending(group)
    assert secret not in repr(found)
    transcript_checkpoint(group, "hello", token=found.token)
    assert traces(store, secret) == []


def wrapped(text: str) -> str:
    coded = base64.b64encode(f"token={text}".encode()).decode()
    return f"{coded[:40]}\n{coded[40:]}\n"


DRESSED: dict[str, Callable[[str], str]] = {
    **HIDDEN,
    "in base64": lambda s: base64.b64encode(f"token={s}".encode()).decode(),
    "in base64, cut by a line break": wrapped,
    "in a quotation": lambda s: f"> {s[:20]}\n> {s[20:]}\n",
    "twice": lambda s: f"{s}\nand again {s}\n",
}


@pytest.mark.parametrize("dress", DRESSED.values(), ids=DRESSED)
def test_a_message_is_kept_without_it_however_it_is_dressed(
    store: Store, group: Group, dress: Callable[[str], str]
) -> None:
    text = f"hello {dress(TOKEN)} and more"

    done = transcript_add(group, [NewMessage("c", "ada", text, None, "1")])

    assert (done.added, done.redacted > 0) == (1, True)
    (kept,) = transcript_show(group, "c").messages
    assert kept.text.startswith("hello")
    assert "[redacted: " in kept.text
    search(group, "hello", source="transcripts")
    for word in dress(TOKEN).split():
        assert len(word) < 16 or word.strip("`,") not in kept.text
    for half in (TOKEN, TOKEN[:24], TOKEN[20:]):
        assert traces(store, half) == []


def test_an_import_is_kept_without_it(store: Store, group: Group, tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_text("one line\n")

    def lines(path: Path, offset: int) -> Iterator[tuple[ParsedLine, int]]:
        yield ParsedLine(NewMessage("c", "ada", f"hello {TOKEN}", None, KEY)), offset + 9

    done = transcript_import(group, [file], lines, form="x")

    assert (done.added, done.redacted) == (1, 2)
    search(group, "hello", source="transcripts")
    assert traces(store, TOKEN) == []
    assert traces(store, KEY) == []


def test_looking_for_it_leaves_no_trace(store: Store, group: Group) -> None:
    transcript_add(group, [NewMessage("c", "ada", "hello")])

    search(group, f"where is {TOKEN}?")

    assert traces(store, TOKEN) == []
