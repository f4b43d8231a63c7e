"""Stems of English words, by the Porter algorithm with irregular forms.

Of Porter's two rules for a final `y` it uses the later one: `deploy` and `deployment` have the same
stem. Irregular forms (`went`, `bought`, `children`) are looked up first, also with an `s`:
`thoughts` is found like `thought`. A word of another language, or with digits, is its own stem.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_FORMS = """
arise arose arisen|beat beaten|become became|begin began begun|bend bent|bite bit bitten|bleed bled
blow blew blown|break broke broken|breed bred|bring brought|build built|burn burnt|buy bought
catch caught|child children|choose chose chosen|cling clung|come came|creep crept|deal dealt
dig dug|do does did done|draw drew drawn|dream dreamt|drink drank drunk|drive drove driven
eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find found|flee fled|fling flung
fly flew flown|foot feet|forbid forbade forbidden|forget forgot forgotten|forgive forgave forgiven
freeze froze frozen|get got gotten|give gave given|go goes went gone|grow grew grown|hang hung
hear heard|hide hid hidden|hold held|index indices|keep kept|know knew known|lay laid|lead led
leap leapt|learn learnt|leave left|lend lent|lose lost|make made|man men|matrix matrices|mean meant
meet met|mouse mice|pay paid|person people|ride rode ridden|ring rang rung|rise rose risen|run ran
say said|see saw seen|seek sought|sell sold|send sent|shake shook shaken|shine shone|shoot shot
show shown|shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat|sleep slept|slide slid
speak spoke spoken|speed sped|spend spent|spin spun|spring sprang sprung|stand stood
steal stole stolen|stick stuck|sting stung|strike struck|swear swore sworn|sweep swept
swim swam swum|swing swung|take took taken|teach taught|tear tore torn|tell told|think thought
throw threw thrown|tooth teeth|understand understood|vertex vertices|wake woke woken|wear wore worn
weave wove woven|weep wept|wife wives|win won|withdraw withdrew withdrawn|woman women
write wrote written
"""
SHORTEST = 3
"""Words below this length are their own stems."""

_SECOND_ENDINGS = """
ational ate|tional tion|enci ence|anci ance|izer ize|bli ble|alli al|entli ent|eli e|ousli ous
ization ize|ation ate|ator ate|alism al|iveness ive|fulness ful|ousness ous|aliti al|iviti ive
biliti ble|logi log
"""
_THIRD_ENDINGS = "icate ic|ative|alize al|iciti ic|ical ic|ful|ness"
_FOURTH_ENDINGS = "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize"


def _rows(table: str) -> list[list[str]]:
    return [row.split() for row in re.split(r"[|\n]", table) if row]


IRREGULAR: Mapping[str, str] = {form: base for base, *forms in _rows(_FORMS) for form in forms}
"""The base of each irregular form."""
PREFIXES = ("fore", "mis", "out", "over", "re", "under", "un")
"""Prefixes that keep the forms of a word."""
_SECOND, _THIRD = (
    {ending: "".join(rest) for ending, *rest in _rows(table)}
    for table in (_SECOND_ENDINGS, _THIRD_ENDINGS)
)
_FOURTH = dict.fromkeys(_FOURTH_ENDINGS.split(), "")
_LONGEST = 7
"""The length of the longest ending."""


def stem(word: str) -> str:
    """Return the stem of WORD, which is in lower case."""
    word = IRREGULAR.get(word) or IRREGULAR.get(word.removesuffix("s")) or _composed(word)
    if len(word) < SHORTEST or not (word.isascii() and word.isalpha()):
        return word
    word = _without_ending(_singular(word))
    if word[-1] == "y" and len(word) >= SHORTEST and _shape(word)[-2] == "c":
        word = word[:-1] + "i"
    word = _replaced(_replaced(word, _SECOND), _THIRD)
    found = _without_e(_without_suffix(word))
    return "use" if found == "us" else found  # `uses` does not mean `us`


def _composed(word: str) -> str:
    """The base of `rebuilt` or `overwrote`; else the word itself."""
    for prefix in PREFIXES if word.startswith(PREFIXES) else ():
        if word.startswith(prefix):
            base = IRREGULAR.get(word[len(prefix) :])
            return f"{prefix}{base}" if base else word
    return word


def _singular(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word[-1] == "s" and word[-2] != "s" else word


def _without_ending(word: str) -> str:
    """WORD without `ed` or `ing`, if the rest has a vowel."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for ending in ("ed", "ing"):
        left = word.removesuffix(ending)
        if left != word and _has_vowel(left):
            return _mended(left)
    return word


def _mended(word: str) -> str:
    """WORD, which lost its ending, repaired: `hop` from `hoped` becomes `hope`."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if word[-1:] == word[-2:-1] and _shape(word)[-1] == "c" and word[-1] not in "lsz":
        return word[:-1]
    return word + "e" if _measure(word) == 1 and _ends_short(word) else word


def _ending(word: str, table: Mapping[str, str]) -> str:
    """The longest ending of WORD in TABLE; empty for none."""
    sizes = range(min(_LONGEST, len(word)), 1, -1)
    return next((word[-size:] for size in sizes if word[-size:] in table), "")


def _replaced(word: str, table: Mapping[str, str]) -> str:
    """WORD with its ending replaced, if enough is left."""
    found = _ending(word, table)
    left = word.removesuffix(found)
    return left + table[found] if found and _measure(left) else word


def _without_suffix(word: str) -> str:
    found = _ending(word, _FOURTH)
    left = word.removesuffix(found)
    if not found or _measure(left) <= 1 or (found == "ion" and left[-1] not in "st"):
        return word
    return left


def _without_e(word: str) -> str:
    if word[-1] == "e":
        left = word[:-1]
        measure = _measure(left)
        if measure > 1 or (measure == 1 and not _ends_short(left)):
            word = left
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _shape(word: str) -> str:
    """WORD as vowels and consonants; `y` after a consonant is a vowel."""
    shape = ""
    for char in word:
        vowel = char in "aeiou" or (char == "y" and shape[-1:] == "c")
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """How many times vowels are followed by consonants."""
    return len(re.findall("v+c+", _shape(word)))


def _has_vowel(word: str) -> bool:
    return "v" in _shape(word)


def _ends_short(word: str) -> bool:
    """Whether WORD ends in consonant, vowel, consonant, as `hop` does; `snow` and `box` do not."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"
