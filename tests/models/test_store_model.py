"""The store against a dict: whatever is done to it in whatever order (hypothesis)."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gitmem.errors import Conflict, PathRefused
from gitmem.memory.group import Group, Store
from gitmem.memory.read.listing import list_files
from gitmem.memory.read.read import read
from gitmem.memory.write.capture import capture
from gitmem.memory.write.write import Edit, Written, write
from tests.support.faults import (
    ANYTHING_GOES,
    Scene,
    assert_sound,
    blobs_in_history,
    files_on_disk,
    new_scene,
)

# Scripts, spaces, emoji and depths; `b` is a file here and a folder there, so they must collide.
PATHS = ("a.md", "b", "b/c.md", "notes/Ümläut ß.md", "notes/日本語.md", "notes/deep/😀 x.md", "Z")
BODIES = st.one_of(
    st.sampled_from([b"", b"\n", b"one\n", b"one\r\ntwo\r\n", b"no end", b"\xef\xbb\xbfbom\n"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="-"), max_size=40).map(
        str.encode
    ),
    st.lists(st.sampled_from([b"x\n", b"y\r\n", b"z", b"\x00", b"\xff"]), max_size=8).map(b"".join),
)


def appended(before: bytes | None, text: bytes) -> bytes:
    """What an append makes of a file: lines are never glued, and end as the file's do."""
    if before is None:
        return text if not text or text.endswith(b"\n") else text + b"\n"
    newline = b"\r\n" if b"\r\n" in before else b"\n"
    closed = [
        part if not part or part.endswith(b"\n") else part + newline for part in (before, text)
    ]
    return b"".join(closed)


class StoreMachine(RuleBasedStateMachine):
    """Every rule does the same to the store and to a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="gitmem-model-"))
        self.files: dict[str, bytes] = {}
        self.edited: dict[str, bytes | None] = {}
        """What somebody did to the work tree since: the next write to that path takes it in."""
        self.versions: set[bytes] = set()
        self.steps = 0

    @initialize()
    def begin(self) -> None:
        self.scene: Scene = new_scene(self.folder / "store")
        self.group = Group(Store(self.scene.root), "main")

    def teardown(self) -> None:
        if hasattr(self, "group"):
            self.look_hard()
            self.group.close()
        shutil.rmtree(self.folder)

    def standing(self, path: str) -> bytes | None:
        """What a write to PATH will build on."""
        return self.edited[path] if path in self.edited else self.files.get(path)

    def fits(self, path: str) -> bool:
        """Whether no other file is in the way of PATH, as its folder or inside it."""
        others = {*self.files, *self.edited} - {path}
        return not any(
            each.startswith(f"{path}/") or path.startswith(f"{each}/") for each in others
        )

    def land(self, changes: dict[str, bytes], done: Written) -> None:
        for path in changes:
            taken_in = self.edited.pop(path, None)
            if taken_in is not None:
                self.versions.add(taken_in)
        self.files.update(changes)
        self.versions.update(changes.values())
        assert not done.pending
        assert not done.set_aside

    def write(self, *edits: Edit) -> Written:
        return write(self.group, edits, allowed=ANYTHING_GOES)

    @rule(path=st.sampled_from(PATHS), body=BODIES)
    def replace(self, path: str, body: bytes) -> None:
        if not self.fits(path):
            return
        same = self.standing(path) == body
        done = self.write(Edit(path, body))
        assert done.changes[0].change == "unchanged" or not same
        self.land({path: body}, done)

    @rule(path=st.sampled_from(PATHS), body=BODIES)
    def append(self, path: str, body: bytes) -> None:
        if not self.fits(path):
            return
        result = appended(self.standing(path), body)
        self.land({path: result}, self.write(Edit(path, body, append=True)))

    @rule(path=st.sampled_from(PATHS), body=BODIES)
    def create(self, path: str, body: bytes) -> None:
        if not self.fits(path):
            return
        if self.standing(path) is None:
            self.land({path: body}, self.write(Edit(path, body, create=True)))
        else:
            with pytest.raises(Conflict):
                self.write(Edit(path, body, create=True))
            self.take_in(path)

    def take_in(self, path: str) -> None:
        """The edit of PATH has been committed, and nothing else."""
        if path in self.edited:
            body = self.edited.pop(path)
            if body is None:
                self.files.pop(path, None)
            else:
                self.files[path] = body
                self.versions.add(body)

    @rule(paths=st.lists(st.sampled_from(PATHS), min_size=2, max_size=4), body=BODIES)
    def batch(self, paths: list[str], body: bytes) -> None:
        if not all(self.fits(path) for path in paths) or {"b", "b/c.md"} <= set(paths):
            return
        result: dict[str, bytes] = {}
        for path in paths:
            result[path] = appended(result.get(path, self.standing(path)), body)
        self.land(result, self.write(*(Edit(path, body, append=True) for path in paths)))

    @rule(body=BODIES)
    def write_below_a_file(self, body: bytes) -> None:
        if "b" in self.files and not self.edited.keys() & {"b", "b/c.md"}:
            with pytest.raises(PathRefused):
                self.write(Edit("b/c.md", body))

    @rule(path=st.sampled_from(PATHS), body=BODIES)
    def edit_by_hand(self, path: str, body: bytes) -> None:
        if not self.fits(path):
            return
        target = self.scene.worktree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(body)
        self.edited[path] = body

    @rule(path=st.sampled_from(PATHS))
    def delete_by_hand(self, path: str) -> None:
        if self.standing(path) is not None:
            (self.scene.worktree / path).unlink()
            self.edited[path] = None

    @rule()
    def capture(self) -> None:
        capture(self.group)
        for path in list(self.edited):
            self.take_in(path)

    @rule()
    def reopen(self) -> None:
        self.group.close()
        self.group = Group(Store(self.scene.root), "main")

    @invariant()
    def head_is_the_model(self) -> None:
        if hasattr(self, "group"):
            listed = {each.path for each in list_files(self.group).files}
            assert {path: read(self.group, path).data for path in listed} == self.files

    @invariant()
    def work_tree_is_head_where_nobody_edited(self) -> None:
        self.steps += 1
        if hasattr(self, "group") and self.steps % 7 == 0:
            self.look_hard()

    def look_hard(self) -> None:
        """Ask git, too."""
        standing = {path: self.standing(path) for path in {*self.files, *self.edited}}
        expected = {path: body for path, body in standing.items() if body is not None}
        assert files_on_disk(self.scene.worktree) == expected
        assert self.versions <= set(blobs_in_history(self.scene.gitdir).values())
        if not self.edited:
            assert_sound(self.scene)


TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


@pytest.mark.slow
class TestStoreForLong(StoreMachine.TestCase):  # type: ignore[misc,name-defined]
    settings = settings(max_examples=400, stateful_step_count=60, deadline=None)
