"""Writes `handshake.json`: what the SDK answers to the requests that hosts begin with.

`python -m gitmem.integrations.mcp.generate` does it; `make handshake` calls that.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from gitmem.integrations.mcp.groups import Endpoint, OpenGroups
from gitmem.integrations.mcp.serve import (
    CAPABILITIES,
    CLIENT,
    FILE,
    HANDSHAKE,
    INITIALIZE,
    MODERN,
    VERSION,
    talk,
)
from gitmem.memory.group import Store

GROUP = "{group}"
"""Where the name of the group goes, in the instructions."""
SOMEBODY = {"name": "generate", "version": "1"}

Json = dict[str, Any]


def handshake() -> bytes:
    """The file, as the SDK that is installed would have it."""
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

    found: dict[str, dict[str, Json]] = {each: {} for each in (INITIALIZE, *HANDSHAKE, *MODERN)}
    for version in HANDSHAKE_PROTOCOL_VERSIONS:
        for method, result in _answers_to([_greeting(version), *map(_bare, HANDSHAKE)]).items():
            found[method][version] = result
    for version in MODERN_PROTOCOL_VERSIONS:
        for method, result in _answers_to([_enveloped(each, version) for each in MODERN]).items():
            found[method][version] = result
    answers = {method: _by_result(results) for method, results in found.items()}
    return (json.dumps({"answers": answers}, indent=1, ensure_ascii=False) + "\n").encode()


def _greeting(version: str) -> Json:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": SOMEBODY}
    return {"method": INITIALIZE, "params": params}


def _bare(method: str) -> Json:
    return {"method": method}


def _enveloped(method: str, version: str) -> Json:
    meta = {VERSION: version, CAPABILITIES: {}, CLIENT: SOMEBODY}
    return {"method": method, "params": {"_meta": meta}}


def _by_result(results: dict[str, Json]) -> list[Json]:
    """Each result once, with the versions of the protocol in which it is the same."""
    rows: list[Json] = []
    for version, result in results.items():
        alike = [each for each in rows if json.dumps(each["result"]) == json.dumps(result)]
        if alike:
            alike[0]["versions"].append(version)
        else:
            rows.append({"versions": [version], "result": result})
    return rows


def _answers_to(requests: list[Json]) -> dict[str, Json]:
    """What a server with nothing but the SDK answers, by method."""
    lines = [json.dumps({"jsonrpc": "2.0", "id": each["method"], **each}) for each in requests]
    with TemporaryDirectory() as nothing:
        endpoint = Endpoint(OpenGroups(), Store(Path(nothing)), GROUP, GROUP)
        output = exchange(endpoint, "\n".join(lines).encode(), from_file=False)
    answers = map(json.loads, output.splitlines())
    return {each["id"]: each["result"] for each in answers}


def exchange(endpoint: Endpoint, lines: bytes, *, from_file: bool) -> bytes:
    """All that a server at DESK answers to LINES."""
    with TemporaryFile() as source, TemporaryFile() as target:
        source.write(lines)
        source.seek(0)
        asyncio.run(talk(endpoint, source.fileno(), target.fileno(), from_file=from_file))
        target.seek(0)
        return target.read()


def write() -> None:
    """Generate the file anew."""
    FILE.write_bytes(handshake())


if __name__ == "__main__":
    write()
