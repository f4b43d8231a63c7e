"""`gitmem restore`, `undo` and `check`."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.support.cli import Run
from tests.support.git import git
from tests.support.samples import narrow
from tests.support.terminals import on_terminal


def test_a_damaged_file_comes_back_as_last_written(gitmem: Run, files: Path) -> None:
    gitmem("write", "a.md", "one")
    (files / "a.md").write_bytes(b"\0\0\0\0")

    said = gitmem("restore", "a.md")

    assert said.code == 0, said.err
    assert said.out.startswith("restored a.md (")
    assert (files / "a.md").read_text() == "one\n"
    assert "committed first" in said.err


def test_where_the_damage_is_committed_each_version_has_its_command(gitmem: Run) -> None:
    gitmem("write", "a.md", "one", "--agent", "ada")
    gitmem("write", "a.md", "two words")

    said = gitmem("restore", "a.md")

    assert said.code == 4
    newest, first = said.out.splitlines()
    assert "10 bytes" in newest
    assert "ada" in first
    assert "just now" in first
    command = re.search(r"gitmem (restore a\.md --at \w+)$", first)
    assert command
    assert gitmem(*command[1].split()).code == 0
    assert gitmem("read", "a.md").out == "one\n"


def test_as_json_the_versions_are_in_the_error(gitmem: Run) -> None:
    gitmem("write", "a.md", "one")

    said = gitmem("restore", "a.md", "--json")

    assert said.code == 4
    (version,) = said.error["versions"]
    assert version["bytes"] == 4
    assert version["time"].startswith("2026-02-08T14:30:00")


def test_the_version_before_has_a_short_name(gitmem: Run) -> None:
    gitmem("write", "a.md", "one")
    gitmem("write", "a.md", "two")

    found = gitmem("restore", "a.md", "--previous", "--json").document

    assert found["changes"][0]["path"] == "a.md"
    assert gitmem("read", "a.md").out == "one\n"


@pytest.mark.parametrize("whole", [["--all"], ["."]])
def test_the_whole_group_comes_back(whole: list[str], gitmem: Run) -> None:
    gitmem("write", "a.md", "one", GITMEM_NOW="2026-02-05T12:00:00Z")
    gitmem("write", "a.md", "two")
    gitmem("write", "newer.md", "x")

    said = gitmem("restore", *whole, "--at", "2026-02-06")

    assert said.code == 0, said.err
    assert "1 newer file kept: newer.md" in said.out
    assert gitmem("read", "a.md").out == "one\n"


def test_what_to_restore_has_to_be_said(gitmem: Run) -> None:
    assert gitmem("restore").code == 2
    assert gitmem("restore", "a.md", "--all").code == 2
    assert gitmem("restore", "a.md", "--at", "HEAD", "--previous").code == 2
    assert gitmem("restore", "never.md").code == 3


def test_the_newest_commit_is_taken_back(gitmem: Run) -> None:
    gitmem("write", "a.md", "one")
    commit = gitmem("write", "a.md", "two", "--json").document["commit"]

    said = gitmem("undo")

    assert said.code == 0
    assert f"took back 1 commit: {commit[:7]}" in said.out
    assert gitmem("read", "a.md").out == "one\n"


def test_a_session_is_taken_back_and_later_work_stays(gitmem: Run) -> None:
    gitmem("write", "a.md", "one\ntwo\nthree\n")
    gitmem("write", "b.md", "bad", "--session", "s1", "--agent", "bob")
    gitmem("write", "a.md", "--append", "bad", "--session", "s1", "--agent", "bob")
    gitmem("write", "c.md", "good", "--session", "s2")

    found = gitmem("undo", "--session", "s1", "--json").document

    assert len(found["undone"]) == 2
    assert found["changed"] is True
    assert gitmem("list").out == "a.md\nc.md\n"
    assert gitmem("read", "a.md").out == "one\ntwo\nthree\n"


def test_what_cannot_be_taken_back_cleanly_is_named_and_left(gitmem: Run) -> None:
    commit = gitmem("write", "a.md", "one", "--json").document["commit"]
    gitmem("write", "a.md", "two")

    said = gitmem("undo", commit)

    assert said.code == 4
    assert said.out.startswith(f"left a.md of {commit[:7]}: ")
    assert gitmem("read", "a.md").out == "two\n"


def test_whom_to_undo_must_exist_and_be_one(gitmem: Run) -> None:
    gitmem("write", "a.md", "one")

    assert gitmem("undo", "--agent", "nobody").code == 3
    assert gitmem("undo", "ffff").code == 3
    assert gitmem("undo", "HEAD", "--last", "1").code == 2
    assert gitmem("undo", "--last", "0").code == 2


def test_a_sound_group_is_called_sound(gitmem: Run) -> None:
    gitmem("write", "a.md", "one")

    said = gitmem("check")

    assert said.code == 0
    assert said.out.startswith("sound: ")
    assert gitmem("check", "--json").document["sound"] is True
    assert gitmem("check", "-q").out == ""


def test_damage_is_told_in_words_and_repaired(gitmem: Run, home: Path) -> None:
    blob = gitmem("write", "a.md", "one", "--json").document["changes"][0]["blob"]
    loose = home / "repos" / "main.git" / "objects" / blob[:2] / blob[2:]
    loose.chmod(0o600)
    loose.write_bytes(loose.read_bytes()[:-4])

    said = gitmem("check", "-q")
    found = gitmem("check", "--json")

    assert (said.code, found.code) == (6, 6)
    assert "gitmem check --repair" in said.out
    assert any(each["object"] == blob for each in found.document["findings"])
    repaired = gitmem("check", "--repair")
    assert "repaired" in repaired.out
    assert gitmem("check").code == 0


def committed(files: Path, token: str) -> None:
    (files / "b.md").write_text(f"# B\n\nkey {token}\n")
    git(files, "add", "-A")
    git(files, "commit", "-q", "-m", "by hand")


def test_a_secret_by_plain_git_is_told_and_the_hint_ends_it(gitmem: Run, files: Path) -> None:
    token = narrow()["npm-token"][0]
    gitmem("write", "a.md", "one")
    committed(files, token)

    said = gitmem("check")
    shown = gitmem("status")

    assert said.code == 6
    assert "warning secret: b.md line 3 holds what looks like a credential (npm-token)" in said.out
    assert "b.md line 3 holds what looks like a credential (npm-token)" in shown.out
    assert token not in said.out + shown.out
    hints = {re.search(r"`gitmem (check --acknowledge \w+)`", each.out) for each in (said, shown)}
    (command,) = {each[1] for each in hints if each}
    ended = gitmem(*command.split())
    assert (ended.code, ended.out) == (0, f"{command.split()[-1]} acknowledged\n")
    assert gitmem(*command.split()).out.endswith("acknowledged before\n")
    assert gitmem("check").code == 0
    assert "credential" not in gitmem("status").out


def test_status_tells_what_searches_the_history_that_is_left(
    gitmem: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gitmem("write", "a.md", "one")
    committed(files, narrow()["npm-token"][0])
    for each in files.parents[1].glob("repos/*.git/gitmem/scanned"):
        each.unlink()
    monkeypatch.setattr("gitmem.memory.admin.committed_secrets.MOST_COMMITS", 1)

    shown = gitmem("status").out

    assert "attention (1 secret in files, 3 commits not searched for secrets yet)" in shown
    assert "search it: gitmem maintain" in shown
    gitmem("maintain")
    assert "not searched" not in gitmem("status").out


def test_a_secret_in_history_is_a_notice_that_the_hint_ends(gitmem: Run, files: Path) -> None:
    committed(files, narrow()["npm-token"][0])
    gitmem("write", "b.md", "clean", "--allow-shrink")

    found = gitmem("check", "--json").document["findings"]

    (notice,) = [each for each in found if each["code"] == "secret"]
    assert notice["severity"] == "info"
    assert f"gitmem check --acknowledge {notice['id']}" in notice["hint"]
    done = gitmem("check", "--acknowledge", notice["id"], "--json")
    assert done.document["ids"] == [notice["id"]]
    left = gitmem("check", "--json").document["findings"]
    assert "secret" not in {each["code"] for each in left}


def test_an_id_that_is_not_known_is_an_error_with_the_way_on(gitmem: Run) -> None:
    said = gitmem("check", "--acknowledge", "0123456789ab", "--json")

    assert said.code == 3
    assert "gitmem check" in said.error["hint"]


def dropped_by_stash(gitmem: Run, files: Path) -> str:
    """A write whose commit a `git stash` takes off the branch; tell the commit."""
    before = git(files, "rev-parse", "main").strip()
    commit = gitmem("write", "lost.md", "lost", "--json").document["commit"]
    git(files, "update-ref", "-m", "reset: moving to HEAD", "refs/heads/main", before)
    git(files, "read-tree", "--reset", "-u", before)
    return str(commit)


def amended(gitmem: Run, files: Path) -> str:
    """A write that a person replaces by a better one; tell the commit that is gone."""
    commit = gitmem("write", "a.md", "one", "--json").document["commit"]
    git(files, "commit", "-q", "--amend", "-m", "by hand, better")
    return str(commit)


def test_a_command_that_puts_commits_back_says_so(gitmem: Run, files: Path) -> None:
    gitmem("write", "a.md", "one")
    dropped_by_stash(gitmem, files)
    status = gitmem("status").out
    assert "left the branch by `reset: moving to HEAD`; to put it back: `gitmem capture`" in status

    said = gitmem("write", "b.md", "two")

    assert "1 commit had left the branch by `reset: moving to HEAD` and is back" in said.err
    assert gitmem("read", "lost.md").out == "lost\n"
    assert gitmem("write", "b.md", "three").err == ""


def test_as_json_it_is_in_the_document(gitmem: Run, files: Path) -> None:
    gitmem("write", "a.md", "one")
    lost = dropped_by_stash(gitmem, files)

    (found,) = gitmem("write", "b.md", "two", "--json").document["rejoined"]

    assert (found["commit"], found["commits"], found["landed"]) == (lost, 1, lost)
    assert "rejoined" not in gitmem("write", "b.md", "three", "--json").document


def test_what_an_amend_replaced_is_named_and_comes_back_by_one_command(
    gitmem: Run, files: Path
) -> None:
    gone = amended(gitmem, files)
    assert f"gitmem kept restore {gone[:7]}" in gitmem("status").out

    said = gitmem("write", "b.md", "two")

    assert f"kept; bring it back with `gitmem kept restore {gone[:10]}`" in said.err
    (kept,) = gitmem("kept", "--json").document["kept"]
    assert (kept["commit"], kept["how"]) == (gone, "commit (amend): by hand, better")
    assert gitmem("kept", "restore", gone[:7]).code == 0
    assert gitmem("kept", "list", "--json").document["kept"] == []
    assert git(files, "merge-base", "--is-ancestor", gone, "main") == ""
    assert gitmem("read", "b.md").out == "two\n"
    assert "kept" not in gitmem("status").out


def test_what_is_let_go_is_not_named_again(gitmem: Run, files: Path) -> None:
    gone = amended(gitmem, files)
    assert gitmem("kept", "drop", gone[:7]).code == 2
    assert gitmem("kept", "drop", gone[:7], "--yes").out == f"dropped {gone[:7]}\n"

    assert gitmem("kept", "restore", gone[:7]).code == 3
    assert gitmem("check").code == 0
    assert gitmem("maintain").code == 0
    assert gitmem("kept").out == ""
    assert "kept" not in gitmem("status").out


def test_maintain_after_an_amend_is_no_failure(gitmem: Run, files: Path) -> None:
    gitmem("maintain")
    amended(gitmem, files)

    assert gitmem("maintain").code == 0
    assert gitmem("check").code == 0


def test_what_is_kept_comes_back_once_and_a_second_time_is_no_error(
    gitmem: Run, files: Path
) -> None:
    gone = amended(gitmem, files)
    gitmem("write", "b.md", "two")
    ref = git(files, "for-each-ref", "--format=%(refname)", "refs/gitmem/kept").strip()

    first = gitmem("kept", "restore", ref)
    assert first.out == f"restored {gone[:7]}, merged as {git(files, 'rev-parse', 'main')[:7]}\n"
    head = git(files, "rev-parse", "main")
    again = gitmem("kept", "restore", gone.upper())
    assert (again.code, again.out) == (0, f"{gone[:7]} is on the branch already\n")
    assert gitmem("kept", "restore", gone[:7], "--json").document["changed"] is False
    assert git(files, "rev-parse", "main") == head


@pytest.mark.parametrize("verb", ["restore", "drop"])
def test_a_kept_commit_that_is_not_known_or_not_clear_is_an_error(
    gitmem: Run, files: Path, verb: str
) -> None:
    said = gitmem("kept", verb, "none")
    assert (said.code, said.err) == (
        3,
        "error: no kept commit 'none' in group main\nhint: this group has no kept commits\n",
    )
    gone = amended(gitmem, files)
    gitmem("write", "b.md", "two")
    refs = git(files, "for-each-ref", "refs/gitmem/kept")

    assert gitmem("kept", verb, "").code == 2
    for unknown in ("none", "../main", "refs/heads/main", "HEAD~9", "\n", "-1"):
        said = gitmem("kept", verb, "--", unknown)
        assert (said.code, "hint: `gitmem kept` lists the kept commits" in said.err) == (3, True)
    many = [gone, *(write_twin(files, gone[:1]) for _ in range(2))]
    said = gitmem("kept", verb, gone[:1])
    assert (said.code, f"3 kept commits begin with '{gone[:1]}'" in said.err) == (2, True)
    assert all(each[:5] in said.err for each in many)
    assert refs in git(files, "for-each-ref", "refs/gitmem/kept")


def write_twin(files: Path, start: str) -> str:
    """Keep another commit whose id begins with START."""
    tree = git(files, "rev-parse", "main^{tree}").strip()
    for number in range(500):
        made = git(files, "commit-tree", "-m", f"{os.urandom(4)!r} {number}", tree).strip()
        if made.startswith(start):
            break
    git(files, "update-ref", f"refs/gitmem/kept/{made[:12]}", made)
    return made


@pytest.mark.parametrize("typed", ["n\n", "y\n"])
def test_to_let_a_commit_go_is_asked(gitmem: Run, files: Path, home: Path, typed: str) -> None:
    gone = amended(gitmem, files)
    gitmem("write", "b.md", "two")

    code, seen = on_terminal("kept", "drop", gone, typed=typed, GITMEM_HOME=str(home))

    assert (code, f"Drop the kept commit {gone[:7]}?" in seen) == (0, True)
    assert ("nothing was dropped" in seen) == (typed == "n\n")
    assert len(gitmem("kept", "--json").document["kept"]) == (typed == "n\n")


def test_what_is_kept_comes_back_beside_a_merge_and_the_merge_stays(
    gitmem: Run, files: Path
) -> None:
    gitmem("write", "both.md", "base")
    gone = amended(gitmem, files)
    gitmem("write", "b.md", "two")
    git(files, "switch", "-qc", "side")
    for branch in ("side", "main"):
        git(files, "switch", "-q", branch)
        (files / "both.md").write_text(f"{branch}\n")
        git(files, "commit", "-qam", branch)
    git(files, "merge", "-q", "side", check=False)
    before = (files / "both.md").read_text()

    assert gitmem("kept", "restore", gone).code == 0

    assert git(files, "merge-base", "--is-ancestor", gone, "main") == ""
    assert git(files, "status", "--porcelain") == "UU both.md\n"
    assert (files / "both.md").read_text() == before
    git(files, "merge", "--abort")
    assert git(files, "merge-base", "--is-ancestor", gone, "main") == ""


def test_while_a_rebase_is_in_progress_nothing_kept_is_touched(gitmem: Run, files: Path) -> None:
    gone = amended(gitmem, files)
    gitmem("write", "b.md", "two")
    git(files, "switch", "-q", "--detach")

    for args in (["restore", gone], ["drop", gone, "--yes"]):
        said = gitmem("kept", *args)
        assert (said.code, "`git switch main`" in said.err) == (4, True)
    git(files, "switch", "-q", "main")
    assert gitmem("kept", "restore", gone).code == 0


def test_a_version_that_is_lost_is_named_by_every_command(
    gitmem: Run, files: Path, home: Path
) -> None:
    gitdir = home / "repos/main.git"
    for text in ("one", "two", "three"):
        gitmem("write", "a.md", text)
    one, two = (git(files, "rev-parse", each).strip() for each in ("HEAD~1", "HEAD"))
    blob = git(files, "rev-parse", f"{one}:a.md").strip()
    git(files, "reset", "-q", "--hard", "HEAD~2")
    damaged = gitdir / "objects" / blob[:2] / blob[2:]
    damaged.chmod(0o600)
    damaged.write_bytes(b"xx")
    lost = f"a.md of {one[:10]} cannot be read"

    said = gitmem("kept", "restore", two[:10])

    assert said.code == 0, said.err
    assert f"2 commits had left the branch by `reset: moving to HEAD~2` and are back; {lost}" in (
        said.err
    )
    copies = dict(map(str.split, filter(None, (gitdir / "gitmem/rebuilt").read_text().split("\n"))))
    assert said.out == f"restored {copies[two][:7]}\n"
    assert f"{copies[two][:7]} is on the branch already" in gitmem("kept", "restore", two).out
    said = gitmem("read", "a.md", "--at", copies[one])
    assert f"error: {lost} (blob {blob[:10]})\nhint: `gitmem check` shows" in said.err
    left_out = f"left out because it could not be read: a.md of {one[:10]} (blob {blob[:7]})"
    for command in (("show", copies[one]), ("diff", copies[one], copies[two])):
        assert left_out in gitmem(*command).out
    said = gitmem("undo", copies[two])
    assert (said.code, "a version of it cannot be read" in said.out) == (4, True)
    assert gitmem("read", "a.md").out == "three\n"
    said = gitmem("status")
    assert f"versions that cannot be read\n  a.md of {one[:10]}  blob {blob[:7]}\n" in said.out
    known = re.search(r"if no copy exists: gitmem (check --acknowledge \w+)", said.out)
    assert known
    assert f"warning version-lost: {lost} (blob {blob[:10]})\n" in gitmem("check").out
    assert gitmem(*known[1].split()).code == 0
    assert "cannot be read" not in gitmem("status").out


@pytest.mark.parametrize("ending", ["drop", "acknowledge", "gone", "later"])
def test_a_lost_line_that_is_damaged_does_not_end_every_gc(
    gitmem: Run, files: Path, home: Path, ending: str
) -> None:
    """Whatever somebody has said about the line: check tells of the reflog, and mends it."""
    gitdir = home / "repos" / "main.git"
    gitmem("write", "a.md", "v1")
    before = git(files, "rev-parse", "main").strip()
    gitmem("write", "b.md", "bbbb")
    gitmem("write", "b.md", "bb2")
    lost, blob = git(files, "rev-parse", "main", "main~1:b.md").split()
    git(files, "reset", "-q", "--hard", before)
    if ending == "later":
        gitmem("kept", "drop", lost[:10], "--yes")
    (gitdir / "objects" / blob[:2] / blob[2:]).unlink()
    gitmem("write", "d.md", "d")
    if ending in ("drop", "gone"):
        assert gitmem("kept", "drop", lost[:10], "--yes").code == 0
    if ending == "acknowledge":
        known = re.search(r"gitmem (check --acknowledge \w+)", gitmem("status").out)
        assert known
        assert gitmem(*known[1].split()).code == 0
    if ending == "gone":
        for row in filter(None, (gitdir / "gitmem/rebuilt").read_text().split("\n")):
            copy = row.split()[1]
            (gitdir / "objects" / copy[:2] / copy[2:]).unlink()
    log = (gitdir / "logs/refs/heads/main").read_bytes()
    refs = git(files, "for-each-ref", "refs/heads", "refs/gitmem/kept")

    said = gitmem("check")

    assert "warning reflog-unreadable: the reflog of refs/heads/main leads to 2 commits" in said.out
    assert said.code == 6
    assert said.out.endswith("next: gitmem check --repair\n")
    assert gitmem("check", "--repair").code == 0
    assert gitmem("check").code == 0
    git(files, "gc", "-q")
    git(files, "gc", "-q", "--prune=now")
    assert gitmem("check").code == 0
    assert git(files, "for-each-ref", "refs/heads", "refs/gitmem/kept") == refs
    aside = [each.read_bytes() for each in gitdir.rglob("*reflog-main*") if each.is_file()]
    assert log in aside
    assert [gitmem("read", name).out for name in ("a.md", "d.md")] == ["v1\n", "d\n"]
    moves = git(files, "reflog", "main")
    assert ("bb2" in moves) == (ending in ("drop", "acknowledge"))
    assert "write(d.md)" in moves
    assert "write(a.md)" in moves


@pytest.mark.parametrize(
    ("how", "log"), [("--detach", "HEAD"), ("--create=side", "refs/heads/side")]
)
def test_a_damaged_commit_beside_the_branch_does_not_end_every_gc(
    gitmem: Run, files: Path, home: Path, how: str, log: str
) -> None:
    """No reflog of the branch has its line: what can be read of it is kept all the same."""
    gitdir = home / "repos" / "main.git"
    gitmem("write", "a.md", "v1")
    git(files, "switch", "-q", how)
    for name in ("b.md", "c.md"):
        (files / name).write_text(f"{name}\n")
        git(files, "add", name)
        git(files, "commit", "-qm", f"by hand {name}")
    old = git(files, "rev-parse", "HEAD").strip()
    oid = git(files, "rev-parse", "HEAD~1:b.md").strip()
    git(files, "reset", "-q", "--hard", "main")
    git(files, "switch", "-q", "main")
    gitmem("write", "d.md", "d")
    (gitdir / "objects" / oid[:2] / oid[2:]).unlink()
    before = (gitdir / "logs" / log).read_bytes()

    said = gitmem("check")

    assert f"warning reflog-unreadable: the reflog of {log} leads to 2 commits" in said.out
    assert said.code == 6
    assert said.out.endswith("next: gitmem check --repair\n")
    gitmem("check", "--repair")
    said = gitmem("check")
    assert "reflog-unreadable" not in said.out
    assert "warning version-lost: b.md of " in said.out
    git(files, "gc", "-q")
    git(files, "gc", "-q", "--prune=now")
    git(files, "fsck", "--full", "--strict")
    aside = [each.read_bytes() for each in gitdir.rglob("*reflog-*") if each.is_file()]
    assert before in aside
    kept = gitmem("kept", "--json").document["kept"]
    (copy,) = [each["commit"] for each in kept]
    assert git(files, "show", f"{copy}:c.md") == "c.md\n"
    assert "by hand c.md" in git(files, "reflog", "show", log.removeprefix("refs/heads/"))
    assert gitmem("kept", "drop", old[:10], "--yes").code == 0
    assert gitmem("check").code == 0
    assert gitmem("check", "--repair").code == 0
    assert not gitmem("kept", "--json").document["kept"]
    git(files, "gc", "-q", "--prune=now")
    assert [gitmem("read", name).out for name in ("a.md", "d.md")] == ["v1\n", "d\n"]


def test_a_damaged_stash_does_not_end_every_gc(gitmem: Run, files: Path, home: Path) -> None:
    gitmem("write", "a.md", "v1")
    for text in ("one\n", "two\n"):
        (files / "a.md").write_text(text)
        git(files, "stash")
    blob = git(files, "rev-parse", "stash@{1}:a.md").strip()
    (home / "repos/main.git/objects" / blob[:2] / blob[2:]).unlink()

    assert "the reflog of refs/stash leads to 1 commit" in gitmem("check").out
    gitmem("check", "--repair")

    assert "reflog-unreadable" not in gitmem("check").out
    git(files, "gc", "-q")
    assert len(git(files, "stash", "list").splitlines()) == 2
    git(files, "stash", "pop")
    assert (files / "a.md").read_text() == "two\n"
