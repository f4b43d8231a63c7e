"""The files that a shell command writes to, as far as its text tells.

A name is resolved from the folder in which the command runs, through each `cd`. A target that
cannot be resolved (a variable, a pattern, a program that does not name its files) is unsure and
never counts as a write to a file with the same name. So is a command under a condition: after `||`
or `&&`, in a branch, a loop or a function.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<blank>(?:[ \t\r]|\\\n)++|\#[^\n]*+)
    |(?P<redirect>&>>?|[0-9]*+(?:<<<|<<-?|<>|<&|>&|>\||>>|>|<))
    |(?P<operator>\n|&&|\|\||\|&|;;|[;&|()])
    |(?P<word>(?:\\.|'[^']*+'|"(?:\\.|[^"\\])*+"|[^\s\\'"<>|;&()])++)""",
    re.VERBOSE | re.DOTALL,
)
_QUOTED = re.compile(r"""\\(.)|'([^']*+)'|"((?:\\.|[^"\\])*+)"|([^\\'"]++)""", re.DOTALL)
_HEREDOC = re.compile(r"[0-9]*<<-?")
LONGEST = 100_000
"""Characters of a command that is parsed; what a longer one writes to is unsure."""
DEEPEST = 3
"""Nested shells that are parsed."""
_ASSIGNED = re.compile(r"[A-Za-z_]\w*\+?=")
_WRITES_IN_SED = re.compile(r"(?:\A|[^a-zA-Z])[wWe]\s|/[a-z0-9]*w\s")
_KEYWORDS = frozenset(("if", "then", "else", "elif", "do", "while", "until", "!", "{", "time"))
_NESTING = {
    **dict.fromkeys(("if", "while", "until", "for", "case", "select", "{"), 1),
    **dict.fromkeys(("fi", "done", "esac", "}"), -1),
}
_PIPES = ("|", "|&")
_JOINTS = ("&&", "||", *_PIPES)
_ENDING = frozenset(("exit", "return", "exec", "set", "trap"))
"""Commands after which the rest may not run."""
_PREFIXES = frozenset(("sudo", "command", "builtin", "exec", "nohup", "setsid"))
_LINGERING = frozenset(("nohup", "setsid", "tmux", "screen", "at", "batch", "disown", "coproc"))
_SHELLS = frozenset(("bash", "sh", "zsh", "dash"))
_FOLDERS = ("", "/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
_NAMING = frozenset(("tee", "touch", "truncate", "unlink", "shred"))
"""Programs that write to each of their files and to nothing else."""
_REMOVING = frozenset(("rm", "rmdir"))
_COPYING = frozenset(("cp", "ln", "install", "rsync"))
_HARMLESS = frozenset(
    (
        *("echo", "printf", "cat", "ls", "grep", "egrep", "fgrep", "rg", "head", "tail", "wc"),
        *("cut", "tr", "sleep", "true", "false", "test", "[", "[[", "pwd", "date", "stat", "file"),
        *("cmp", "basename", "dirname", "realpath", "readlink", "which", "type", "export", "set"),
        *("unset", "read", "exit", "return", "wait", "jobs", "mkdir", "id", "whoami", "uname"),
        *("ps", "kill", "seq", "nl", "tac", "rev", "jq", "du", "df", "md5sum", "sha1sum"),
        *("sha256sum", ":", "break", "continue", "local", "shift", "umask", "for", "fi", "done"),
        *("}", "]]", "gitmem"),  # what gitmem writes is committed when it ends
    )
)
"""Programs that write to no file except by redirection."""


class Word(NamedTuple):
    text: str
    plain: bool
    """Whether it is literal: the shell expands nothing in it."""


def tokens_of(text: str) -> Iterator[tuple[str, str]]:
    """The words and operators of TEXT, each with its kind, in linear time.

    A `target` is a word that output goes to; `hidden` stands for what cannot be parsed.
    """
    at, redirect = 0, ""
    ends: list[str] = []  # of the texts that begin behind this line
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:  # a quote without end
            yield "hidden", ""
            return
        at, kind, value = found.end(), str(found.lastgroup), found[0]
        if kind == "blank":
            continue
        if kind == "word" and _HEREDOC.fullmatch(redirect):
            ends.append(value)
        elif kind == "word":
            yield from _redirected(redirect, value)
        elif kind == "operator":
            yield from _operated(redirect, value)
        redirect = value if kind == "redirect" else ""
        while value == "\n" and ends:
            body, at = _behind(text, at, ends.pop(0))
            yield from body


def _operated(redirect: str, value: str) -> Iterator[tuple[str, str]]:
    if redirect:
        yield "hidden", ""  # `>(program)`
    yield "operator", value


def _redirected(redirect: str, value: str) -> Iterator[tuple[str, str]]:
    if not redirect:
        yield "word", value
    elif ">" in redirect and not (redirect.endswith("&") and re.fullmatch(r"\d+|-", value)):
        yield "target", value
    if redirect and runs_inside(value):
        yield "hidden", ""


def _behind(text: str, at: int, end: str) -> tuple[list[tuple[str, str]], int]:
    """The tokens of a here-document that ends with the line END, and the offset after it."""
    name = word_of(end).text
    found = re.compile(rf"^\t*{re.escape(name)}$", re.MULTILINE).search(text, at)
    body = text[at : found.start() if found else len(text)]
    is_hiding = name == end and runs_inside(body)  # without quotes the shell looks into it
    return [("hidden", "")] if is_hiding else [], found.end() if found else len(text)


def runs_inside(text: str) -> bool:
    """Whether TEXT may contain a command substitution."""
    return "$(" in text or "`" in text


def word_of(raw: str) -> Word:
    """RAW without quotes."""
    if raw.startswith("~") and (raw == "~" or raw.startswith("~/")):
        inner = word_of(raw[1:])
        return inner._replace(text=os.path.expanduser("~") + inner.text)
    plain, parts = not raw.startswith("~"), []
    for escaped, single, double, bare in _QUOTED.findall(raw):
        plain &= not re.search(r"[$`]", re.sub(r"\\.", "", double, flags=re.DOTALL))
        plain &= not re.search(r"[$`*?\[{]", bare)
        parts.append(single or bare or escaped or re.sub(r'\\([$`"\\\n])', r"\1", double))
    return Word("".join(parts), plain)


class Writes(NamedTuple):
    """The targets of a command, by real paths."""

    files: frozenset[str] = frozenset()
    trees: frozenset[str] = frozenset()
    """Folders that it removes or moves with their content."""
    perhaps: frozenset[str] = frozenset()
    """Conditional targets, folders that it copies into, and names of files whose folder is
    unknown."""
    opaque: bool = False
    """Whether it may write to any other file, too."""
    lingers: bool = False
    """Whether a part of it may run on after its end."""

    def surely(self, path: str) -> bool:
        """Whether it names the real PATH as a target."""
        return path in self.files or any(each in self.trees for each in _above(path))

    def names(self, path: str) -> bool:
        """Whether a target that it names may be PATH."""
        is_perhaps = os.path.basename(path) in self.perhaps
        return is_perhaps or self.surely(path) or any(each in self.perhaps for each in _above(path))

    def maybe(self, path: str) -> bool:
        """Whether it may write to PATH."""
        return self.opaque or self.names(path)


def _above(path: str) -> Iterator[str]:
    while path not in ("", "/"):
        yield path
        path = os.path.dirname(path)


@lru_cache(maxsize=4096)
def writes_of(command: str, folder: str | None) -> Writes:
    """What COMMAND writes to when it runs in FOLDER, which is None where it is unknown."""
    if len(command) > LONGEST:
        return Writes(opaque=True)
    reading = _ShellReader(folder)
    reading.read(command, 0)
    return Writes(
        frozenset(reading.files),
        frozenset(reading.trees),
        frozenset(reading.perhaps),
        reading.opaque,
        reading.lingers,
    )


class _CommandList:
    """A list of joined commands, as far as it is parsed."""

    operator = joint = ""
    """The last operator, and again if it joins two commands."""
    unsure = gone = False
    """Whether one of the commands may have changed the folder, or has."""
    kept: str | None = None
    """The folder after the list, while a part is parsed that runs elsewhere."""


class _ShellReader:
    """Parses one command from beginning to end."""

    def __init__(self, folder: str | None) -> None:
        self.files: set[str] = set()
        self.trees: set[str] = set()
        self.perhaps: set[str] = set()
        self.opaque = self.lingers = False
        self._folder = folder
        self._depth = self._nested = 0
        self._runs = True  # the command that is read now, as far as its list tells
        self._may_end = False  # before the rest of the text is reached

    def read(self, text: str, depth: int) -> None:
        self._depth = depth
        around = self._runs
        outer: list[tuple[str | None, bool]] = []  # the folder and the certainty around each `(`
        words: list[Word] = []
        line = _CommandList()
        for kind, value in tokens_of(text):
            if kind == "word":
                words.append(word_of(value))
            elif kind == "target":
                self._target(word_of(value))
            elif kind == "hidden":
                self.opaque = True
            elif value == "\n" and not words and line.joint:
                continue  # the list goes on behind the end of the line
            else:
                self._may_end |= value == ")" and line.operator == "("  # a function, run or not
                changed = self._simple(words)
                words = []
                self._join(line, value, changed, around)
                if value == "(":
                    outer.append((self._folder, around))
                    around = self._runs
                elif value == ")" and outer:
                    self._runs = around
                    self._folder, around = outer.pop()
        self._simple(words)

    def _join(self, line: _CommandList, value: str, changed: bool, around: bool) -> None:
        """Continue after the operator VALUE; CHANGED: the command before it changed the folder."""
        # Only a part of a list, of a branch or of a pipe: whether it ran is unknown.
        in_pipe = line.joint in _PIPES or value in _PIPES
        line.unsure |= changed and (line.joint != "" or in_pipe or value == "&")
        line.gone |= changed
        if value == "||" and line.gone and not line.unsure:
            line.kept, self._folder = self._folder, None  # what follows runs where `cd` has failed
        elif line.unsure and (value != "&&" or in_pipe):
            self._folder = None
        if value == "&&":
            self._runs &= changed and self._folder is not None and not in_pipe
        elif value == "||":
            self._runs = False
        elif value not in (*_PIPES, "(", ")"):
            self._runs = around
        self.lingers |= value == "&"
        line.operator, line.joint = value, value if value in _JOINTS else ""
        if not line.joint:
            if line.kept and not line.unsure:
                self._folder = line.kept
            line.unsure, line.gone, line.kept = False, False, None

    def _simple(self, words: list[Word]) -> bool:
        """Parse one simple command; return whether it changes the folder for the next ones."""
        while words and (words[0].text in _KEYWORDS or _ASSIGNED.match(words[0].text)):
            self._nested += _NESTING.get(words[0].text, 0)
            words = words[1:]
        while words and words[0].text in _PREFIXES:
            self.lingers |= words[0].text in _LINGERING
            self._may_end |= words[0].text in _ENDING
            words = words[1:]
        if not words:
            return False
        if any(not each.plain and runs_inside(each.text) for each in words):
            self.opaque = True
        folder, name = os.path.split(words[0].text)
        given = words[1:]
        self.lingers |= name in _LINGERING
        self._may_end |= name in _ENDING
        if words[0].text not in _KEYWORDS:
            self._nested += _NESTING.get(words[0].text, 0)
        if name in ("cd", "pushd", "popd"):
            # In a branch or a loop nobody knows whether it runs, nor how often.
            self._folder = None if self._nested or name != "cd" else self._gone_to(given)
            return True
        known = words[0].plain or name in ("[", "[[", "{", "}")
        if not known or folder not in _FOLDERS or not self._known(name, given):
            self.opaque = True
        return False

    def _known(self, name: str, given: Sequence[Word]) -> bool:
        """Parse a program that names its targets; False for any other."""
        if name in _SHELLS:
            return self._shell(given)
        handlers: dict[str, Callable[[Sequence[Word]], bool]] = {
            "mv": self._moved,
            "sed": self._sed,
            "dd": self._dd,
            "find": _only_finds,
        }
        if name in handlers:
            return handlers[name](given)
        if name in _NAMING or name in _REMOVING:
            for each in _files(given):
                self._target(each, whole=name in _REMOVING)
            return True
        return self._copied(given) if name in _COPYING else name in _HARMLESS

    def _shell(self, given: Sequence[Word]) -> bool:
        """Parse `bash -c TEXT`; any other shell runs a file that is unknown."""
        flags = [each.text for each in given[:-1]]
        is_text = flags and all(re.fullmatch(r"-[a-z]*", each) for each in flags)
        if not is_text or "c" not in flags[-1] or not given[-1].plain or self._depth >= DEEPEST:
            return False
        before = self._folder, self._depth, self._runs, self._may_end
        self.read(given[-1].text, self._depth + 1)
        self._folder, self._depth, self._runs, self._may_end = before
        return True

    def _moved(self, given: Sequence[Word]) -> bool:
        for each in _files(given)[:-1]:
            self._target(each, whole=True)
        return self._copied(given)

    def _copied(self, given: Sequence[Word]) -> bool:
        """The last word, and each file that gets the name of a source below it."""
        named = _files(given)
        if not named[1:] or any(re.match(r"-\w*t|--(target|files)", each.text) for each in given):
            return False
        self._target(named[-1])
        path = self._path(named[-1])
        if path is None:
            self.perhaps.update(os.path.basename(each.text.rstrip("/")) for each in named[:-1])
            return True
        for each in named[:-1]:
            name = os.path.basename(each.text.rstrip("/"))
            inner = f"{path}/{name}" if each.plain and name not in ("", ".", "..") else ""
            if inner:
                self._add(self.files, _real(inner))
            if not inner or not any(map(os.path.isfile, (path, inner, self._path(each) or ""))):
                self.perhaps.add(_real(path))  # a folder, whose files get names that are not said
        return True

    def _sed(self, given: Sequence[Word]) -> bool:
        if any(re.match(r"-[a-zA-Z]*i|--in-path", each.text) for each in given):
            for each in _files(given):
                self._target(each)
        return not any(_WRITES_IN_SED.search(each.text) for each in given)

    def _dd(self, given: Sequence[Word]) -> bool:
        for each in given:
            if each.text.startswith("of="):
                self._target(each._replace(text=each.text[3:]))
        return True

    def _gone_to(self, given: Sequence[Word]) -> str | None:
        """The folder after `cd`; None unless it exists, because otherwise the shell stays."""
        named = [each for each in given if each.text not in ("-P", "-L", "--")]
        if len(named) != 1 or named[0].text == "-":
            return None
        path = self._path(named[0])
        return path if path and os.path.isdir(path) else None

    def _target(self, word: Word, *, whole: bool = False) -> None:
        path = self._path(word)
        name = os.path.basename(word.text.rstrip("/"))
        if path is not None:
            through = os.path.realpath(path)
            is_behind = path.endswith("/")  # of a link: then what it leads to
            known = self.trees if whole else self.files
            self._add(known, through if is_behind else _real(path))
            self._add(self.files, through)
        elif _is_fixed(name):
            self.perhaps.add(name)
        else:
            self.opaque = True
        if whole and path is None:
            self.opaque = True

    def _add(self, known: set[str], path: str) -> None:
        """Add PATH to KNOWN if the command surely runs."""
        runs = self._runs and not self._nested and not self._may_end
        (known if runs else self.perhaps).add(path)

    def _path(self, word: Word) -> str | None:
        """The path of WORD; None where the shell may expand it."""
        text = word.text
        if "\0" in text or not word.plain or not text:
            return None
        if text.startswith("/"):
            return text
        return os.path.join(self._folder, text) if self._folder else None


def _files(given: Sequence[Word]) -> list[Word]:
    return [each for each in given if not each.text.startswith("-")]


def _is_fixed(name: str) -> bool:
    return bool(name) and not re.search(r"[$`*?\[{]", name)


def _only_finds(given: Sequence[Word]) -> bool:
    return not any(re.match(r"-(exec|delete|ok|fprint|fls)", each.text) for each in given)


def _real(path: str) -> str:
    """PATH with all links resolved but the last."""
    folder, name = os.path.split(path.rstrip("/") or "/")
    return (
        os.path.realpath(path) if name in ("", ".", "..") else f"{os.path.realpath(folder)}/{name}"
    )
