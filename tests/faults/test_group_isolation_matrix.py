"""Every public call against every trick to reach another group; none gets anything."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import pkgutil
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

import gitmem.memory
from gitmem.api.memory import Memory, open_group
from gitmem.cache import messages as said
from gitmem.errors import Damaged, GitmemError, GroupNotFound, GroupRefused
from gitmem.integrations.transcripts.import_files import import_transcripts
from gitmem.memory.admin.check import check, check_group
from gitmem.memory.admin.committed_secrets import (
    acknowledge,
    scan_beside,
    scan_commits,
    waits_beside,
)
from gitmem.memory.admin.git_hook import guard_staged, put_git_hook, take_git_hook
from gitmem.memory.admin.groups import groups, remove_group, rename_group
from gitmem.memory.admin.init import init
from gitmem.memory.admin.link import link, links, unlink
from gitmem.memory.admin.secret_findings import open_secrets
from gitmem.memory.adopt.adopt import adopt
from gitmem.memory.adopt.copy_in import copy_in, is_newer
from gitmem.memory.context.inject import inject
from gitmem.memory.context.pins import has_shared, has_transcripts, pin, sources_at
from gitmem.memory.context.readiness import is_ready, make_ready
from gitmem.memory.curate.archive import archive
from gitmem.memory.curate.consolidate import consolidate
from gitmem.memory.curate.decide import decide
from gitmem.memory.curate.lint import lint
from gitmem.memory.curate.migrate import due_migration, migrate, migrate_due
from gitmem.memory.curate.report import made_report, report
from gitmem.memory.entries.confirm import confirm
from gitmem.memory.entries.entries import entries
from gitmem.memory.entries.freshness import freshness, line_dates
from gitmem.memory.entries.move_entry import move_entry
from gitmem.memory.entries.targets import (
    address_parts,
    file_of,
    is_address,
    locate_entry,
    movable_path,
    resolve_targets,
)
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.diff import diff
from gitmem.memory.read.listing import list_files
from gitmem.memory.read.log import iter_log, log, start_of
from gitmem.memory.read.memory_actions import memory_get, memory_search
from gitmem.memory.read.read import known_path, missing, read
from gitmem.memory.read.show import show
from gitmem.memory.read.status import health_of, status
from gitmem.memory.recover.archived import archived
from gitmem.memory.recover.held import (
    find_held,
    held_accept,
    held_drop,
    held_empty,
    held_list,
    held_restore,
    held_show,
    held_trash,
)
from gitmem.memory.recover.ignore import held_ask, held_ignore, held_ignored
from gitmem.memory.recover.kept import (
    find_kept,
    is_where_left,
    kept_drop,
    kept_list,
    kept_restore,
    waiting,
)
from gitmem.memory.recover.restore import archived_file, archived_home, restore, restore_archived
from gitmem.memory.recover.restore_entry import restore_entry
from gitmem.memory.recover.undo import undo
from gitmem.memory.resolve import resolve
from gitmem.memory.scope import check_writable, ignored_memory, left_outside
from gitmem.memory.search.messages import find_messages
from gitmem.memory.search.passages import cache_path, find_passages
from gitmem.memory.search.search import search
from gitmem.memory.transcripts.add import NewMessage, transcript_add
from gitmem.memory.transcripts.checkpoint import (
    Summarised,
    transcript_checkpoint,
    transcript_summarised,
)
from gitmem.memory.transcripts.import_file import TranscriptImported, transcript_import
from gitmem.memory.transcripts.pending import transcript_pending
from gitmem.memory.transcripts.prune import transcript_prune
from gitmem.memory.transcripts.status import transcript_list, transcript_show, transcript_status
from gitmem.memory.transcripts.transcripts import (
    last_closed,
    messages_of,
    messages_path,
    query_messages,
    tip_of,
)
from gitmem.memory.upkeep.compact import compact
from gitmem.memory.upkeep.jobs import JobOutcome, last_jobs, log_job, run_job
from gitmem.memory.upkeep.maintain import PackLimits, maintain, maintain_all
from gitmem.memory.upkeep.missed_snapshots import (
    catch_up,
    find_missed,
    missed_days,
    note_gap,
    snapshot_missed,
)
from gitmem.memory.upkeep.rollup import rollup
from gitmem.memory.upkeep.rollups_due import rollups_due
from gitmem.memory.upkeep.rotate import rotate
from gitmem.memory.upkeep.snapshot import has_grown, snapshot, snapshots
from gitmem.memory.write.capture import capture
from gitmem.memory.write.count_edits import count_edits, is_unchanged
from gitmem.memory.write.move import move, remove
from gitmem.memory.write.open_edits import pending_edits
from gitmem.memory.write.write import Allowed, Edit, write
from gitmem.model.language.prompts import query_sentences
from gitmem.model.layout.layout import EMPTY
from gitmem.model.transcripts.batches import REF
from tests.support.api_page import methods
from tests.support.git import git_bytes
from tests.support.histories import put
from tests.support.moulds import Moulds

MARK = "their-own-business"
ASKED = "whose own business is it, theirs?"
"""What finds theirs, if anything does."""

NO_GROUP = {
    "file_names", "gitignored_layers", "include_fix", "is_workspace", "latest_of", "outside_memory",
    "prune", "captured_until", "is_among", "note_captured_until", "extend_captured_until",
    "holder_of", "blob_text", "day_of", "is_chat", "spelled_at", "unmade_files",
    "capture_edits", "age_of", "aged_entries", "ageing_files", "applied", "archive_files",
    "capture_paths", "hold_lock", "resolve_edits", "target_paths",
    "arrival_of", "by_day", "cache_of", "changed_at", "check_no_archive", "check_path_free",
    "check_states", "check_target", "checked", "checked_edit", "choose", "choose_layout",
    "confirmed_files", "dated_part", "dates_at", "dates_of", "day_log", "decoded", "describe",
    "describe_change", "digest_of", "digest_of_pages", "does_age", "draw", "duplicates",
    "effect_of", "encoded", "ended", "entries_in", "entries_with_dates", "entry_files", "entry_of",
    "file_changes", "find_earlier", "folder_of", "freshened", "gather",
    "guard_message", "has_content", "inventory", "is_adopted", "is_within", "isolate",
    "latest", "layer_files", "layout_at", "layout_of", "make_note", "moved_within",
    "named_zone", "near_misses", "not_found", "with_log_lines",
    "old_logs", "open_history", "overlap",
    "past_logs", "plan_commits", "look_up", "apply_all", "apply_one", "problem_of",
    "read_folder", "read_history",
    "remarks_on", "report_on", "rolled_layer", "rolled_layers", "scan_edits", "version_in",
    "settings_in", "archive_paths", "shipped", "shipped_layout", "source_folder",
    "starter_files", "find_unchanged", "text_at", "text_bytes", "time_now",
    "job_outcome", "read_plan", "as_facts",
    "version_at", "versions", "why", "why_not", "written_then", "zone_of",
    "zone_problem", "zone_then",
    "action_required", "at_commits", "check_layers", "drop_lease",
    "new_token", "pending_numbers", "read_checkpoint", "read_lease", "checkpoint_state",
    "text_of", "write_lease",
    "find_again", "finish_rename", "forget_sessions", "relink_from",
    "relinked", "repoint", "revive", "tie_outside",
    "keep_session", "read_session", "relink", "unread", "with_links",
    "claim", "discard", "hand_over", "leave", "left_by", "put_back", "withdraw",
    "has_dates", "has_open_unread", "masked", "reading_of",
    "check_message", "is_transcript_object", "is_unreadable", "up_to_unread",
    "acknowledge_in_place", "count_as_scanned", "exposed_beside", "hidden", "scanned_in",
    "has_open", "keep_run", "secret_words", "tips_beside", "unsearched",
    "check_layout", "layout_scope", "possible_scope", "scope_at", "silenced_at", "unknown_keys",
    "concerns_of", "leaving", "left_out", "overshadowed_files", "placed", "warnings",
    "with_zone",
    "exclusion", "forget_live", "has_held", "remember_unchanged", "live_sessions", "note_live",
    "unchanged_group", "state_of",
    "source_paths", "version_row", "is_file", "journal_of", "problems_text", "title_taken",
}  # fmt: skip
"""Functions that get what they work on handed over: they open no group themselves."""


class Scene(NamedTuple):
    """The group `mine`, which acts, beside `theirs` and `global`."""

    store: Store
    mine: Group
    theirs: Group

    def state_of_theirs(self) -> tuple[object, ...]:
        """Everything that must not change."""
        root = self.theirs.worktree
        files = {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        held = [str(path) for path in (self.theirs.gitdir / "gitmem").rglob("*")]
        line = (self.theirs.gitdir / REF).read_text()
        return self.theirs.repository.tip(), line, files, held


@pytest.fixture
def scene(tmp_path: Path, moulds: Moulds) -> Iterator[Scene]:
    moulds.cast("three groups", tmp_path / "store", made)
    store = Store(tmp_path / "store")
    link(store, tmp_path, "theirs")
    scene = opened(store)
    yield scene
    scene.mine.close()
    scene.theirs.close()


def opened(store: Store) -> Scene:
    theirs = Group(store, "theirs", who=Who("them"))
    return Scene(store, Group(store, "mine", who=Who("me"), acting="mine"), theirs)


def made(root: Path) -> None:
    """Both have something of their own."""
    store = Store(root)
    for name in ("mine", "theirs", "global"):
        init(store, name)
    _, mine, theirs = opened(store)
    put(theirs, "a.md", f"{MARK} one\n", reason=MARK)
    put(theirs, f"notes/{MARK}.md", f"{MARK} two\n", reason=MARK)
    transcript_add(theirs, [NewMessage(MARK, MARK, f"{MARK} {n}", None, f"{n}") for n in range(3)])
    transcript_checkpoint(theirs, MARK, token=transcript_pending(theirs).token)
    put(mine, "own.md", "my own\n")
    transcript_add(mine, [NewMessage("own", "me", "my own", None, "1")])
    mine.close()
    theirs.close()


def plant(scene: Scene) -> None:
    """Put links to their files into my work tree, as an agent with a shell could."""
    target, here = scene.theirs.worktree, scene.mine.worktree
    with suppress(FileExistsError):
        (here / "link.md").symlink_to(target / "a.md")
    with suppress(FileExistsError):
        (here / "relative.md").symlink_to("../theirs/a.md")
    with suppress(FileExistsError):
        (here / "linked").symlink_to(target)
    with suppress(FileExistsError):
        os.link(target / "a.md", here / "hard.md")


def path_tricks(scene: Scene) -> list[str]:
    theirs, gitdir = scene.theirs.worktree, scene.theirs.gitdir
    return [
        "theirs",
        "theirs/a.md",
        "../theirs/a.md",
        "../theirs",
        "notes/../../theirs/a.md",
        "../../repos/theirs.git/config",
        "..\\theirs\\a.md",
        "%2e%2e/theirs/a.md",
        str(theirs),
        str(theirs / "a.md"),
        f"{scene.mine.worktree}/../theirs/a.md",
        str(gitdir / "config"),
        f"file://{theirs}/a.md",
        "link.md",
        "relative.md",
        "linked/a.md",
        "linked",
        "hard.md",
    ]


def moment_tricks(scene: Scene) -> list[str]:
    tip = scene.theirs.repository.tip()
    blob = scene.theirs.repository.snapshot().oid("a.md") or ""
    return [tip, tip[:10], f"{tip}~1", blob, "theirs", "../theirs", "refs/../../theirs.git/HEAD"]


Call = Callable[[Group, str], object]


def plan_about(source: str, target: str) -> bytes:
    """A plan of one decision that moves a file."""
    return json.dumps({"action": "move", "address": source, "to": target}).encode()


def imported(group: Group, path: str) -> TranscriptImported:
    """What a host would take in from there."""
    return import_transcripts(group, "claude-code", environ={}, paths=[path])


def in_sources(group: Group) -> object:
    """All that a question may be answered from."""
    with sources_at(group, pin(group, None), shared=True) as found:
        return [
            (name, each.commit, [(path, each.read(path)) for path, _ in each.files()])
            for name, each in found.by_group.items()
        ]


def all_passages(group: Group) -> object:
    moment = pin(group, None)
    with sources_at(group, moment, shared=True) as found:
        return find_passages(group, moment, found, query_sentences(ASKED), lambda *_: True)


def all_heard(group: Group) -> object:
    tip = tip_of(group)
    return tip and find_messages(group, tip, ASKED, query_sentences(ASKED), limit=9)


def closed(group: Group, summary: str, covers: str) -> object:
    """A range of one's own, closed with what is tried."""
    token = transcript_pending(group, take_over=True).token
    return transcript_checkpoint(group, summary, token=token, covers=[covers])


