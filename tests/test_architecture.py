"""Imports point inwards, and each kind of side effect has its room."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TypeGuard

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "gitmem").rglob("*.py"))

# Room -> the other rooms it may import. `gitmem` is the package itself, the door for libraries.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "resources": {"errors"},
    "model": {"errors"},
    "store": {"errors", "model"},
    "cache": {"errors", "model"},
    "memory": {"errors", "model", "store", "cache", "resources"},
    "api": {"errors", "model", "memory"},
    # The types of results, wherever they are made: it defines nothing.
    "results": {"model", "store", "cache", "memory"},
    "gitmem": {"errors", "model", "memory", "api", "results"},
    "integrations": {"errors", "model", "memory", "resources", "api", "gitmem"},
    # Commands such as `gitmem hook` open a door, so cli sees integrations, never the reverse.
    "cli": {"errors", "model", "memory", "resources", "api", "gitmem", "integrations"},
    # The same door as `gitmem memory-tool`, for Python; it alone knows the Anthropic SDK.
    "memory_tool": {"errors", "api", "integrations"},
    "__main__": {"cli"},
}

ONE_ROOM = {"pygit2": "store", "click": "cli"}
IMPURE = {"fcntl", "os", "random", "shutil", "socket", "sqlite3", "subprocess", "tempfile", "time"}
ENVIRONMENT = {"environ", "environb", "getenv", "getenvb"}
EDGE = {"api", "cli", "gitmem", "integrations"}
NAMES_THAT_SAY_NOTHING = {"helper", "helpers", "manager", "managers", "util", "utils"}


def violations(path: str, source: str) -> Iterator[str]:
    """Say in words what the module at PATH, relative to the checkout, does that it must not."""
    module, tree = PurePosixPath(path), ast.parse(source)
    room = room_of(".".join(module.with_suffix("").parts))
    if room == "gitmem" and module.name != "__init__.py":
        yield f"{module.name} belongs to no room that MAY_IMPORT knows"
    if NAMES_THAT_SAY_NOTHING & set(module.with_suffix("").parts):
        yield "its name says nothing"
    if lacks_future_import(tree):
        yield "lacks `from __future__ import annotations`"
    for name in imported(tree, module.parent.parts):
        yield from wrong_import(room, name)
    for node in ast.walk(tree):
        yield from wrong_deed(room, node)


def room_of(dotted: str) -> str:
    """Return the room a dotted name of gitmem stands in; the package itself is one."""
    parts = [*dotted.split("."), ""]
    return parts[1] if parts[1] in MAY_IMPORT else parts[0]


def lacks_future_import(tree: ast.Module) -> bool:
    only_a_docstring = len(tree.body) <= 1 and ast.get_docstring(tree) is not None
    return not only_a_docstring and not any(
        isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body
    )


def imported(tree: ast.Module, package: tuple[str, ...]) -> Iterator[str]:
    """Every name the module imports, absolute, wherever in the file it does so."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            origin = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and called(node) in {"import_module", "__import__"}:
            yield from (str(a.value) for a in node.args[:1] if isinstance(a, ast.Constant))


def wrong_import(room: str, name: str) -> Iterator[str]:
    top = name.split(".", maxsplit=1)[0]
    if top == "gitmem" and room_of(name) not in MAY_IMPORT[room] | {room}:
        yield f"{room} imports {name}"
    if top in ONE_ROOM and room != ONE_ROOM[top]:
        yield f"{room} imports {top}, which only {ONE_ROOM[top]} may"
    if top in IMPURE and room == "model":
        yield f"model imports {top}, and model is pure"
    if top == "os" and name.rsplit(".", maxsplit=1)[-1] in ENVIRONMENT and room not in EDGE:
        yield f"{room} reads the environment"


def wrong_deed(room: str, node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Attribute):
        if node.attr in ENVIRONMENT and room not in EDGE:
            yield f"{room} reads the environment"
        if room == "model" and node.attr in {"now", "today", "utcnow"} and is_clock(node.value):
            yield "model reads the clock"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == "print" and room != "cli":
            yield f"{room} prints"
        if node.func.id in {"open", "input"} and room == "model":
            yield "model reads or writes files"


def is_clock(node: ast.expr) -> bool:
    return ast.unparse(node).split(".")[-1] in {"date", "datetime"}


def called(node: ast.Call) -> str:
    return ast.unparse(node.func).split(".")[-1]


@pytest.mark.parametrize("path", MODULES)
def test_every_module_keeps_to_its_room(path: str) -> None:
    assert list(violations(path, (ROOT / path).read_text("utf-8"))) == []


