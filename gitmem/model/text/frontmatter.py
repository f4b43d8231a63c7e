"""Frontmatter, the YAML block at the head of a file: found, checked, read, changed key by key.

A block is never dumped anew: a change replaces the bytes of one value, by the positions of the YAML
parser, and every other byte stays.

python-frontmatter parses a block. By hand instead of python-frontmatter:

- finding the block. Its `split` gives no positions, takes `----` for a delimiter, so that a page
  between two such rules is lost, and overlooks a block behind a byte order mark or closed by
  `...`. In all other forms the two agree, which a test holds. Importing it for a file without any
  frontmatter would make a process start 1.6 times as slowly.
- writing. Its `dumps` sorts keys and drops comments, CRLF and the last newline: of 120 Markdown
  files with frontmatter that were at hand it changed 120.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gitmem.errors import FrontmatterRefused
from gitmem.model.record import Record

if TYPE_CHECKING:
    import yaml

MAX_BYTES = 8192
MAX_NESTING = 32
BOM = "\ufeff"

# Patterns are strings, so that importing this module compiles nothing; `re` keeps what it compiled.
_OPENING = r"\ufeff?---[ \t]*(\r?\n)"
_CLOSING = r"(?m)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)"
_BEFORE_VALUE = r"(?:\s|#[^\n]*\n)*:"
_AFTER_VALUE = r"[^\n]*(?:\n|\Z)"
_NO_YAML = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
_SHORT_ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
# A value on the line of its key and on indented lines below, or a block scalar.
_KEY_LINE = (
    r"(?m)^([A-Za-z][\w-]*):[ \t]+"
    r"(?:[|>][+-]?[ \t]*\r?\n((?:[ \t]+[^\n]*\n)+)|([^\s|>][^\n]*(?:\n[ \t]+[^\n]*)*)(?:\n|\Z))"
)
_STRING = "tag:yaml.org,2002:str"

_QUOTE = 'put the value in double quotes: key: "..."'
_NOT_MEANT = "if that `---` is a line across the page, put an empty line above it"


class Block(Record):
    """The frontmatter of a text: `raw` is `text[start:end]`, the body `text[body:]`."""

    raw: str
    start: int
    end: int
    body: int
    line: int
    newline: str


def split(text: str) -> Block | None:
    """Return the block between two `---` lines at the start of TEXT; None without both."""
    opening = re.match(_OPENING, text) if text.startswith(("---", BOM)) else None
    closing = re.compile(_CLOSING).search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return None
    start, end = opening.end(), closing.start()
    return Block(text[start:end], start, end, closing.end(), 2, opening[1])


def check(text: str) -> None:
    """Raise FrontmatterRefused if the block is too big, too deep, has aliases or is not YAML."""
    block = split(text)
    if block is not None:
        _loaded(block)


def read(text: str) -> dict[str, object]:
    """Return the frontmatter fields of TEXT; none without a block or with a broken one."""
    block = split(text)
    try:
        data = None if block is None else _loaded(block)
    except FrontmatterRefused:
        return {}
    return {str(key): value for key, value in data.items()} if isinstance(data, dict) else {}


def by_line(text: str) -> dict[str, object]:
    """Return the `key: value` lines of a block that is not valid YAML; nothing for a valid one.

    `summary: Stock: counted` is not YAML, but its meaning is clear. Other systems accept the line,
    so without this their pages would vanish from prompts.
    """
    block = split(text)
    if block is None or len(block.raw.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        return {}
    try:
        _loaded(block)
    except FrontmatterRefused:
        found = re.finditer(_KEY_LINE, block.raw)
        return {each[1]: " ".join((each[2] or each[3]).split()) for each in found}
    return {}


def set_field(text: str, key: str, value: str | Sequence[str]) -> str:
    """Return TEXT with KEY set to VALUE, a text or a list, and every other byte unchanged.

    Raises FrontmatterRefused if that is impossible.
    """
    text = _without_broken_line(text, key)
    block = split(text)
    if block is not None and (isinstance(_loaded(block), dict) or _is_empty(block.raw)):
        changed = text[: block.start] + _changed(block, key, value) + text[block.end :]
    else:
        changed = _with_new_block(text, key, value)
    check(changed)
    # Read back: no write is better than a wrong one.
    found, expected = read(changed).get(key), value if isinstance(value, str) else list(value)
    if found != expected and not (_is_day(str(expected)) and str(found) == expected):
        raise _refused(
            2,
            "not-settable",
            f"setting {key!r} would change the lines around it",
            "edit the file by hand, or write its frontmatter as `key: value` lines",
        )
    return changed


def _without_broken_line(text: str, key: str) -> str:
    """TEXT with an empty KEY, if the line of that key breaks the YAML."""
    block = split(text)
    if block is None or not isinstance(by_line(text).get(key), str):
        return text
    lines = [*re.finditer(rf"(?m)^{re.escape(key)}:", block.raw)]
    if len(lines) > 1:
        line = _line(block, lines[1].start())
        why = f"line {line} has the key {key!r} a second time"
        raise _refused(line, "not-settable", why, "edit the file by hand, so that one is left")
    mended = re.sub(rf"(?m)^({re.escape(key)}:)[ \t][^\r\n]*", r"\1", block.raw)
    return text[: block.start] + mended + text[block.end :]


def _is_empty(raw: str) -> bool:
    return all(line.lstrip()[:1] in ("", "#") for line in raw.split("\n"))


def _with_new_block(text: str, key: str, value: str | Sequence[str]) -> str:
    mark, body = (BOM, text[1:]) if text.startswith(BOM) else ("", text)
    first_line = body.partition("\n")[0]
    newline = "\r\n" if first_line.endswith("\r") and first_line != body else "\n"
    return f"{mark}---{newline}{_scalar(key)}: {_value(value)}{newline}---{newline}{body}"


def _changed(block: Block, key: str, value: str | Sequence[str]) -> str:
    """The raw block with KEY set: in place if it exists, else at the end."""
    raw, root = block.raw, _composed(block.raw)
    if root is None:
        return f"{raw}{_scalar(key)}: {_value(value)}{block.newline}"
    # YAML takes the last of duplicate keys, so that one is changed.
    for name, old in reversed(root.value):
        if name.tag == _STRING and name.value == key:
            return _with_value(raw, name, old, _value(value, quoted=bool(root.flow_style)))
    if root.flow_style:
        field = f"{_scalar(key, quoted=True)}: {_value(value, quoted=True)}"
        inside = _end(root) - 1
        comma = ", " if root.value and not _ends_with_comma(raw, root) else ""
        return raw[:inside] + comma + field + raw[inside:]
    indent = " " * root.start_mark.column
    return f"{raw}{indent}{_scalar(key)}: {_value(value)}{block.newline}"


def _ends_with_comma(raw: str, root: yaml.Node) -> bool:
    return "," in raw[_end(root.value[-1][1]) : _end(root)]


def _with_value(raw: str, name: yaml.Node, old: yaml.Node, new: str) -> str:
    start, end = old.start_mark.index, _end(old)
    if start == end or name.end_mark.line != old.start_mark.line:
        return _with_value_below(raw, name, old, new)
    # Blank lines at the end of a block scalar are separators: they stay.
    kept = len(raw[start:end].rstrip("\r\n "))
    return raw[:start] + new + raw[start + kept :]


def _with_value_below(raw: str, name: yaml.Node, old: yaml.Node, new: str) -> str:
    """Put NEW after the colon and remove the lines of a value that began further down.

    A comment in between stays.
    """
    colon = re.compile(_BEFORE_VALUE).match(raw, name.end_mark.index)
    at = colon.end() if colon else name.end_mark.index
    start, end = old.start_mark.index, _end(old)
    if start == end:
        return f"{raw[:at]} {new}{raw[at:]}"
    if raw.count("\n", at, start) == 0:
        return f"{raw[:at]} {new}{raw[start + len(raw[start:end].rstrip()) :]}"
    first = raw.rfind("\n", 0, start) + 1
    last = start + len(raw[start:end].rstrip())
    rest = re.compile(_AFTER_VALUE).match(raw, last)
    return f"{raw[:at]} {new}{raw[at:first]}{raw[rest.end() if rest else last :]}"


def _end(node: yaml.Node) -> int:
    """The end of NODE's own text; the mark of a block collection comes after later comments."""
    import yaml

    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return int(node.end_mark.index)