def all_told(group: Group) -> object:
    """Every message that the tables know."""
    return query_messages(
        group, tip_of(group), lambda it: (said.chats(it), list(messages_of(group, it, range(9))))
    )


BY_PATH: dict[str, Call] = {
    "adopt": lambda g, p: adopt(g.store, g.name, g.worktree / p, layout="none", acting=g.acting),
    "resolve_targets": lambda g, p: resolve_targets(
        g, g.repository.snapshot(), EMPTY, [p, f"{p}#x"]
    ),
    "archive": lambda g, p: archive(g, [p]),
    "archive of an entry": lambda g, p: archive(g, [f"{p}#x"]),
    "capture": lambda g, p: capture(g, [p]),
    "copy_in": lambda g, p: copy_in(g, g.gitdir / "info", p),
    "is_newer": lambda g, p: is_newer(g, p, b"one", b"other"),
    "capture of all": lambda g, _: capture(g),
    "confirm": lambda g, p: confirm(g, [p]),
    "confirm an entry": lambda g, p: confirm(g, [f"{p}#x"]),
    "diff": lambda g, p: diff(g, path=p),
    "diff of all": lambda g, _: diff(g),
    "address_parts": lambda g, p: address_parts(g, g.repository.snapshot(), EMPTY, f"{p}#x"),
    "entries": entries,
    "entry at": lambda g, p: entries(g, f"{p}#x"),
    "file_of": lambda g, p: file_of(g, g.repository.snapshot(), EMPTY, p),
    "locate_entry": lambda g, p: locate_entry(g, g.repository.snapshot(), EMPTY, f"{p}#x"),
    "move_entry": lambda g, p: move_entry(g, f"{p}#x", "taken.md"),
    "move_entry to": lambda g, p: move_entry(g, "own.md#x", p),
    "decide": lambda g, p: decide(g, plan_about(p, "own.md")),
    "decide where to": lambda g, p: decide(g, plan_about("own.md", p)),
    "freshness": freshness,
    "freshness of an entry": lambda g, p: freshness(g, f"{p}#x"),
    "line_dates": line_dates,
    "find_held": find_held,
    "held_accept": held_accept,
    "held_accept, masked": lambda g, p: held_accept(g, p, mask=True),
    "held_ask": held_ask,
    "held_drop": held_drop,
    "held_empty": lambda g, p: held_empty(g, [p]),
    "held_ignore": held_ignore,
    "held_ignored": lambda g, _: held_ignored(g),
    "held_restore": held_restore,
    "held_trash": lambda g, _: held_trash(g),
    "held_list": lambda g, _: held_list(g),
    "held_show": held_show,
    "inject": lambda g, p: inject(g, user=p),
    "inject of a layer": lambda g, p: inject(g, layers=(p,)),
    "iter_log": lambda g, p: list(iter_log(g, p)),
    "known_path": lambda g, p: known_path(g, g.repository.snapshot(), p),
    "list_files": list_files,
    "log": log,
    "missing": lambda g, p: missing(g, g.repository.snapshot(), p),
    "movable_path": movable_path,
    "move": lambda g, p: move(g, p, "taken.md"),
    "move onto": lambda g, p: move(g, "own.md", p),
    "move into": lambda g, p: move(g, "own.md", f"{p}/"),
    "pending_edits": lambda g, p: pending_edits(g, [p]),
    "read": read,
    "remove": remove,
    "restore": restore,
    "archived_file": archived_file,
    "archived_home": archived_home,
    "restore_archived": lambda g, p: restore_archived(
        g, "taken.md", p, reason="", allowed=Allowed()
    ),
    "restore_archived to": lambda g, p: restore_archived(
        g, p, "own.md", reason="", allowed=Allowed()
    ),
    "is_address": lambda g, p: is_address(g, f"{p}#x"),
    "restore_entry": lambda g, p: restore_entry(
        g, f"{p}#x", at="", previous=False, reason="", allowed=Allowed()
    ),
    "restore of the version before": lambda g, p: restore(g, p, previous=True),
    "restore at HEAD": lambda g, p: restore(g, p, at="HEAD"),
    "write": lambda g, p: write(g, [Edit(p, "mine now\n")]),
    "write for a user": lambda g, p: write(g, [Edit("user", "mine now\n", user=p)]),
    "write an entry": lambda g, p: write(g, [Edit(p, "mine now", entry="Mine")]),
    "append": lambda g, p: write(g, [Edit(p, "mine now\n", append=True)]),
    "create": lambda g, p: write(g, [Edit("x.md", "x\n"), Edit(p, "mine now\n", create=True)]),
    "memory_get": memory_get,
    "memory_get of a group": lambda g, p: memory_get(g, "a.md", group_folder=p),
    "memory_search": lambda g, p: (memory_search(g, p), memory_search(g, ASKED, top_k=64)),
    "memory_search in a group": lambda g, p: memory_search(g, ASKED, group_folder=p),
    "search": lambda g, p: (search(g, p), search(g, ASKED, limit=99, include_archive=True)),
    "search in a layer": lambda g, p: search(g, ASKED, layers=[p]),
    "search from a source": lambda g, p: search(g, ASKED, source=p),
    "transcript_add": lambda g, p: transcript_add(g, [NewMessage(p, p, p, None, p)]),
    "check_writable": lambda g, p: check_writable(g, [p]),
    "transcript_summarised": lambda g, p: transcript_summarised(g, [Summarised([(p, p)], p)]),
    "transcript_import": imported,
    "transcript_import of lines": lambda g, p: transcript_import(
        g, [Path(p)], lambda *_: iter(()), form="x"
    ),
    "transcript_pending": lambda g, p: transcript_pending(g, chat=p, take_over=True),
    "transcript_show": transcript_show,
    "unlink": lambda g, p: unlink(g.store, Path(p), acting=g.acting),
}