def test_every_room_of_the_design_is_walked() -> None:
    walked = {room_of(".".join(PurePosixPath(path).with_suffix("").parts)) for path in MODULES}

    assert walked >= {"errors", "resources", "model", "store", "cache", "memory", "integrations"}


FUTURE = "from __future__ import annotations\n"


@pytest.mark.parametrize(
    ("path", "source", "said"),
    [
        ("gitmem/errors.py", "import gitmem.model.paths", "errors imports gitmem.model.paths"),
        (
            "gitmem/model/paths.py",
            "from gitmem.store import refs",
            "model imports gitmem.store.refs",
        ),
        (
            "gitmem/model/paths.py",
            "from ..store.refs import Move",
            "model imports gitmem.store.refs.",
        ),
        ("gitmem/model/paths.py", "from .. import memory", "model imports gitmem.memory"),
        ("gitmem/model/paths.py", "from gitmem import __version__", "model imports gitmem."),
        ("gitmem/model/paths.py", "import pygit2", "model imports pygit2, which only store may"),
        ("gitmem/model/paths.py", "import os.path", "model imports os, and model is pure"),
        ("gitmem/model/paths.py", "def f():\n    import gitmem.cli", "model imports gitmem.cli"),
        ("gitmem/model/paths.py", "open('x')", "model reads or writes files"),
        ("gitmem/model/clock.py", "datetime.datetime.now(UTC)", "model reads the clock"),
        ("gitmem/store/refs.py", "from gitmem.cache import search", "store imports gitmem.cache."),
        ("gitmem/cache/search.py", "from gitmem.store import refs", "cache imports gitmem.store."),
        ("gitmem/memory/write.py", "import click", "memory imports click, which only cli"),
        ("gitmem/memory/write.py", "from pygit2 import Oid", "memory imports pygit2"),
        ("gitmem/memory/write.py", "os.environ['X']", "memory reads the environment"),
        ("gitmem/memory/write.py", "os.getenv('X')", "memory reads the environment"),
        ("gitmem/store/refs.py", "from os import environ", "store reads the environment"),
        ("gitmem/memory/write.py", "print('x')", "memory prints"),
        (
            "gitmem/integrations/hooks/answer.py",
            "from gitmem.cli import main",
            "integrations imports gitmem.cli.main",
        ),
        ("gitmem/cli/write.py", "from gitmem.store import refs", "cli imports gitmem.store.refs"),
        ("gitmem/cli/write.py", "import_module('gitmem.store')", "cli imports gitmem.store"),
        ("gitmem/resources.py", "from gitmem.model import paths", "resources imports gitmem.model"),
        ("gitmem/cli/utils.py", "", "its name says nothing"),
        ("gitmem/helpers/text.py", "", "its name says nothing"),
        ("gitmem/extra.py", "", "extra.py belongs to no room"),
    ],
)
def test_the_walk_catches(path: str, source: str, said: str) -> None:
    assert any(found.startswith(said) for found in violations(path, FUTURE + source))


def test_the_walk_misses_no_absent_future_import() -> None:
    assert list(violations("gitmem/model/paths.py", "x = 1")) == [
        "lacks `from __future__ import annotations`"
    ]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("gitmem/model/__init__.py", '"""A room with nothing in it."""'),
        ("gitmem/model/paths.py", FUTURE + "from gitmem.model import entries"),
        ("gitmem/model/paths.py", FUTURE + "from .entries import Entry\nclock.now()"),
        ("gitmem/store/refs.py", FUTURE + "import pygit2, os\nfrom gitmem.errors import Busy"),
        ("gitmem/memory/write.py", FUTURE + "from gitmem.store import refs\nopen('x')"),
        ("gitmem/cli/__init__.py", FUTURE + "import click\nos.environ['X']\nprint('x')"),
        ("gitmem/cli/__init__.py", FUTURE + "from gitmem import __version__"),
        ("gitmem/__init__.py", FUTURE + "from gitmem.memory.write import write"),
    ],
)
def test_the_walk_lets_through_what_is_allowed(path: str, source: str) -> None:
    assert list(violations(path, source)) == []


# Text for a model is made where everything is escaped, and by nobody else. What a model asked for
# by name is the one exception: it has to write back what it reads.
MAKERS = {
    "ForModel": {"gitmem/model/context/escape.py", "gitmem/model/context/render.py"},
    "exact": {"gitmem/integrations/mcp/texts.py"},
    "additionalContext": {"gitmem/integrations/hooks/protocol.py"},
    "TextContent": {"gitmem/integrations/mcp/server.py"},
}


