"""File names for user ids: encoded, decoded, and found among existing files.

An id comes from a chat service and may contain anything. Letters, digits and a few marks stand for
themselves; everything else is percent-encoded. `/` and `\\` become `%-` and `%_`, because the path
grammar refuses their usual codes as an attempt to leave the folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable

from gitmem.errors import BadInput, PathRefused
from gitmem.model.hints import Hint, Option
from gitmem.model.paths import MAX_PART_BYTES, check_path, find_twin, fold, is_path

_PLAIN = "-_.@+=,~"
_PATTERNS = frozenset("/*?[]{}")
"""Characters with a meaning in a path or in a glob."""
_SHORT = {"/": "%-", "\\": "%_"}
_LONG = {code: char for char, code in _SHORT.items()}


def encode_user(user: str, *, spelled: bool = False) -> str:
    """Return USER as one part of a path; SPELLED encodes every character. Raises BadInput."""
    _check_given(user)
    name = "".join(_encoded(char, spelled) for char in user)
    if name[0] == ".":
        name = f"%2E{name[1:]}"
    if name[-1] == ".":
        name = f"{name[:-1]}%2E"
    if len(name.encode()) > MAX_PART_BYTES:
        raise BadInput(
            f"user id too long for a file name: {len(name.encode())} bytes, at most "
            f"{MAX_PART_BYTES} are allowed",
            hint="use a shorter id, for example the number alone",
        )
    try:
        return check_path(name)
    except PathRefused as error:
        raise BadInput(
            f"invalid user id {user!r}: as a file name it would lead out of the folder",
            hint="use another id for this person",
        ) from error


def decode_user(name: str) -> str:
    """Return the id that the file NAME stands for; a name without codes is the id itself."""

    def decoded(run: re.Match[str]) -> str:
        if run[0] in _LONG:
            return _LONG[run[0]]
        try:
            return bytes.fromhex(run[0].replace("%", "")).decode()
        except UnicodeDecodeError:
            return run[0]

    return re.sub(r"%[-_]|(?:%[0-9A-F]{2})+", decoded, name)


def name_of_user(
    user: str,
    names: Collection[str],
    is_taken: Callable[[str], bool] = lambda name: False,
    *,
    literal: bool = False,
) -> str:
    """Return the file name that USER has among NAMES, or a new one; never one that IS_TAKEN.

    Every name returned decodes to USER alone, so no two users share a file. An existing literal
    name comes first, then the readable encoding. LITERAL uses the id itself for a new name, where
    it is a valid file name.
    """
    _check_given(user)
    if user in names and decode_user(user) == user and not is_taken(user):
        return user
    plain = encode_user(user)
    if plain in names and not is_taken(plain):
        return plain
    # Ids that differ in case alone are different people, but not every disk can tell.
    if _spelled_among(user, names):
        return encode_user(user, spelled=True)
    if literal and _can_be_name(user) and not is_taken(user) and not find_twin(user, names):
        return user
    if is_taken(plain) or find_twin(plain, names):
        return encode_user(user, spelled=True)
    return plain


def user_path(
    pattern: str,
    user: str,
    names_in: Callable[[str], Iterable[str]],
    *,
    default: str = "",
    literal: bool = False,
) -> str:
    """Return the path of USER's file by PATTERN, which has {user} in it; NAMES_IN lists a folder.

    The template file DEFAULT belongs to no user. LITERAL as in `name_of_user`.
    """
    before, _, after = pattern.partition("{user}")
    folder, _, start = before.rpartition("/")
    end = after.partition("/")[0]
    names = {
        each[len(start) : len(each) - len(end)]
        for each in names_in(folder)
        if each.startswith(start) and each.endswith(end) and len(each) > len(start + end)
    }

    def path_for(name: str) -> str:
        return before + name + after.replace("{user}", name)

    template = fold(default)

    def is_taken(name: str) -> bool:
        return fold(path_for(name)) == template

    return check_path(path_for(name_of_user(user, names, is_taken, literal=literal)))


def _check_given(user: str) -> None:
    if not user.strip():
        raise BadInput(
            "empty user id", hint=Hint("for example ", Option("user", "telegram:123456"))
        )


def _can_be_name(user: str) -> bool:
    """Whether USER is a file name as it is, and decodes to no other id."""
    if _PATTERNS & set(user) or decode_user(user) != user or not is_path(user):
        return False
    return all(char.isascii() or _is_stable(char) for char in user)


def _spelled_among(user: str, names: Collection[str]) -> bool:
    """Whether USER has a file under the fully encoded name."""
    return "".join(_encoded(char, True) for char in user) in names


def _encoded(char: str, spelled: bool) -> str:
    if char in _SHORT:
        return _SHORT[char]
    if not spelled and (_is_plain(char) or (char.isalnum() and _is_stable(char))):
        return char
    try:
        return "".join(f"%{byte:02X}" for byte in char.encode())
    except UnicodeEncodeError as error:
        raise BadInput("the user id is not valid Unicode") from error


def _is_plain(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char in _PLAIN)


def _is_stable(char: str) -> bool:
    """Whether every file system stores CHAR unchanged."""
    from unicodedata import normalize

    return all(normalize(form, char) == char for form in ("NFC", "NFD", "NFKC", "NFKD"))