BY_MOMENT: dict[str, Call] = {
    "find_kept": find_kept,
    "kept_restore": kept_restore,
    "kept_drop": kept_drop,
    "diff": diff,
    "diff to": lambda g, at: diff(g, "HEAD", at),
    "entries": lambda g, at: entries(g, at=at),
    "decide": lambda g, at: decide(g, plan_about("own.md", "taken.md"), base=at),
    "freshness": lambda g, at: freshness(g, at=at),
    "report": lambda g, at: report(g, at=at),
    "line_dates": lambda g, at: line_dates(g, "a.md", at=at),
    "pin": pin,
    "inject": lambda g, at: inject(g, at=at),
    "list_files": lambda g, at: list_files(g, at=at),
    "log": lambda g, at: log(g, since=at),
    "log of an agent": lambda g, _: (log(g, agent="them"), log(g, session="s")),
    "read": lambda g, at: read(g, "a.md", at=at),
    "resolve": resolve,
    "restore": lambda g, at: restore(g, "a.md", at=at),
    "restore of all": lambda g, at: restore(g, "", at=at),
    "show": show,
    "undo": lambda g, at: undo(g, [at]),
    "undo of an agent": lambda g, _: undo(g, agent="them"),
    "search since": lambda g, at: search(g, ASKED, since=at),
    "start_of": start_of,
    "transcript_checkpoint": lambda g, at: closed(g, "fine", at),
    "transcript_checkpoint of a token": lambda g, at: transcript_checkpoint(g, "fine", token=at),
    "transcript_prune": lambda g, at: (transcript_prune(g, at), transcript_prune(g, "2999-01-01")),
}