def makes_text(path: str, source: str) -> Iterator[str]:
    """Say in words where the module at PATH makes text for a model that it must not."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        name = called(node) if isinstance(node, ast.Call) else getattr(node, "value", "")
        if isinstance(name, str) and path not in MAKERS.get(name, {path}):
            yield f"{name} is not for {path}"
        if isinstance(node, ast.Call) and name == "cast" and "ForModel" in ast.unparse(node):
            yield "a cast makes no text for a model"
        if isinstance(node, ast.Call) and name == "worded" and not is_ours(node.args[0], tree):
            yield f"the words of {ast.unparse(node)} are not ours"


def is_ours(node: ast.expr, tree: ast.Module) -> bool:
    """Whether a text stands in the source: it is a constant, or has a name that is one."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.BinOp):
        return is_ours(node.left, tree) and is_ours(node.right, tree)
    if isinstance(node, ast.IfExp):
        return is_ours(node.body, tree) and is_ours(node.orelse, tree)
    if not isinstance(node, ast.Name):
        return False
    given = [each.value for each in ast.walk(tree) if is_given(each, node.id)]
    return all(is_ours(each, tree) for each in given) if given else node.id.isupper()


def is_given(node: ast.AST, name: str) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and name in map(ast.unparse, node.targets)


@pytest.mark.parametrize("path", MODULES)
def test_text_for_a_model_is_made_in_one_place(path: str) -> None:
    assert list(makes_text(path, (ROOT / path).read_text("utf-8"))) == []


@pytest.mark.parametrize(
    "source",
    [
        "Said(ForModel(text))",
        "Answer(exact(text))",
        "{'additionalContext': text}",
        "TextContent(text=text)",
        "cast('ForModel', text)",
        "worded(text)",
        "worded(f'{text}')",
        "words = path\nworded(words)",
        "worded('a' + text)",
    ],
)
def test_no_other_place_passes(source: str) -> None:
    assert list(makes_text("gitmem/integrations/hooks/session_start.py", source)) != []


def test_a_type_says_what_is_for_a_model() -> None:
    """mypy, which is strict here, holds the rest: nothing else is taken there."""
    doors = {
        "gitmem/integrations/hooks/answer.py": "context: ForModel",
        "gitmem/integrations/hooks/protocol.py": "context: ForModel",
        "gitmem/integrations/mcp/texts.py": "text: ForModel",
        "gitmem/memory/context/inject.py": "memory_context: ForModel",
    }
    for path, said in doors.items():
        assert said in (ROOT / path).read_text("utf-8")
    unchecked = [
        each for each in MODULES if "integrations/hooks" in each or "integrations/mcp" in each
    ]
    assert not any(
        "type: ignore[arg-type]" in (ROOT / each).read_text("utf-8") for each in unchecked
    )


def by_hand() -> Iterator[tuple[str, str]]:
    """The modules of the table "By hand, and why", each with the library it does without."""
    page = (ROOT / "docs" / "decisions.md").read_text("utf-8")
    _, _, rest = page.partition("\n## By hand, and why\n")
    rows = re.findall(r"^\| (.+) \|$", rest.partition("\n## ")[0], re.MULTILINE)[1:]
    for row in rows:
        _, library, why, modules = row.split(" | ")
        assert why
        yield from (
            (path, re.split(r"[ ,]", library)[0]) for path in re.findall("`(.+?)`", modules)
        )


BY_HAND = dict(by_hand())
SAYS_SO = r"By hand (?:are .*?|instead of) (?:pygit2|python-frontmatter|PyYAML)|instead of pygit2's"


def told_in(path: str) -> str:
    """The docstring of a module, on one line."""
    docstring = ast.get_docstring(ast.parse((ROOT / path).read_text("utf-8")))
    return " ".join((docstring or "").split())


@pytest.mark.parametrize(("path", "library"), BY_HAND.items(), ids=list(BY_HAND))
def test_a_module_that_replaces_a_library_says_why(path: str, library: str) -> None:
    told = told_in(f"gitmem/{path}")

    assert library in {"pygit2", "python-frontmatter", "PyYAML"}
    assert re.search(SAYS_SO, told), path
    assert library in told


def test_every_module_that_says_so_is_in_the_table() -> None:
    told = {path.removeprefix("gitmem/") for path in MODULES if re.search(SAYS_SO, told_in(path))}

    assert told == set(BY_HAND)
