"""Our MCP server among those of a host: in a JSON file, or as a block in Codex's `config.toml`.

In TOML only the lines that gitmem wrote are ours, not all lines between our markers: Codex and
people add tables at the end of the file, which may be inside.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from gitmem.errors import Refused
from gitmem.integrations.hosts.program import Program
from gitmem.integrations.hosts.table import CLAUDE, CODEX, HOSTS
from gitmem.integrations.install.host_files import BY_HAND, read_json, read_toml, table_in
from gitmem.integrations.install.part import FilePart, PartAdded, ended_as
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
_FOREIGN = f"the MCP server {NAME!r} there is not gitmem's own configuration: it stays"


def server(program: Program) -> dict[str, Any]:
    """The command with which a host starts our server."""
    first, *rest = program.call
    return {"command": first, "args": [*rest, "mcp"]}


def mcp_part(path: Path, settings: dict[str, Any] | None, known: object) -> FilePart:
    """Our server in the file at PATH: SETTINGS, or none; KNOWN is that of the last installation."""
    is_json = path.suffix == ".json"

    def take(text: str, before: str, _: str = "") -> str:
        if is_json:
            return _take_json(text, before, known)
        return ended_as(_take_toml(text, known), before)

    def put(text: str) -> PartAdded:
        if settings is None:
            return PartAdded(take(text, ""))
        return (_put_json if is_json else _put_toml)(text, settings, known)

    return FilePart(path, put, take)


def _put_json(text: str, settings: dict[str, Any], known: object) -> PartAdded:
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
        return PartAdded(json_edit.insert(text, [SERVERS], NAME, settings))
    if servers[NAME] == settings:
        return PartAdded(text)
    if servers[NAME] == known:
        return PartAdded(json_edit.replace(text, [SERVERS, NAME], settings))
    return PartAdded(text, (_FOREIGN,))


def _take_json(text: str, before: str, known: object) -> str:
    """TEXT without our server; one that the user changed stays."""
    servers = table_in(read_json(text), SERVERS)
    if NAME not in servers or servers[NAME] != known:
        return text
    text = json_edit.remove(text, [SERVERS, NAME])
    is_empty = len(servers) == 1 and SERVERS not in read_json(before)
    return json_edit.remove(text, [SERVERS]) if is_empty else text


def _put_toml(text: str, settings: dict[str, Any], known: object) -> PartAdded:
    servers = read_toml(text).get(TABLE, {})
    if not isinstance(servers, dict):
        raise Refused(f"{TABLE} is not a table", hint=BY_HAND)
    found, newline = _BLOCK.search(text), "\r\n" if "\r\n" in text else "\n"
    # A TOML string can be written as a JSON string, and a list of them, too.
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in settings.items()]
    head = newline.join((f"[{TABLE}.{NAME}]", *lines, ""))
    if NAME not in servers:
        gap = newline * (2 - text.endswith("\n")) if text else ""
        return _agreed(f"{text}{gap}{BEGIN}{newline}{head}{END}{newline}", servers, settings)
    if servers[NAME] == {**servers[NAME], **settings}:
        return PartAdded(text)
    if not found or not _is_as_put(found, servers[NAME], known):
        return PartAdded(text, (_FOREIGN,))
    changed = text[: found.start("head")] + head + text[found.end("head") :]
    return _agreed(changed, servers, {**servers[NAME], **settings})


def _agreed(changed: str, servers: dict[str, Any], settings: dict[str, Any]) -> PartAdded:
    """The changed text; Refused if it does not have SETTINGS and every other server as before."""
    if read_toml(changed).get(TABLE) != {**servers, NAME: settings}:
        raise Refused(
            "no way to add the server there", hint="add it by hand; gitmem changed nothing"
        )
    return PartAdded(changed)


def _server(head: str) -> dict[str, Any]:
    """The server that our lines configure; empty where they are incomplete."""
    try:
        found: dict[str, Any] = tomllib.loads(head)[TABLE][NAME]
    except tomllib.TOMLDecodeError:
        return {}
    return found


def _is_as_put(found: re.Match[str], there: dict[str, Any], known: object) -> bool:
    """Whether our lines are as gitmem wrote them; without a record, whether they are in force."""
    ours = _server(found["head"])
    return bool(ours) and known in (None, ours) and there == {**there, **ours}


def _take_toml(text: str, known: object) -> str:
    """TEXT without our lines; a server that the user changed stays."""
    tables = read_toml(text) if _BLOCK.search(text) else {}
    servers = tables.get(TABLE)
    if not isinstance(servers, dict) or known not in (None, servers.get(NAME)):
        return text
    others = {name: each for name, each in servers.items() if name != NAME}
    for found in _BLOCK.finditer(text):
        left = text[: found.start()] + _left_of(found) + text[found.end() :]
        is_ours = _server(found["head"]) == servers.get(NAME)
        if is_ours and {TABLE: {}, **read_toml(left)} == {**tables, TABLE: others}:
            return left
    return text  # inside a multi-line string, say, our markers mean nothing


def _left_of(found: re.Match[str]) -> str:
    """What others added between our markers, with the empty line before them."""
    return f"{found['gap'] or ''}{found['rest']}" if found["rest"].strip() else ""
