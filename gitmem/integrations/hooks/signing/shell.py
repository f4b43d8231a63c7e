"""Which files a command of a shell writes to, as far as its text tells.

A name is followed from the folder in which the command runs, through each `cd`. What cannot be
followed (a variable, a pattern, a program that writes where its text does not say) is unsure, and
never taken for a write to a file that merely has the same name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from gitmem.integrations.hooks.signing.shell_words import Word, runs_inside, tokens_of, word_of

LONGEST = 100_000
"""Characters of a command that are looked at; what a longer one writes to is unsure."""
DEEPEST = 3
"""Shells in shells that are looked into."""

_ASSIGNED = re.compile(r"[A-Za-z_]\w*\+?=")
_WRITES_IN_SED = re.compile(r"(?:\A|[^a-zA-Z])[wWe]\s|/[a-z0-9]*w\s")

_KEYWORDS = frozenset(("if", "then", "else", "elif", "do", "while", "until", "!", "{", "time"))
_NESTING = {
    **dict.fromkeys(("if", "while", "until", "for", "case", "select", "{"), 1),
    **dict.fromkeys(("fi", "done", "esac", "}"), -1),
}
_PREFIXES = frozenset(("sudo", "command", "builtin", "exec", "nohup", "setsid"))
_LINGERING = frozenset(("nohup", "setsid", "tmux", "screen", "at", "batch", "disown", "coproc"))
_SHELLS = frozenset(("bash", "sh", "zsh", "dash"))
_FOLDERS = ("", "/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
_NAMING = frozenset(("tee", "touch", "truncate", "unlink", "shred"))
"""Programs that write to each file that they are given, and to nothing else."""
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
"""Programs that write to no file but by a redirection."""


class Writes(NamedTuple):
    """What a command writes to, by real paths."""

    files: frozenset[str] = frozenset()
    trees: frozenset[str] = frozenset()
    """Folders that it removes or moves with all that they hold."""
    perhaps: frozenset[str] = frozenset()
    """Folders into which it copies something, and names of files whose folder is unknown."""
    opaque: bool = False
    """Whether it may write to any other file, too."""
    lingers: bool = False
    """Whether a part of it may run on when it has ended."""

    def surely(self, path: str) -> bool:
        """Whether it says that it writes to the file at the real PATH."""
        return path in self.files or any(each in self.trees for each in _above(path))

    def names(self, path: str) -> bool:
        """Whether it names a file that it writes to, which may be that one."""
        is_perhaps = os.path.basename(path) in self.perhaps
        return is_perhaps or self.surely(path) or any(each in self.perhaps for each in _above(path))

    def maybe(self, path: str) -> bool:
        """Whether it may write to it."""
        return self.opaque or self.names(path)


def _above(path: str) -> Iterator[str]:
    while path not in ("", "/"):
        yield path
        path = os.path.dirname(path)


@lru_cache(maxsize=4096)
def writes_of(command: str, folder: str | None) -> Writes:
    """What COMMAND writes to when it runs in FOLDER; None where that is unknown."""
    if len(command) > LONGEST:
        return Writes(opaque=True)
    reading = _Reading(folder)
    reading.read(command, 0)
    return Writes(
        frozenset(reading.files),
        frozenset(reading.trees),
        frozenset(reading.perhaps),
        reading.opaque,
        reading.lingers,
    )


class _Reading:
    """One command, read from its beginning to its end."""

    def __init__(self, folder: str | None) -> None:
        self.files: set[str] = set()
        self.trees: set[str] = set()
        self.perhaps: set[str] = set()
        self.opaque = self.lingers = False
        self._folder = folder
        self._depth = self._nested = 0

    def read(self, text: str, depth: int) -> None:
        self._depth = depth
        outer: list[str | None] = []  # the folders around each `(`
        words: list[Word] = []
        before, uncertain = "", False
        for kind, value in tokens_of(text):
            if kind == "word":
                words.append(word_of(value))
            elif kind == "target":
                self._target(word_of(value))
            elif kind == "hidden":
                self.opaque = True
            else:
                changed = self._simple(words)
                # Only a part of a list, of a branch or of a pipe: whether it ran is unknown.
                uncertain |= changed and (before != "" or value in ("|", "|&", "&"))
                words, before = [], value if value in ("&&", "||", "|", "|&") else ""
                self.lingers |= value == "&"
                if uncertain and not before:
                    self._folder, uncertain = None, False
                if value == "(":
                    outer.append(self._folder)
                elif value == ")" and outer:
                    self._folder = outer.pop()
        self._simple(words)

    def _simple(self, words: list[Word]) -> bool:
        """Take in one simple command; whether it goes to another folder for those that follow."""
        while words and (words[0].text in _KEYWORDS or _ASSIGNED.match(words[0].text)):
            self._nested += _NESTING.get(words[0].text, 0)
            words = words[1:]
        while words and words[0].text in _PREFIXES:
            self.lingers |= words[0].text in _LINGERING
            words = words[1:]
        if not words:
            return False
        if any(not each.plain and runs_inside(each.text) for each in words):
            self.opaque = True
        folder, name = os.path.split(words[0].text)
        given = words[1:]
        self.lingers |= name in _LINGERING
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
        """Take in a program that says where it writes; False for any other."""
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
        """`bash -c TEXT`; any other shell reads a file that is not seen."""
        flags = [each.text for each in given[:-1]]
        is_text = flags and all(re.fullmatch(r"-[a-z]*", each) for each in flags)
        if not is_text or "c" not in flags[-1] or not given[-1].plain or self._depth >= DEEPEST:
            return False
        folder, depth = self._folder, self._depth
        self.read(given[-1].text, depth + 1)
        self._folder, self._depth = folder, depth
        return True

    def _moved(self, given: Sequence[Word]) -> bool:
        for each in _files(given)[:-1]:
            self._target(each, whole=True)
        return self._copied(given)

    def _copied(self, given: Sequence[Word]) -> bool:
        """The last word, and what gets the name of a source below it."""
        named = _files(given)
        if not named[1:] or any(re.match(r"-\w*t|--(target|files)", each.text) for each in given):
            return False
        self._target(named[-1])
        place = self._place(named[-1])
        if place is None:
            self.perhaps.update(os.path.basename(each.text.rstrip("/")) for each in named[:-1])
            return True
        for each in named[:-1]:
            name = os.path.basename(each.text.rstrip("/"))
            inner = f"{place}/{name}" if each.plain and name not in ("", ".", "..") else ""
            if inner:
                self.files.add(_real(inner))
            if not inner or not any(map(os.path.isfile, (place, inner, self._place(each) or ""))):
                self.perhaps.add(_real(place))  # a folder, whose files get names that are not said
        return True

    def _sed(self, given: Sequence[Word]) -> bool:
        if any(re.match(r"-[a-zA-Z]*i|--in-place", each.text) for each in given):
            for each in _files(given):
                self._target(each)
        return not any(_WRITES_IN_SED.search(each.text) for each in given)

    def _dd(self, given: Sequence[Word]) -> bool:
        for each in given:
            if each.text.startswith("of="):
                self._target(each._replace(text=each.text[3:]))
        return True

    def _gone_to(self, given: Sequence[Word]) -> str | None:
        """The folder after `cd`; None unless it is there, because then the shell stays."""
        named = [each for each in given if each.text not in ("-P", "-L", "--")]
        if len(named) != 1 or named[0].text == "-":
            return None
        place = self._place(named[0])
        return place if place and os.path.isdir(place) else None

    def _target(self, word: Word, *, whole: bool = False) -> None:
        place = self._place(word)
        name = os.path.basename(word.text.rstrip("/"))
        if place is not None:
            through = os.path.realpath(place)
            is_behind = place.endswith("/")  # of a link: then what it leads to
            (self.trees if whole else self.files).add(through if is_behind else _real(place))
            self.files.add(through)
        elif _is_fixed(name):
            self.perhaps.add(name)
        else:
            self.opaque = True
        if whole and place is None:
            self.opaque = True

    def _place(self, word: Word) -> str | None:
        """Where WORD leads; None where the shell may make something else of it."""
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
    """PATH through all links but the last."""
    folder, name = os.path.split(path.rstrip("/") or "/")
    return (
        os.path.realpath(path) if name in ("", ".", "..") else f"{os.path.realpath(folder)}/{name}"
    )