PLAIN: dict[str, Call] = {
    "acknowledge": lambda g, _: acknowledge(g, ["0" * 12]),
    "scan_commits": lambda g, _: scan_commits(g),
    "scan_beside": lambda g, _: scan_beside(g),
    "waits_beside": lambda g, _: waits_beside(g),
    "open_secrets": lambda g, _: open_secrets(g, scan_commits(g)),
    "archived": lambda g, _: archived(g),
    "check": lambda g, _: check(g),
    "check with repair": lambda g, _: check(g, repair=True),
    "compact": lambda g, _: compact(g, "a summary"),
    "guard_staged": lambda g, _: guard_staged(g),
    "health_of": lambda g, _: health_of(g),
    "is_where_left": lambda g, _: is_where_left(g),
    "kept_list": lambda g, _: kept_list(g),
    "waiting": lambda g, _: waiting(g),
    "links": lambda g, _: links(g.store, acting=g.acting),
    "put_git_hook": lambda g, _: put_git_hook(g, ["gitmem"]),
    "take_git_hook": lambda g, _: take_git_hook(g),
    "last_jobs": lambda g, _: last_jobs(g),
    "lint": lambda g, _: lint(g),
    "log_job": lambda g, _: log_job(g, "mine", "done"),
    "maintain": lambda g, _: (maintain(g), maintain(g, limits=PackLimits(loose=0))),
    "maintain_all": lambda g, _: maintain_all(g.store, acting=g.acting),
    "made_report": lambda g, _: made_report(g),
    "migrate": lambda g, _: (migrate(g, dry_run=True), migrate(g)),
    "due_migration": lambda g, _: due_migration(g),
    "migrate_due": lambda g, _: migrate_due(g),
    "catch_up": lambda g, _: catch_up(g),
    "missed_days": lambda g, _: missed_days(g),
    "find_missed": lambda g, _: find_missed(g),
    "note_gap": lambda g, _: note_gap(g),
    "ignored_memory": lambda g, _: ignored_memory(g, g.repository.snapshot()),
    "left_outside": lambda g, _: left_outside(g, g.repository.snapshot().commit),
    "snapshot_missed": lambda g, _: snapshot_missed(g),
    "has_grown": lambda g, _: has_grown(g),
    "consolidate": lambda g, _: consolidate(g),
    "rollup": lambda g, _: rollup(g, "week", "2026-W01", "text", summary="one line"),
    "rollups_due": lambda g, _: rollups_due(g),
    "rotate": lambda g, _: rotate(g),
    "snapshot": lambda g, _: (snapshot(g), snapshot(g, force=True)),
    "snapshots": lambda g, _: snapshots(g),
    "count_edits": lambda g, _: count_edits(g, g.repository.snapshot()),
    "is_ready": lambda g, _: is_ready(g),
    "make_ready": lambda g, _: make_ready(g),
    "is_unchanged": lambda g, _: is_unchanged(g, g.repository.snapshot()),
    "status": lambda g, _: status(g),
    "run_job": lambda g, _: run_job(g, "mine", lambda: 1, lambda _: JobOutcome("done")),
    "query_messages": lambda g, _: all_told(g),
    "cache_path": lambda g, _: cache_path(g),
    "last_closed": lambda g, _: last_closed(g),
    "find_messages": lambda g, _: all_heard(g),
    "find_passages": lambda g, _: all_passages(g),
    "has_shared": lambda g, _: has_shared(g),
    "has_transcripts": lambda g, _: has_transcripts(g),
    "inject for a prompt": lambda g, _: inject(g, prompt=ASKED),
    "messages_of": lambda g, _: all_told(g),
    "messages_path": lambda g, _: messages_path(g),
    "sources_at": lambda g, _: in_sources(g),
    "tip_of": lambda g, _: tip_of(g),
    "transcript_list": lambda g, _: transcript_list(g),
    "transcript_status": lambda g, _: transcript_status(g),
}

