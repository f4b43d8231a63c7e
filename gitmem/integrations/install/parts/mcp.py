"""Our MCP server among those of a host: in `.mcp.json`, or as a block in Codex's `config.toml`.

In TOML only the lines that we wrote are ours, not whatever stands between our marks: Codex and
people add tables at the end of the file, and that is there.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from gitmem.errors import Refused
from gitmem.integrations.hosts.table import CLAUDE, CODEX, HOSTS
from gitmem.integrations.install.locations import Program
from gitmem.integrations.install.parts.hooks import Merged
from gitmem.model.text import json_edit
from gitmem.model.text.json_edit import wrong_kind

SERVERS = HOSTS[CLAUDE].servers
TABLE = HOSTS[CODEX].servers
NAME = "gitmem"
BEGIN = "# gitmem:begin"
END = "# gitmem:end"
_HEAD = rf"\[{TABLE}\.{NAME}\]\r?\n(?:(?:command|args) = [^\n]*\n)+"
_BLOCK = re.compile(
    rf"(?P<gap>(?<=\n)\r?\n)?^{BEGIN}\r?\n(?P<head>{_HEAD})(?P<rest>.*?)^{END}(?:\r?\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
_FOREIGN = f"an MCP server {NAME!r} was there already: it was left as it is"


def server(program: Program) -> dict[str, Any]:
    """How a host starts our server."""
    first, *rest = program.call
    return {"command": first, "args": [*rest, "mcp"]}


def put_json(text: str, wanted: dict[str, Any], known: object) -> Merged:
    """A `.mcp.json` with our server; KNOWN is what we put there the last time."""
    text = "{}\n" if json_edit.is_blank(text) else text
    root = json_edit.read(text)
    if not isinstance(root, dict):
        raise wrong_kind(root, dict, ())
    if SERVERS not in root:
        text = json_edit.insert(text, (), SERVERS, {})
    servers = root.get(SERVERS, {})
    if not isinstance(servers, dict):
        raise wrong_kind(servers, dict, [SERVERS])
    if NAME not in servers:
        return Merged(json_edit.insert(text, [SERVERS], NAME, wanted))
    if servers[NAME] == wanted:
        return Merged(text)
    if servers[NAME] == known:
        return Merged(json_edit.replace(text, [SERVERS, NAME], wanted))
    return Merged(text, (_FOREIGN,))


def take_json(text: str, before: str, known: object) -> str:
    """The same without our server; one that somebody changed is theirs by now."""
    root = {} if json_edit.is_blank(text) else json_edit.read(text)
    servers = root.get(SERVERS) if isinstance(root, dict) else None
    if not isinstance(servers, dict) or NAME not in servers or servers[NAME] != known:
        return text
    text = json_edit.remove(text, [SERVERS, NAME])
    old = {} if json_edit.is_blank(before) else json_edit.read(before)
    return json_edit.remove(text, [SERVERS]) if len(servers) == 1 and SERVERS not in old else text


def put_toml(text: str, wanted: dict[str, Any], known: object) -> Merged:
    """A `config.toml` with our server between marks; KNOWN is what we put there the last time."""
    servers = read_toml(text).get(TABLE, {})
    if not isinstance(servers, dict):
        raise Refused(f"{TABLE} is no table", hint="mend it by hand; nothing was changed")
    found, newline = _BLOCK.search(text), "\r\n" if "\r\n" in text else "\n"
    # A TOML string can be written as a JSON string, and a list of them, too.
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in wanted.items()]
    head = newline.join((f"[{TABLE}.{NAME}]", *lines, ""))
    if NAME not in servers:
        gap = newline * (2 - text.endswith("\n")) if text else ""
        return _agreed(f"{text}{gap}{BEGIN}{newline}{head}{END}{newline}", servers, wanted)
    if servers[NAME] == {**servers[NAME], **wanted}:
        return Merged(text)
    if not found or not _is_as_put(found, servers[NAME], known):
        return Merged(text, (_FOREIGN,))
    changed = text[: found.start("head")] + head + text[found.end("head") :]
    return _agreed(changed, servers, {**servers[NAME], **wanted})


def _agreed(changed: str, servers: dict[str, Any], wanted: dict[str, Any]) -> Merged:
    """The changed text, if it says what it should and of every other server what it said."""
    if read_toml(changed).get(TABLE) != {**servers, NAME: wanted}:
        raise Refused("our server cannot be put there", hint="add it by hand; nothing was changed")
    return Merged(changed)


def _server(head: str) -> dict[str, Any]:
    """What our lines say; nothing where they are no longer whole."""
    try:
        found: dict[str, Any] = tomllib.loads(head)[TABLE][NAME]
    except tomllib.TOMLDecodeError:
        return {}
    return found


def _is_as_put(found: re.Match[str], there: dict[str, Any], known: object) -> bool:
    """Whether our lines are as we wrote them; without a record, whether they are what counts."""
    ours = _server(found["head"])
    return bool(ours) and known in (None, ours) and there == {**there, **ours}


def take_toml(text: str, known: object) -> str:
    """The same without our lines; a server that somebody changed is theirs by now."""
    said = read_toml(text) if _BLOCK.search(text) else {}
    servers = said.get(TABLE)
    if not isinstance(servers, dict) or known not in (None, servers.get(NAME)):
        return text
    others = {name: each for name, each in servers.items() if name != NAME}
    for found in _BLOCK.finditer(text):
        left = text[: found.start()] + _left_of(found) + text[found.end() :]
        is_ours = _server(found["head"]) == servers.get(NAME)
        if is_ours and {TABLE: {}, **read_toml(left)} == {**said, TABLE: others}:
            return left
    return text  # in a text of several lines, say, our marks are no marks


def _left_of(found: re.Match[str]) -> str:
    """What others put between our marks, with the empty line before them."""
    return f"{found['gap'] or ''}{found['rest']}" if found["rest"].strip() else ""


def read_toml(text: str) -> dict[str, Any]:
    """What a `config.toml` says."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"it is no TOML: {error}", hint="mend it by hand; nothing changed") from error
