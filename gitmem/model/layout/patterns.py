"""What a path in a layout may hold: which variables and globs fit its key, or its layer's kind.

Each question is answered in words, with what is wrong, or with nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from gitmem.errors import GitmemError
from gitmem.model.layout.layout import FILE, TIMES, filled, is_glob, variables_in
from gitmem.model.paths import check_path, fold

_SAMPLES = {
    "date": "2026-01-31",
    "datetime": "2026-01-31T23-59-59",
    "week": "2026-W05",
    "month": "2026-01",
    "user": "somebody",
}
_STRAY = {
    "?[]": "globs are * and **; ? and brackets are not read",
    "{}": "a brace stands only around a variable: {date}",
}
_FINER = ("month", "week", "date", "datetime")
_OF_KIND = {"journal": (*TIMES, "user"), "profile": ("user",)}


def fault_of(pattern: str, variables: Sequence[str] = (), *, globs: bool = False) -> str:
    """What is wrong with a path in which VARIABLES, and GLOBS if so, may stand."""
    for each in variables_in(pattern):
        if each not in variables:
            known = ", ".join(f"{{{name}}}" for name in variables)
            return f"there is no {{{each}}} here, only {known or 'a plain path'}"
    if is_glob(pattern) and not globs:
        return "there is no * here: this names one file"
    plain = filled(pattern, _SAMPLES).replace("*", "x")
    for marks, why in _STRAY.items():
        if set(plain) & set(marks):
            return why
    if fold(pattern.partition("/")[0]) == fold(FILE):
        return f"{FILE} is the layout itself, and no memory"
    try:
        check_path(plain)
    except GitmemError as error:
        return error.message
    return ""


def fault_of_rotated(pattern: str) -> str:
    """What is wrong with the path to which a log goes: its day makes it another one each time."""
    if variables_in(pattern).count("date") != 1:
        return "a log goes to a path with {date}, once"
    return fault_of(pattern, ("date",))


def fault_of_kind(kind: str, pattern: str) -> str:
    """What is wrong with PATTERN as the path of a layer of that KIND."""
    used, allowed = variables_in(pattern), _OF_KIND.get(kind, ())
    if kind in ("document", "entries", "log") and (used or is_glob(pattern)):
        return f"a layer of the kind {kind} is one file"
    if kind == "notes":
        return "notes are named one by one: * may stand here, a variable not" if used else ""
    if is_glob(pattern):
        return f"a {kind} is found by its variables: there is no * here"
    odd = next((each for each in used if each not in allowed), "")
    if odd:
        return f"there is no {{{odd}}} in the path of a {kind}"
    if kind == "profile" and used != ("user",):
        return "a profile's path needs {user}, once"
    return _fault_of_journal(pattern, used) if kind == "journal" else ""


def fault_of_rollup(kind: str, pattern: str) -> str:
    """What is wrong with rolling up a layer of that KIND whose files are at PATTERN."""
    if kind != "journal":
        return "only the pages of a journal are rolled up"
    if len(variables_in(pattern)) > 1:
        return "what is rolled up has one variable in its path, and no {user}"
    return "there is nothing above a month" if "{month}" in pattern else ""


def _fault_of_journal(pattern: str, used: Sequence[str]) -> str:
    times = [_FINER.index(each) for each in used if each in TIMES]
    if not times:
        return "a journal's path needs {date}, {datetime}, {week} or {month}"
    if used.count("user") > 1:
        return "{user} stands once"
    if any(len(variables_in(part)) > 1 for part in pattern.split("/")):
        return "each variable needs a part of the path for itself: {month}/{date}.md"
    if sorted(set(times)) != times:
        # The last one dates the file, so it has to say the most.
        return "of the variables of time the finest stands last, and none twice: {month}/{date}.md"
    return ""
