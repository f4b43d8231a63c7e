"""The reference part of docs/api.md, made from the code: `python -m tests.support.api_page`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gitmem
from gitmem import errors, results
from gitmem.api import parts
from gitmem.api.memory import Memory, open_group
from gitmem.model.record import Record

PAGE = Path(gitmem.__file__).parents[1] / "docs" / "api.md"
MARK = "<!-- From here on made by `make docs`; do not edit it by hand. -->\n"
PARTS = {
    "entries": parts.EntryMethods,
    "history": parts.HistoryMethods,
    "held": parts.HeldMethods,
    "kept": parts.KeptMethods,
    "transcripts": parts.TranscriptMethods,
}


def methods() -> dict[str, Callable[..., Any]]:
    """Every public method of the API by its dotted name; `held` is what calling it does."""
    found = {"": Memory, **{f"{name}.": part for name, part in PARTS.items()}}
    return {
        (prefix + name).removesuffix(".__call__"): function
        for prefix, kind in found.items()
        for name, function in vars(kind).items()
        if inspect.isfunction(function) and (name[0] != "_" or name == "__call__")
    }


def result_types() -> dict[str, type[Record]]:
    """The exported results by name."""
    return {name: getattr(results, name) for name in results.__all__}


def error_types(
    kind: type[errors.GitmemError] = errors.GitmemError,
) -> Iterator[type[errors.GitmemError]]:
    """Every error, each behind its base."""
    yield kind
    for each in kind.__subclasses__():
        if each.__module__ == errors.__name__:
            yield from error_types(each)


def reference() -> str:
    """The part of the page that is made."""
    return "\n".join([MARK, *_methods(), *_results(), *_errors()])


def _methods() -> Iterator[str]:
    yield "## Methods\n\n| method | returns | does |\n| --- | --- | --- |"
    for name, function in {"gitmem.open": open_group, **methods()}.items():
        signature = inspect.signature(function)
        call, returned = f"{name}({_parameters(signature)})", _escaped(signature.return_annotation)
        yield f"| `{call}` | `{returned}` | {_doc(function)} |"
    yield ""


def _parameters(signature: inspect.Signature) -> str:
    words, starred = [], False
    for each in signature.parameters.values():
        if each.name == "self":
            continue
        if each.kind is each.KEYWORD_ONLY and not starred:
            words.append("*")
            starred = True
        default = "" if each.default is each.empty else f"={each.default!r}"
        words.append(each.name + default)
    return ", ".join(words)


def _results() -> Iterator[str]:
    yield "## Results\n\n| `gitmem.results` | fields |\n| --- | --- |"
    for name, kind in result_types().items():
        own = (each for base in kind.__mro__ for each in vars(base).items())
        derived = [key for key, value in own if isinstance(value, property)]
        fields = ", ".join(f"`{each}`" for each in (*kind._fields, *derived))
        yield f"| `{name}` | {fields} |"
    yield ""


def _errors() -> Iterator[str]:
    yield "## Errors\n\n| `gitmem.errors` | `code` | a kind of | means |\n| --- | --- | --- | --- |"
    for each in error_types():
        base = "" if each is errors.GitmemError else f"`{each.__mro__[1].__name__}`"
        yield f"| `{each.__name__}` | `{each.code}` | {base} | {_doc(each)} |"
    yield ""


def _doc(described: Any) -> str:
    return _escaped((described.__doc__ or "").strip().split("\n\n")[0].replace("\n", " "))


def _escaped(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    written = PAGE.read_text("utf-8").partition(MARK)[0]
    PAGE.write_text(written + reference(), "utf-8")