METHODS: dict[str, Callable[[Memory, str], object]] = {
    "acknowledge": lambda m, p: m.acknowledge([p]),
    "archive": lambda m, p: m.archive([p]),
    "entries.archived": lambda m, _: m.entries.archived(),
    "capture": lambda m, p: m.capture([p]),
    "check": lambda m, _: m.check(repair=True),
    "compact": lambda m, p: m.compact(p, id=p),
    "entries.confirm": lambda m, p: m.entries.confirm([f"{p}#x"]),
    "history.diff": lambda m, p: m.history.diff(path=p),
    "entries": lambda m, p: m.entries(p),
    "entries.list": lambda m, p: m.entries.list(p),
    "entries.freshness": lambda m, p: m.entries.freshness(p),
    "history.lines": lambda m, p: m.history.lines(p),
    "kept": lambda m, _: m.kept(),
    "kept.list": lambda m, _: m.kept.list(),
    "kept.restore": lambda m, p: m.kept.restore(p),
    "kept.drop": lambda m, p: m.kept.drop(p),
    "held": lambda m, _: m.held(),
    "held.list": lambda m, _: m.held.list(),
    "held.accept": lambda m, p: m.held.accept(p),
    "held.unignore": lambda m, p: m.held.unignore(p),
    "held.drop": lambda m, p: m.held.drop(p),
    "held.empty": lambda m, p: m.held.empty([p]),
    "held.ignore": lambda m, p: m.held.ignore(p),
    "held.ignored": lambda m, _: m.held.ignored(),
    "held.restore": lambda m, p: m.held.restore(p),
    "held.trash": lambda m, _: m.held.trash(),
    "held.show": lambda m, p: m.held.show(p),
    "inject": lambda m, p: m.inject(user=p),
    "lint": lambda m, _: m.lint(),
    "list": lambda m, p: m.list(p),
    "history.log": lambda m, p: m.history.log(p),
    "maintain": lambda m, _: m.maintain(),
    "migrate": lambda m, _: m.migrate(),
    "mv": lambda m, p: m.mv(p, "taken.md"),
    "entries.move": lambda m, p: m.entries.move(f"{p}#x", "taken.md"),
    "read": lambda m, p: m.read(p),
    "rm": lambda m, p: m.rm(p),
    "restore": lambda m, p: m.restore(p),
    "consolidate": lambda m, _: m.consolidate(),
    "decide": lambda m, p: m.decide(f'{{"action": "archive", "address": "{p}"}}'),
    "report": lambda m, p: m.report(at=p),
    "rollup": lambda m, p: m.rollup("week", p, p, summary=p, layer=p),
    "rollups_due": lambda m, p: m.rollups_due(layer=p),
    "rotate": lambda m, p: m.rotate(reason=p),
    "history.show": lambda m, p: m.history.show(p),
    "snapshot": lambda m, p: m.snapshot(reason=p, force=True),
    "history.snapshots": lambda m, _: m.history.snapshots(),
    "status": lambda m, _: m.status(),
    "undo": lambda m, p: m.undo([p]),
    "write": lambda m, p: m.write(p, "mine now\n"),
    "batch": lambda m, p: m.batch([Edit("x.md", "x\n"), Edit(p, "mine now\n")]),
    "memory_get": lambda m, p: (m.memory_get(p), m.memory_get(group_folder=p)),
    "memory_search": lambda m, p: (m.memory_search(ASKED), m.memory_search(p, group_folder=p)),
    "search": lambda m, p: (m.search(ASKED), m.search(ASKED, layers=[p])),
    "transcripts.add": lambda m, p: m.transcripts.add([NewMessage(p, p, p, None, p)]),
    "transcripts.checkpoint": lambda m, p: m.transcripts.checkpoint("fine", token=p, covers=[p]),
    "transcripts.list": lambda m, _: m.transcripts.list(),
    "transcripts.pending": lambda m, p: m.transcripts.pending(chat=p, take_over=True),
    "transcripts.prune": lambda m, p: (m.transcripts.prune("2999-01-01"), m.transcripts.prune(p)),
    "transcripts.show": lambda m, p: m.transcripts.show(p),
    "transcripts.status": lambda m, _: m.transcripts.status(),
}


