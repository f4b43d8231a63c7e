"""Rules for credentials, and the checks that tell a credential from a placeholder.

Documentation, templates and code are full of values in the format of a secret, so each rule also
checks the value that it found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from math import log2

# With `in`, not a regular expression: ten times as fast for a value of 200 characters.
_MOCKS = (
    *("***", "...", "\u2026", "example", "placeholder"),
    *("redacted", "changeme", "change-me", "change_me", "replaceme", "replace-me", "replace_me"),
    *("dummy", "your-", "your_", "insert-", "insert_", "accesstoken"),
    # Examples in the manuals of Telegram and of one-time passwords.
    *("abc-def1234ghikl", "jbswy3dpehpk3pxp"),
)
_STOCK = (
    r"(?i)(?:my|your|the|some|any|new|old|user|root|admin|db|test|super|secret|secure|strong|random|auth)?[-_]?"
    r"(?:pass|password|passwd|passphrase|pw|pwd|secret|token|key|api[-_]?key|user|username)"
    r"[-_]?[\w!]{0,4}|test\d{1,4}|foo|ba[rz]|foobar\w{0,2}|qwerty\d{0,3}"
)
# A reference to a stored value, or code that fetches it.
_REFERENCE = (
    r"(?:\$[A-Za-z_{(]|%[A-Za-z_]+%|%[sdr(]|[\[({<&|]|\.{0,2}/|~/|arn:|!\w)"
    r"|[A-Za-z_][\w.]*[(\[{]|[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+[!;,)]*$"
)
_TECHNICAL = (
    r"base\d\d\w*|sha\d+\w*|md5\w*|argon2\w*|pbkdf2|bcrypt\d*|oauth\d|utf\d+|1password|x509"
    r"|ed25519|rfc\d+|pkcs#\d+|aes\d+|[hr]s256|(?:var)?char\d+|u?int\d+(?:array)?|float\d+|string\d+"
    # An optional type of TypeScript.
    r"|(?:string|number|boolean|buffer|uint8array)\?"
)
_ORDER = "01234567890abcdefghijklmnopqrstuvwxyz"
_WORDY = rf"(?i)[a-z]*|\d+|[a-z]+\d{{1,2}}|{_TECHNICAL}"
_MARKUP = r"://|&(?:quot|[lg]t|amp|nbsp|#\d)"
_UUID = r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def is_issued(value: str) -> bool:
    """Whether VALUE looks generated, not like an example."""
    fewest_different = 7
    return len(set(value)) >= fewest_different and not _is_mock(value) and not _is_counted(value)


@lru_cache(maxsize=256)  # a page that repeats one word costs one check
def is_chosen(value: str) -> bool:
    """Whether VALUE looks like a password that a person chose."""
    fewest_bits = 2.2
    mixed = re.search("[A-Za-z]", value) and re.search(r"[0-9!@#$%^&*+=?~]", value)
    return bool(mixed) and _bits(value) >= fewest_bits and not _is_harmless(value)


@lru_cache(maxsize=256)
def is_random(value: str) -> bool:
    """Whether VALUE looks like a key: mixed, and not made of words."""
    fewest_bits = 3.0
    mixed = re.search("[A-Za-z]", value) and re.search("[0-9]", value)
    if not mixed or _bits(value) < fewest_bits or re.fullmatch(_UUID, value):
        return False
    return not _is_harmless(value) and not _is_counted(value)


def is_mixed(value: str) -> bool:
    """Whether VALUE looks generated and has both cases and digits, unlike a hex digest."""
    return is_issued(value) and all(re.search(kind, value) for kind in ("[a-z]", "[A-Z]", "[0-9]"))


def is_given(value: str) -> bool:
    """Whether VALUE is more than a placeholder such as `password`."""
    stand_in = re.fullmatch(_STOCK, value) or re.match(_REFERENCE, value)
    return not stand_in and not _is_mock(value) and len(set(value)) > 1 < _uncounted(value)


def is_network_key(value: str) -> bool:
    """Whether VALUE looks like the key of a wireless network, which is often a number."""
    fewest_different, shortest = 4, 8
    if value.isdecimal():
        return len(value) >= shortest and len(set(value)) >= fewest_different and is_given(value)
    return is_chosen(value)


def is_login(value: str) -> bool:
    """Whether VALUE is the base64 of a user name, a colon and a password."""
    from binascii import Error, a2b_base64

    try:
        text = a2b_base64(value + "=" * (-len(value) % 4)).decode("utf-8")
    except (Error, ValueError):
        return False
    name, colon, password = text.partition(":")
    return bool(name and colon) and text.isprintable() and is_given(password)


def _is_mock(value: str) -> bool:
    low = value.lower()
    if any(mock in low for mock in _MOCKS):
        return True
    return "here" in low and re.search(r"[-_]here\b", low) is not None


def _is_counted(value: str) -> bool:
    """Whether the random part of VALUE counts up or repeats one character: `sk-abcdef1234567890`.

    A real key may have such a part, for example the number of a team: one other part that is not a
    word makes it a key.
    """
    shortest, longest_word = 6, 10
    found = False
    for part in re.findall("[A-Za-z0-9]+", value):
        if _is_counted_part(part):
            found = True
        elif len(part) >= shortest and not (part.isalpha() and len(part) <= longest_word):
            return False
    return found


def _is_counted_part(part: str) -> bool:
    """The same for one part, which may begin with a prefix: `AKIAXXXXXXXX`."""
    shortest, longest_prefix = 8, 6
    tail = part[longest_prefix:]
    return any(
        len(each) >= shortest and _uncounted(each) <= len(each) // shortest for each in (part, tail)
    )


def _uncounted(value: str) -> int:
    """How many characters of VALUE are in no run of three or more that counts up or repeats."""
    shortest, left, at, low = 3, 0, 0, value.lower()
    while at < len(low):
        size = max(_row(low, at, ""), _row(low, at, _ORDER))
        left += 1 if size < shortest else 0
        at += size if size >= shortest else 1
    return left


def _row(text: str, at: int, order: str) -> int:
    """The length of the run at AT that follows ORDER, or repeats one character without ORDER."""
    end = at + 1
    while end < len(text) and text[end - 1 : end + 1] in (order or text[at] * 2):
        end += 1
    return end - at


def _bits(value: str) -> float:
    """Shannon entropy per character."""
    shares = [value.count(char) / len(value) for char in set(value)]
    return -sum(share * log2(share) for share in shares)


def _is_harmless(value: str) -> bool:
    if not is_given(value) or re.search(_MARKUP, value):
        return True
    parts = re.split(r"[-_./:+,;|@=]+", value)
    if len(parts) == 1:
        return re.fullmatch(rf"(?i)[a-z]*|\d+|{_TECHNICAL}", value) is not None
    return all(re.fullmatch(_WORDY, part) for part in set(parts))


class Rule:
    """One format: literals to search for, the pattern that must match there, and a check.

    The value is the last group that matched, or the whole match. A `wide` rule may cross white
    space, a `weak` one is a guess and yields to any other, and `backs` says how far before its
    literal a match may begin. A text without any of `needs` is not searched.

    A rule that no pattern can express has a `finder` instead: it yields the spans of values in long
    words, one to a line; for a wide rule, in the whole text in lower case.
    """

    # A plain class: a NamedTuple takes ten times as long to define, and every write imports it.
    __slots__ = (
        *("about", "backs", "finder", "judge", "literals", "needs", "pattern", "slug", "weak"),
        "wide",
    )

    def __init__(
        self,
        slug: str,
        about: str,
        literals: tuple[str, ...],
        pattern: str,
        judge: Callable[[str], bool] | None = is_issued,
        *,
        backs: tuple[int, ...] = (0,),
        wide: bool = False,
        weak: bool = False,
        needs: tuple[str, ...] = (),
        finder: Callable[[str], Iterator[tuple[int, int]]] | None = None,
    ) -> None:
        self.slug, self.about, self.literals, self.pattern = slug, about, literals, pattern
        self.judge, self.backs, self.wide, self.weak = judge, backs, wide, weak
        self.needs, self.finder = needs, finder
