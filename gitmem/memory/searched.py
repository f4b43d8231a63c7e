"""Which commits were searched for credentials: a cache, continued by what the lock tells.

Commits of our own are searched before they are made. The lock names the run of them at the tip of
the branch, so that the cache need not be written for each.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.errors import Damaged, GitmemError
from gitmem.store.lock import Run, last_run
from gitmem.store.repository import branch_file

if TYPE_CHECKING:
    from gitmem.cache.scanned import Scanned, Stamp
    from gitmem.memory.group import Group
    from gitmem.store.transaction.writer import Writer


class CredentialSearch:
    """What an open group remembers of it, so that not every write reads the cache and the lock."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._exposed: bool | None = None
        """Whether a credential was found in history; None before anybody has looked."""
        self._known: tuple[str, Stamp] = "", None
        """Where our last writer left the branch, all searched, and the stamp of the cache."""

    def search_new(self) -> bool:
        """Search what plain git has committed; without the lock, so that nobody waits for it.

        True where the lock goes on telling which commits are ours; False where it begins anew.
        """
        from gitmem.cache.scanned import scanned_stamp

        group = self._group
        with suppress(GitmemError, OSError):  # whoever needs what is damaged reports it
            tip = branch_file(group.gitdir) or group.repository.tip()
            stamp = scanned_stamp(group.gitdir)
            if (tip, stamp) == self._known:
                return True
            self._known = "", stamp
            known, goes_on = scanned_in(group.gitdir)
            self._exposed = bool(known.found)
            if tip in (known.tip, known.left):
                return goes_on
            from gitmem.memory.admin.committed_secrets import scan_commits

            self._exposed = bool(scan_commits(group, bounded=True).found)
        return False

    def count_written(self, writer: Writer, *, goes_on: bool) -> None:
        """Remember that the commits of WRITER came through our guards, which have searched them.

        The lock tells that, as long as nobody else moves the branch and no finding is open. GOES_ON
        is False for a writer that did not search what plain git committed.
        """
        if not (writer.ranges or writer.strayed):
            return
        self._keep(writer)
        follows = goes_on and not (writer.strayed or self._exposed)
        self._known = writer.published if follows else "", self._known[1]

    def _keep(self, writer: Writer) -> None:
        from gitmem.model.guards import is_allowed

        group = self._group
        with suppress(GitmemError, OSError):
            ends = (group.repository.commit(commit).message for _, commit in writer.ranges)
            if self._exposed is None:
                self._exposed = bool(scanned_in(group.gitdir)[0].found)
            if self._exposed or writer.strayed or any(map(is_allowed, ends)):
                from gitmem.memory.admin.committed_secrets import count_as_scanned

                count_as_scanned(group, writer)


def is_where_left(group: Group) -> bool:
    """True while the branch is where the last writer of ours left it."""
    with suppress(Damaged):
        return last_run(group.gitdir)[1] in ("", group.repository.tip())
    return True


def scanned_in(gitdir: Path) -> tuple[Scanned, bool]:
    """Up to where history was searched for credentials, with what writers of ours added since.

    The second is False where the lock tells of commits that do not follow what was searched.
    """
    from gitmem.cache.scanned import advanced, read_scanned

    known, (since, tip) = read_scanned(gitdir), last_run(gitdir)
    if not since or since not in (known.tip, known.left) or has_open(gitdir, known):
        return known, False
    return advanced(known, since, tip), True


def has_open(gitdir: Path, known: Scanned) -> bool:
    """Whether something was found that nobody has acknowledged: then the lock tells of no run.

    A file with such a finding holds it in its next version, too, and a writer may die between
    landing that version and writing the finding down.
    """
    if not known.found:
        return False
    from gitmem.store.fsck.acknowledged import read_acknowledged

    done = read_acknowledged(gitdir)
    return not all(done.covers(each.id, each.location) for each in known.found)


def keep_run(gitdir: Path, run: Run) -> None:
    """Write down which commits RUN vouches for: the lock is about to stop telling of them."""
    from gitmem.cache.scanned import advanced, keep_scanned, read_scanned

    stored = read_scanned(gitdir)
    known = advanced(stored, *run)
    if known != stored and not has_open(gitdir, stored):
        keep_scanned(gitdir, known)
