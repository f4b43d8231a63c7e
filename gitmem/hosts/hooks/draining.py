"""What sessions have left behind becomes transcripts."""

from __future__ import annotations

import os
from contextlib import suppress

from gitmem.errors import GitmemError, NotFound
from gitmem.hosts.hooks.answering import DRAIN, Asked
from gitmem.hosts.hooks.spool import Ended, Taken, done, put_back, take

AT_ONCE = 4 * 1024 * 1024
"""Bytes of a transcript that a start waits for; more is read behind its back."""


def drain(asked: Asked, *, at_once: int = AT_ONCE) -> None:
    """Take in what was said in sessions that ended; AT_ONCE: as many bytes as that, 0 for all."""
    left = False
    for each in take(asked.store):
        size = _size(each.ended.transcript)
        if at_once and size > at_once:
            put_back(each)
            left = True
            continue
        _kept(asked, each)
    if left:
        _go_on(asked)


def _kept(asked: Asked, taken: Taken) -> None:
    try:
        _import(asked, taken.ended)
    except NotFound:
        done(taken)  # the group or the file is gone, and will not come back
    except (GitmemError, OSError):
        put_back(taken)
        raise
    else:
        done(taken)


def _import(asked: Asked, ended: Ended) -> None:
    path = os.path.expanduser(ended.transcript)
    if not os.path.isfile(path):
        return  # its host has removed it
    from gitmem.hosts.hooks.groups import WAIT, opened
    from gitmem.hosts.transcripts.importing import import_transcripts
    from gitmem.operations.layouts import layout_of

    whose = asked._replace(
        host=ended.host,
        group=ended.group,
        payload={"session_id": ended.session, "cwd": ended.folder},
        environ={},
    )
    with opened(whose) as group:
        if layout_of(group).transcripts.record:
            import_transcripts(group, ended.host, environ={}, paths=[path], wait=WAIT)


def _size(path: str) -> int:
    with suppress(OSError):
        return os.stat(os.path.expanduser(path)).st_size
    return 0


def _go_on(asked: Asked) -> None:
    """Do the rest in a process of its own, which nobody waits for."""
    import subprocess
    import sys

    command = [sys.executable, "-m", "gitmem", "--store", asked.store, "hook", DRAIN]
    with suppress(OSError):
        subprocess.Popen(
            command,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
