"""The one place where errors become messages and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gitmem import errors
from gitmem.cli.style import echo, visible
from gitmem.model.hints import Call, Hint, rendered

if TYPE_CHECKING:
    from gitmem.cli.invocation import Invocation

DONE, UNEXPECTED, USAGE, NOT_FOUND, CONFLICT, REFUSED, FINDINGS, BUSY, DAMAGED = range(9)
INTERRUPTED = 130

MEANINGS = {
    DONE: "done, also where there was nothing to do",
    UNEXPECTED: "unexpected: a bug of gitmem's; `GITMEM_DEBUG=1` shows where",
    USAGE: "usage: the command makes no sense as given",
    NOT_FOUND: "not found: no such group, file, commit or moment",
    CONFLICT: "conflict: what the caller assumed is not so, or a choice is needed",
    REFUSED: "refused by a guard, before anything was written",
    FINDINGS: "findings: `check` or `lint` has something to say",
    BUSY: "busy: somebody else holds the lock; a retry is safe",
    DAMAGED: "damaged, or the disk failed: see `gitmem check`",
    INTERRUPTED: "interrupted",
}

EXIT_CODES: dict[type[BaseException], int] = {
    errors.NotFound: NOT_FOUND,
    errors.BadInput: USAGE,
    errors.Conflict: CONFLICT,
    errors.Refused: REFUSED,
    errors.Busy: BUSY,
    errors.Damaged: DAMAGED,
    errors.StorageFailed: DAMAGED,
    errors.GitmemError: UNEXPECTED,
    KeyboardInterrupt: INTERRUPTED,
    OSError: DAMAGED,
    BaseException: UNEXPECTED,
}

LABELS = {"message": "error", "hint": "hint"}

# Errors whose facts people want to see as a table -> the module that draws it.
DETAILS = {
    "choose-version": "gitmem.cli.commands.recover.restore",
    "moment-ambiguous": "gitmem.cli.commands.read.show",
}


def exit_code(kind: type[BaseException]) -> int:
    """The exit code of an error: that of the nearest of its bases that the table names."""
    known = {**EXIT_CODES, **_click_codes()}
    return next(known[base] for base in kind.__mro__ if base in known)


def _click_codes() -> Mapping[type[BaseException], int]:
    """The exit codes of click's errors; nothing raises one unless click is loaded."""
    click = sys.modules.get("click")
    if click is None:
        return {}
    return {click.UsageError: USAGE, click.ClickException: UNEXPECTED, click.Abort: INTERRUPTED}


def slug_code(slug: str) -> int:
    """The exit code of an error that was told by its slug, as a step of a longer run is."""
    kinds: list[type[errors.GitmemError]] = [errors.GitmemError]
    for kind in kinds:  # grows on the way
        if kind.code == slug:
            return exit_code(kind)
        kinds += kind.__subclasses__()
    return UNEXPECTED


def guarded(run: Callable[[], object], args: Sequence[str], call: Invocation) -> int:
    """Call RUN, which reads ARGS; report what it raises, and give the exit code of the process."""
    try:
        result = run()
        sys.stdout.flush()
    except BrokenPipeError:
        return reader_left()
    except (Exception, KeyboardInterrupt) as raised:  # noqa: BLE001 - this is the boundary
        error = _understood(raised)
        if call.environ.get("GITMEM_DEBUG"):
            import traceback

            traceback.print_exc()
        with suppress(BrokenPipeError):
            _report(error, args, call)
        return exit_code(type(error))
    return result if isinstance(result, int) else DONE


def _understood(error: BaseException) -> BaseException:
    """ERROR, unless it says that the current folder is gone: the system names no file then."""
    if not isinstance(error, FileNotFoundError) or error.filename:
        return error
    try:
        os.getcwd()
    except FileNotFoundError:
        return errors.FolderGone(
            "the current folder was removed",
            hint="go to another folder with `cd`, or use -g NAME and absolute paths",
        )
    except OSError:
        pass
    return error


def reader_left() -> int:
    """Whoever read our output has had enough (`gitmem log | head`): what was asked for is done."""
    with suppress(OSError, ValueError):
        # Else Python tries once more when it exits, and complains.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return DONE


def _report(error: BaseException, args: Sequence[str], call: Invocation) -> None:
    facts = _addressed(described(error), call)
    # Options that come after a mistake have not been read.
    if call.flags.json or "--json" in args[: (*args, "--").index("--")]:
        from gitmem.cli.render import document

        echo(document({"error": facts}, call.typed))
        return
    for label in ("message", "hint"):
        if facts[label]:
            # What another library said may have several lines, which nobody may forge.
            text = " ".join(filter(None, map(str.strip, str(facts[label]).split("\n"))))
            echo(f"{LABELS[label]}: {visible(text)}", err=True)
    if facts["code"] in DETAILS:
        from importlib import import_module

        import_module(DETAILS[str(facts["code"])]).draw_details(call, facts)


def _addressed(facts: Mapping[str, Any], call: Invocation) -> Mapping[str, Any]:
    """Facts whose commands can be typed as they are."""
    message = rendered(facts["message"], call.typed)
    found = {**facts, "message": message, "hint": call.addressed(facts["hint"])}
    if "versions" in facts:
        found["versions"] = [
            {**each, "command": call.addressed(each["command"])} for each in facts["versions"]
        ]
    return found


def described(error: BaseException) -> Mapping[str, Any]:
    """What there is to say about an error: code, message, hint, and its facts."""
    if isinstance(error, errors.GitmemError):
        return {
            **error.facts,
            "code": error.code,
            "message": error.message,
            "hint": error.hint,
        }
    if exit_code(type(error)) == INTERRUPTED:
        return _described("interrupted", "interrupted", "")
    if isinstance(error, tuple(_click_codes())):
        return _usage_error(error)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        message = f"{where}{error.strerror or error}"
        return _described(errors.StorageFailed.code, message, Hint("run ", Call("check")))
    message = f"unexpected {type(error).__name__}: {error}"
    return _described("unexpected", message, "set GITMEM_DEBUG=1 to see where, and report it")


def _described(code: str, message: str, hint: str) -> Mapping[str, Any]:
    return {"code": code, "message": message, "hint": hint}


def _usage_error(error: Any) -> Mapping[str, Any]:
    """What there is to say about an error of click's."""
    context = getattr(error, "ctx", None)
    hint = getattr(error, "hint", "") or (f"see `{context.command_path} --help`" if context else "")
    unknown = isinstance(error, sys.modules["click"].NoSuchOption)
    if unknown and not error.option_name.startswith("--"):
        hint += "; write a file name that begins with a dash as ./-NAME"
    return _described("usage", error.format_message(), hint)
