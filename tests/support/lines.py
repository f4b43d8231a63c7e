"""Random histories of text, and what the real git says about each line of them."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.support.git import git_bytes
from tests.support.histories import Drawn

# Few and repeated, so that a diff has many ways to go; some differ in white space alone.
WORDS = (
    *("", "", "- **Status:** active", "- **Status:** paused", "- **Status:**  active", "### One"),
    *(
        "### Two",
        "some text",
        "some  text",
        "\tsome text",
        "other text",
        "  - nested",
        "}",
        "{",
        "some\ftext",
        "\v",
    ),
)
PATHS = ("a.md", "b.md", "deep/c.md")


def blamed(repository: Path, path: str, revision: str = "main") -> list[str]:
    """The commit of each line, as `git blame -w` has it."""
    printed = git_bytes(repository, "blame", "-w", "--line-porcelain", revision, "--", path)
    rows, lines = [], iter(printed.split(b"\n"))
    for line in lines:
        if line:
            rows.append(line.split(b" ", 1)[0].decode())
            for head in lines:
                if head.startswith(b"\t"):
                    break
    return rows


def random_history(
    random: Random, commits: int, *, long_lines: bool = False, moves: bool = True
) -> list[Drawn]:
    """Edits, insertions, deletions, moves and merges of a few files.

    Until 2.44 git overlooked a last line without a newline when it measured how alike two files
    are. So where files are moved, each of them ends with one.
    """
    drawn = [Drawn(1_600_000_000, (), {path: _text(random, long_lines) + "\n" for path in PATHS})]
    heads = [1]
    for number in range(2, commits + 2):
        parents = _parents(random, heads)
        files = dict(drawn[parents[0] - 1].files)
        for other in parents[1:]:
            _mix(random, files, drawn[other - 1].files)
        for _ in range(random.randint(0 if len(parents) > 1 else 1, 2)):
            _change(random, files, long_lines, moves)
        if moves:
            files = {path: text.rstrip("\n") + "\n" for path, text in files.items()}
        drawn.append(Drawn(1_600_000_000 + 60 * number, parents, files))
        heads = [each for each in heads if each not in parents] + [number]
        if random.random() < 0.2:
            heads.append(random.randint(1, number))
    return drawn


def _parents(random: Random, heads: list[int]) -> tuple[int, ...]:
    first = heads[-1] if random.random() < 0.7 else random.choice(heads)
    others = [each for each in dict.fromkeys(heads) if each != first]
    if others and random.random() < 0.3:
        return first, *random.sample(others, min(len(others), random.choice((1, 1, 1, 2))))
    return (first,)


def _mix(random: Random, files: dict[str, str], other: dict[str, str] | object) -> None:
    assert isinstance(other, dict)
    for path in {*files, *other}:
        kind = random.random()
        if path in other and (kind < 0.3 or path not in files):
            files[path] = other[path]
        elif path in other and kind < 0.6:
            ours, theirs = files[path].split("\n"), other[path].split("\n")
            cut = random.randint(0, min(len(ours), len(theirs)))
            files[path] = "\n".join(ours[:cut] + theirs[cut:])


def _change(random: Random, files: dict[str, str], long_lines: bool, moves: bool) -> None:
    if not files or random.random() < 0.03:
        files[random.choice(PATHS)] = _text(random, long_lines)
        return
    path = random.choice(sorted(files))
    kind = random.random()
    if kind < 0.08 and len(files) > 1:
        del files[path]
    elif kind < 0.2 and moves:
        files[f"moved/{random.randint(1, 4)}-{path.replace('/', '-')[-20:]}"] = files.pop(path)
    elif kind < 0.25:
        files[path] = files[path].replace("\n", "\r\n" if "\r" not in files[path] else "\n")
    else:
        files[path] = _edited(random, files[path], long_lines)


def _edited(random: Random, text: str, long_lines: bool) -> str:
    lines = text.split("\n")
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        at = random.randint(0, len(lines))
        kind = random.random()
        if kind < 0.4:
            lines[at:at] = [_line(random, long_lines) for _ in range(random.randint(1, 4))]
        elif kind < 0.65:
            del lines[at : at + random.randint(1, 3)]
        elif kind < 0.75 and lines:
            start = random.randint(0, len(lines) - 1)
            block = lines[start : start + 3]
            del lines[start : start + 3]
            lines[at:at] = block
        elif lines:
            lines[min(at, len(lines) - 1)] = _line(random, long_lines)
    return "\n".join(lines)


def _text(random: Random, long_lines: bool) -> str:
    ending = random.choice(("\n", "\n", ""))
    count = random.randint(0, 60 if long_lines else 14)
    return "\n".join(_line(random, long_lines) for _ in range(count)) + ending


def _line(random: Random, long_lines: bool) -> str:
    word = random.choice(WORDS)
    # Long enough together for git to cut off a common tail, which it does by the kilobyte.
    return f"{word} {random.randint(0, 3) * 'tail of it '}" if long_lines and word else word