def adopt_into(store: Store, name: str, acting: str | None) -> object:
    folder = store.root.parent / "adopted"
    folder.mkdir(exist_ok=True)
    (folder / "soul.md").write_text("I am\n")
    return adopt(store, name, folder, layout="soul", acting=acting)


BY_NAME: dict[str, Callable[[Store, str, str | None], object]] = {
    "adopt": adopt_into,
    "check_group": lambda s, n, acting: check_group(s, n, acting=acting),
    "check_group with repair": lambda s, n, acting: check_group(s, n, acting=acting, repair=True),
    "init": lambda s, n, acting: init(s, n, acting=acting),
    "link": lambda s, n, acting: link(s, s.root, n, acting=acting),
    "open_group": lambda s, n, acting: open_group(n, store=s.root, acting=acting),
    "open_group and make it": lambda s, n, acting: open_group(
        n, store=s.root, acting=acting, create=True
    ),
    "Group": lambda s, n, acting: Group(s, n, acting=acting),
    "remove_group": lambda s, n, acting: remove_group(s, n, acting=acting),
    "rename_group": lambda s, n, acting: rename_group(s, n, "taken", acting=acting),
    "rename_group onto": lambda s, n, acting: rename_group(s, "mine", n, acting=acting),
}

NAMES = ["theirs", "../theirs", "../repos/theirs", "mine/../theirs", "./theirs", "theirs/",
         "THEIRS", "Theirs", "theirs\0", "theirs.", " theirs", ".draft-x", ".", "..", "",
         "/theirs", "repos\\theirs", "theirs\n", "th\u200beirs"]  # fmt: skip


def told(act: Callable[[], object]) -> str:
    """Everything a call says, as an answer or as an error."""
    try:
        return repr(act())
    except GitmemError as error:
        return f"{error} {error.hint} {error.facts}"


def objects_of(group: Group) -> bytes:
    return git_bytes(group.gitdir, "cat-file", "--batch-all-objects", "--batch")