def _value(value: str | Sequence[str], quoted: bool = False) -> str:
    """VALUE as YAML on one line: a text, or a list of texts."""
    if isinstance(value, str):
        return _scalar(value, quoted)
    return f"[{', '.join(_scalar(each, quoted=True) for each in value)}]"


def _scalar(text: str, quoted: bool = False) -> str:
    """TEXT as YAML on one line: plain if that reads back as the same string or day."""
    if not quoted and _is_day(text):
        return text
    if not quoted and re.fullmatch(r"[^\W\d_][\w ./()+@-]*(?<! )", text) and _is_plain(text):
        return text
    return '"' + "".join(_escaped(char) for char in text) + '"'


def _is_day(text: str) -> bool:
    """Whether TEXT is a date, which frontmatter has without quotes."""
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    from datetime import date

    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


def _is_plain(text: str) -> bool:
    import yaml

    resolved = yaml.SafeLoader.yaml_implicit_resolvers.get(text[0], [])
    return text.isprintable() and not any(pattern.match(text) for _, pattern in resolved)


def _escaped(char: str) -> str:
    if char.isprintable():
        return f"\\{char}" if char in '"\\' else char
    if char in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[char]
    code = ord(char)
    return f"\\u{code:04X}" if code < 1 << 16 else f"\\U{code:08X}"


