"""Print a logged request: `python show.py LOG [N ...] [--full] [--system] [--grep WORD]`

Without N the last request with a conversation. Long blocks are cut unless --full.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CONVERSATION = {"messages", "input", "contents"}
HIDDEN = ("system", "instructions")

Body = dict[str, Any]


def blocks(body: Body) -> Iterator[tuple[str, str]]:
    """Each block of a request, with its role."""
    yield from _texts("system", body.get("system"))
    yield from _texts("instructions", body.get("instructions"))
    yield from _texts("system", (body.get("systemInstruction") or {}).get("parts"))
    for each in (*body.get("messages", ()), *body.get("input", ()), *body.get("contents", ())):
        role = each.get("role") or each.get("type", "?")
        yield from _texts(role, each.get("content") or each.get("parts") or [each])


def _texts(role: str, content: Any) -> Iterator[tuple[str, str]]:
    if isinstance(content, str):
        yield role, content
        return
    for each in content or []:
        kind = f"{role}/{each['type']}" if "type" in each else role
        yield kind, each.get("text") or json.dumps(each, ensure_ascii=False)


def tools(body: Body) -> Iterator[str]:
    """The names of the tools that a request offers."""
    for each in body.get("tools") or []:
        inner = each.get("functionDeclarations") or each.get("tools")
        names = [tool["name"] for tool in inner or [each.get("function") or each] if "name" in tool]
        space = f"{each['name']}/" if each.get("type") == "namespace" else ""
        yield from (space + name for name in names or [each.get("type", "?")])


def show(path: Path, args: argparse.Namespace) -> None:
    entry = json.loads(path.read_text())
    body = entry["body"] or {}
    print(f"=== {path.name} {entry['method']} {entry['path']} model={body.get('model')}")
    print("tools:", ", ".join(tools(body)))
    for role, text in blocks(body):
        if (role.startswith(HIDDEN) and not args.system) or args.grep not in text:
            continue
        cut = text if args.full or len(text) <= args.cut else f"{text[: args.cut]} ..."
        print(f"--- {role} ({len(text)})\n{cut}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=Path)
    parser.add_argument("numbers", nargs="*", type=int)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--system", action="store_true", help="show the system prompt, too")
    parser.add_argument("--grep", default="")
    parser.add_argument("--cut", type=int, default=300)
    args = parser.parse_args()
    paths = [args.log / f"{each:04}.json" for each in args.numbers]
    every = sorted(args.log.glob("[0-9]*.json"))
    for path in paths or [each for each in every if _is_conversation(each)][-1:]:
        show(path, args)


def _is_conversation(path: Path) -> bool:
    return bool((json.loads(path.read_text())["body"] or {}).keys() & CONVERSATION)


if __name__ == "__main__":
    main()
