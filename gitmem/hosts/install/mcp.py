"""Our MCP server among those of a host: in `.mcp.json`, or as a block in Codex's `config.toml`."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from gitmem.core import jsontext
from gitmem.core.jsontext import wrong_kind
from gitmem.errors import Refused
from gitmem.hosts.install.hooks import Merged
from gitmem.hosts.install.places import Program

SERVERS = "mcpServers"
TABLE = "mcp_servers"
NAME = "gitmem"
BEGIN = "# gitmem:begin"
END = "# gitmem:end"
_BLOCK = rf"{BEGIN}\r?\n.*?{END}(?:\r?\n)?"
_FOREIGN = f"an MCP server {NAME!r} was there already: it was left as it is"


def server(program: Program) -> dict[str, Any]:
    """How a host starts our server."""
    first, *rest = program.call
    return {"command": first, "args": [*rest, "mcp"]}


def put_json(text: str, wanted: dict[str, Any], known: object) -> Merged:
    """A `.mcp.json` with our server; KNOWN is what we put there the last time."""
    text = "{}\n" if jsontext.is_blank(text) else text
    root = jsontext.read(text)
    if not isinstance(root, dict):
        raise wrong_kind(root, dict, ())
    if SERVERS not in root:
        text = jsontext.insert(text, (), SERVERS, {})
    servers = root.get(SERVERS, {})
    if not isinstance(servers, dict):
        raise wrong_kind(servers, dict, [SERVERS])
    if NAME not in servers:
        return Merged(jsontext.insert(text, [SERVERS], NAME, wanted))
    if servers[NAME] == wanted:
        return Merged(text)
    if servers[NAME] == known:
        return Merged(jsontext.replace(text, [SERVERS, NAME], wanted))
    return Merged(text, (_FOREIGN,))


def take_json(text: str, before: str, known: object) -> str:
    """The same without our server; one that somebody changed is theirs by now."""
    root = {} if jsontext.is_blank(text) else jsontext.read(text)
    servers = root.get(SERVERS) if isinstance(root, dict) else None
    if not isinstance(servers, dict) or NAME not in servers or servers[NAME] != known:
        return text
    text = jsontext.remove(text, [SERVERS, NAME])
    old = {} if jsontext.is_blank(before) else jsontext.read(before)
    return jsontext.remove(text, [SERVERS]) if len(servers) == 1 and SERVERS not in old else text


def put_toml(text: str, wanted: dict[str, Any]) -> Merged:
    """A `config.toml` with our server as the last table, between marks."""
    found = read_toml(re.sub(_BLOCK, "", text, flags=re.DOTALL))
    servers = found.get(TABLE)
    if isinstance(servers, dict) and NAME in servers:
        return Merged(text, (_FOREIGN,))
    # A TOML string can be written as a JSON string, and a list of them, too.
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in wanted.items()]
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join((BEGIN, f"[{TABLE}.{NAME}]", *lines, END, ""))
    if BEGIN in text:
        changed = re.sub(_BLOCK, lambda _: block, text, flags=re.DOTALL)
    else:
        gap = newline * (2 - text.endswith("\n")) if text else ""
        changed = f"{text}{gap}{block}"
    if read_toml(changed).get(TABLE, {}).get(NAME) != wanted:
        raise Refused("our server cannot be put there", hint="add it by hand; nothing was changed")
    return Merged(changed)


def take_toml(text: str) -> str:
    """The same without our block."""
    return re.sub(rf"(?:(?<=\n)\r?\n)?{_BLOCK}", "", text, flags=re.DOTALL)


def read_toml(text: str) -> dict[str, Any]:
    """What a `config.toml` says."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"it is no TOML: {error}", hint="mend it by hand; nothing changed") from error