def try_all(scene: Scene, act: Callable[[str], object], tricks: list[str]) -> None:
    before = scene.state_of_theirs()
    for trick in tricks:
        plant(scene)
        assert MARK not in told(lambda trick=trick: act(trick)), trick  # type: ignore[misc]
        assert scene.state_of_theirs() == before, trick
    assert MARK.encode() not in objects_of(scene.mine)


@pytest.mark.parametrize("name", BY_PATH)
def test_no_path_leads_into_another_group(scene: Scene, name: str) -> None:
    try_all(scene, lambda path: BY_PATH[name](scene.mine, path), path_tricks(scene))


@pytest.mark.parametrize("name", BY_MOMENT)
def test_no_moment_of_another_group_can_be_named(scene: Scene, name: str) -> None:
    try_all(scene, lambda at: BY_MOMENT[name](scene.mine, at), moment_tricks(scene))


@pytest.mark.parametrize("name", PLAIN)
def test_no_overview_shows_another_group(scene: Scene, name: str) -> None:
    try_all(scene, lambda _: PLAIN[name](scene.mine, ""), [""])


@pytest.mark.parametrize("name", METHODS)
def test_no_method_of_the_api_reaches_another_group(scene: Scene, name: str) -> None:
    with open_group("mine", store=scene.store.root, acting="mine") as memory:
        tricks = [*path_tricks(scene), *moment_tricks(scene)]
        try_all(scene, lambda trick: METHODS[name](memory, trick), tricks)


@pytest.mark.parametrize("name", BY_NAME)
def test_no_name_opens_makes_or_moves_another_group(scene: Scene, name: str) -> None:
    before = scene.state_of_theirs()
    names = scene.store.names()
    onto = name == "rename_group onto"
    for trick in NAMES:
        with pytest.raises((GroupRefused, GroupNotFound)):
            BY_NAME[name](scene.store, trick, "mine")
        if trick != "theirs" or onto:  # a person, who may do everything, gets no further by tricks
            with pytest.raises(GitmemError):
                BY_NAME[name](scene.store, trick, None)
    assert scene.store.names() == names
    assert scene.state_of_theirs() == before


def test_a_group_that_looks_like_a_repository_is_a_group_of_its_own(scene: Scene) -> None:
    init(scene.store, "theirs.git")

    assert groups(scene.store, acting="theirs.git")[-1].files == 0
    with open_group("theirs.git", store=scene.store.root, acting="theirs.git") as look_alike:
        assert MARK not in told(lambda: look_alike.read("a.md"))
        assert look_alike.list().files == ()


@pytest.mark.parametrize("acting", ["mine", "MAIN", "main ", "", "global", "../main", "theirs2"])
def test_no_acting_group_but_main_sees_the_others(scene: Scene, acting: str) -> None:
    with pytest.raises(GroupRefused):
        Group(scene.store, "theirs", acting=acting)
    assert "theirs" not in [row.name for row in groups(scene.store, acting=acting)]
    assert MARK not in repr(groups(scene.store, acting=acting))


WRITING: dict[str, Call] = {
    "acknowledge": PLAIN["acknowledge"],
    **{name: BY_PATH[name] for name in ("capture", "capture of all", "held_accept", "held_drop")},
    **{name: BY_PATH[name] for name in ("move", "remove", "restore", "write", "append", "create")},
    "move_entry": BY_PATH["move_entry"],
    **{name: BY_PATH[name] for name in ("held_ask", "held_empty", "held_ignore", "held_restore")},
    **{name: BY_PATH[name] for name in ("archive", "archive of an entry", "confirm")},
    "restore of all": lambda g, _: restore(g, "", at="HEAD~1"),
    "undo": lambda g, _: undo(g),
    "kept_restore": BY_MOMENT["kept_restore"],
    "kept_drop": BY_MOMENT["kept_drop"],
    "consolidate": PLAIN["consolidate"],
    "decide": BY_PATH["decide"],
    "rollup": PLAIN["rollup"],
    "rotate": PLAIN["rotate"],
    "snapshot": PLAIN["snapshot"],
    "compact": PLAIN["compact"],
    "maintain": PLAIN["maintain"],
    "migrate": lambda g, _: migrate(g),
    "check with repair": lambda g, _: check(g, repair=True),
    "transcript_add": BY_PATH["transcript_add"],
    "transcript_summarised": BY_PATH["transcript_summarised"],
    "transcript_checkpoint": lambda g, _: transcript_checkpoint(g, "fine", token="0" * 16),
    "transcript_import": BY_PATH["transcript_import of lines"],
    "transcript_pending": BY_PATH["transcript_pending"],
    "transcript_prune": lambda g, _: transcript_prune(g, "2999-01-01"),
    "transcript_prune, a dry run": lambda g, _: transcript_prune(g, "2999-01-01", dry_run=True),
    "writing": lambda g, _: g.writing(),
    "revive_worktree": lambda g, _: g.revive_worktree(),
}