def _composed(raw: str) -> yaml.MappingNode | None:
    """The block as nodes with positions; None for comments alone."""
    import yaml
    from frontmatter.default_handlers import SafeLoader

    root = yaml.compose(raw, Loader=SafeLoader)
    return root if isinstance(root, yaml.MappingNode) else None


def _loaded(block: Block) -> object:
    """The value of the block, or FrontmatterRefused with the line in the file."""
    import yaml
    from frontmatter.default_handlers import YAMLHandler

    size = len(block.raw.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        why = f"{size} bytes; at most {MAX_BYTES} are allowed"
        raise _refused(block.line, "too-big", why, f"move long text into the body; {_NOT_MEANT}")
    try:
        _refuse_aliases(block)
        data = YAMLHandler().load(block.raw)
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(block, error) from error
    # Characters outside of YAML, and values that a constructor rejects.
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError) as error:
        raise _not_a_value(block) from error
    except RecursionError as error:
        raise _too_deep(block) from error
    if not _is_shallow(data):
        raise _too_deep(block)
    return data


def _refuse_aliases(block: Block) -> None:
    """Refuse aliases, which can expand to gigabytes; only the parser tells a real one."""
    if "&" not in block.raw and "*" not in block.raw:
        return
    import yaml
    from frontmatter.default_handlers import SafeLoader

    for event in yaml.parse(block.raw, Loader=SafeLoader):
        if getattr(event, "anchor", None):
            mark = event.start_mark
            line = _line(block, mark.index if mark else 0)
            why = f"line {line} uses a YAML anchor or alias (& or *)"
            raise _refused(line, "alias", why, f"{_QUOTE}, or write the value out; {_NOT_MEANT}")


def _is_shallow(data: object) -> bool:
    level = [data]
    for _ in range(MAX_NESTING):
        level = [child for value in level for child in _children(value)]
        if not level:
            return True
    return False


def _children(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple | set) else ()


def _not_yaml(block: Block, error: yaml.MarkedYAMLError) -> FrontmatterRefused:
    at = error.problem_mark.index if error.problem_mark else 0
    # An unclosed value is noticed at the end of the block; its start is more useful.
    if at >= len(block.raw.rstrip()) and error.context_mark:
        at = error.context_mark.index
    line = _line(block, at)
    problem = error.problem or "unreadable"
    tab = "tab" in problem or "\t" in block.raw.split("\n")[line - block.line]
    hint = "indent with spaces instead of tabs" if tab else _QUOTE
    why = f"line {line} is not valid YAML: {problem}"
    return _refused(line, "not-yaml", why, f"{hint}; {_NOT_MEANT}")


def _line(block: Block, at: int) -> int:
    """The line in the file; YAML counts more characters than \\n as line endings."""
    return block.line + block.raw.count("\n", 0, at)


def _not_a_value(block: Block) -> FrontmatterRefused:
    bad = re.search(_NO_YAML, block.raw)
    at = bad.start() if bad else _unmade(block.raw)
    line = _line(block, at)
    if bad:
        why = f"line {line} has a character that YAML does not allow"
        return _refused(line, "not-yaml", why, "leave control characters out")
    return _refused(line, "not-yaml", f"line {line} has an invalid value", _QUOTE)


def _unmade(raw: str) -> int:
    """The position of the first value that looks like a date or number but is invalid."""
    import yaml
    from frontmatter.default_handlers import SafeLoader

    nodes: list[Any] = [yaml.compose(raw, Loader=SafeLoader)]
    while nodes:
        node = nodes.pop(0)
        if isinstance(node, tuple | yaml.CollectionNode):
            nodes[:0] = node if isinstance(node, tuple) else node.value
            continue
        try:
            SafeLoader("").construct_object(node)
        except (ValueError, LookupError, AttributeError, TypeError):
            return int(node.start_mark.index)
    return 0


def _too_deep(block: Block) -> FrontmatterRefused:
    why = f"nested more than {MAX_NESTING} levels deep"
    return _refused(block.line, "too-deep", why, "use flat `key: value` lines")


def _refused(line: int, rule: str, why: str, hint: str) -> FrontmatterRefused:
    return FrontmatterRefused(f"frontmatter refused: {why}", hint=hint, line=line, rule=rule)