@pytest.mark.parametrize("name", WRITING)
def test_global_is_read_by_all_and_written_by_main(scene: Scene, name: str) -> None:
    owner = Group(scene.store, "global", acting="main")
    put(owner, "a.md", "one\n")
    put(owner, "a.md", "two\n")
    (owner.worktree / "held.md").symlink_to("a.md")
    (owner.worktree / "new.md").write_text("new\n")
    before = owner.repository.tip(), sorted(os.listdir(owner.worktree))
    reader = Group(scene.store, "global", acting="mine")

    with pytest.raises(GroupRefused):
        WRITING[name](reader, "held.md" if name.startswith("held") else "a.md")
    assert read(reader, "a.md").text == "two\n"
    assert len(log(reader)) == 3
    assert (owner.repository.tip(), sorted(os.listdir(owner.worktree))) == before
    owner.close()
    reader.close()


def looks_of(folder: Path) -> dict[str, tuple[object, ...]]:
    """Everything in a folder: what it is, and whether it was so much as touched."""
    return {
        str(path): (
            found.st_ino,
            found.st_mode,
            found.st_size,
            found.st_mtime_ns,
            path.read_bytes() if path.is_file() else None,
        )
        for path in sorted(folder.rglob("*"))
        for found in (path.lstat(),)
    }


READING: dict[str, Call] = {
    **{name: BY_PATH[name] for name in ("memory_get", "memory_search", "search")},
    "inject for a prompt": PLAIN["inject for a prompt"],
    "search for what was said": lambda g, _: search(g, "common", source="transcripts"),
    "query_messages": PLAIN["query_messages"],
    "find_messages": PLAIN["find_messages"],
    "find_passages": PLAIN["find_passages"],
    "transcript_list": PLAIN["transcript_list"],
    "transcript_show": lambda g, _: transcript_show(g, "hall"),
    "transcript_status": PLAIN["transcript_status"],
}


@pytest.mark.parametrize("name", READING)
@pytest.mark.parametrize("by", ["mine", "global"])
def test_who_only_reads_global_leaves_it_untouched(scene: Scene, name: str, by: str) -> None:
    owner = Group(scene.store, "global", acting="main")
    put(owner, "MEMORY.md", "what is common to all\n")
    transcript_add(owner, [NewMessage("hall", "ada", "common to all", None, "1")])
    search(owner, "common")
    put(owner, "a.md", "what came later\n")
    transcript_add(owner, [NewMessage("hall", "ada", "common as well", None, "2")])
    owner.close()
    before = looks_of(owner.gitdir), looks_of(owner.worktree)
    reader = Group(scene.store, by, acting="mine")

    heard = told(lambda: READING[name](reader, "common"))

    reader.close()
    assert "common to all" in heard or name not in ("search", "memory_search")
    assert (looks_of(owner.gitdir), looks_of(owner.worktree)) == before


def test_what_is_asked_finds_theirs_where_it_may_be_found(scene: Scene) -> None:
    hits = search(scene.theirs, ASKED, limit=99).hits

    assert {hit.source for hit in hits if MARK in hit.text} == {"memory", "transcript"}
    assert MARK in told(lambda: all_told(scene.theirs))
    assert MARK in told(lambda: all_heard(scene.theirs))
    assert MARK in told(lambda: all_passages(scene.theirs))
    assert MARK in told(lambda: in_sources(scene.theirs))


def test_a_search_finds_what_is_in_global_and_what_was_said_there(scene: Scene) -> None:
    owner = Group(scene.store, "global", acting="main")
    put(owner, "a.md", "the lighthouse is common to all\n")
    transcript_add(owner, [NewMessage("hall", "ada", "the lighthouse was seen", None, "1")])
    owner.close()
    put(scene.mine, "b.md", "a lighthouse of my own\n")
    transcript_add(scene.mine, [NewMessage("own", "me", "my lighthouse was seen", None, "2")])

    hits = search(scene.mine, "lighthouse", limit=99).hits

    found = {(hit.source, hit.group) for hit in hits}
    assert found == set(product(("memory", "transcript"), ("global", "mine")))


def test_a_work_tree_that_is_itself_a_link_is_not_entered(scene: Scene) -> None:
    shutil.rmtree(scene.mine.worktree)
    scene.mine.worktree.symlink_to(scene.theirs.worktree)
    before = scene.state_of_theirs()

    for name, call in {**BY_PATH, **PLAIN}.items():
        assert MARK not in told(lambda call=call: call(scene.mine, "a.md")), name  # type: ignore[misc]
    with pytest.raises(Damaged):
        capture(scene.mine)
    assert scene.state_of_theirs() == before
    assert MARK.encode() not in objects_of(scene.mine)


def test_the_tables_name_every_public_function_and_method() -> None:
    found = set()
    for each in pkgutil.walk_packages(gitmem.memory.__path__, "gitmem.memory."):
        module = importlib.import_module(each.name)
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__ and not name.startswith("_"):
                found.add(name)
    tried = {*BY_PATH, *BY_MOMENT, *PLAIN, *BY_NAME, "groups"}

    assert found - NO_GROUP - tried == set(), "a new function: try it here"
    assert found >= NO_GROUP
    assert methods().keys() - {"close"} == METHODS.keys()
