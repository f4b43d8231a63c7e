"""Rules for wallets: private keys, in prose or in wallet formats, and seed phrases.

A private key is 64 hex digits, like a SHA-256, a commit or the digest of an image: only the words
around it tell. Base58check has its own checksum, so a key in it needs no words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from gitmem.model.secrets.seed_phrases import phrases_in
from gitmem.model.secrets.shapes import Rule, is_issued, is_mixed

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_SIGN = "[1-9A-HJ-NP-Za-km-z]"
# A version, 32 bytes and the mark of a compressed public key; or a node of a tree of keys.
_KEY_SIZES = (33, 34, 78)
_CHECK = 4
_SHORTEST_WIF = 51
_WIF = rf"(?<![A-Za-z0-9]){_SIGN}{{51,52}}(?![A-Za-z0-9])"

_HEX = r"(?:0x)?(?:[0-9a-f]{128}|[0-9a-f]{64})"
# Solana's are 64 bytes: in base58, or as the numbers that its tools write to a file.
_VALUE = rf"(?<![0-9a-z])(?:{_HEX}|[1-9a-z]{{86,88}})(?![0-9a-z])"
_BYTES = r"\[\s{0,8}((?:[0-9]{1,3}\s{0,4},\s{0,8}){63}[0-9]{1,3})\s{0,8}\]"
_OF_BYTES = r"\bkey(?!word|board)|key ?pair|_key|secret|private|solana|phantom|wallet"
_BYTE = 256
# Of 64 random bytes 57 differ on average; fewer than 40 do in less than one row in a million.
_FEWEST_BYTES = 40
# A table of numbers counts up; random bytes fall after every other one.
_FEWEST_FALLS = 12
# Not the hash of a key.
_OF_IT = "".join(
    rf"(?<!{word} of )(?<!{word} of the )(?<!{word} of my )(?<!{word} of our )"
    for word in ("hash", "sha256", "sha-256", "digest", "fingerprint", "checksum")
)
_NAME = (
    r"(?:priv(?:ate)?[ _-]{0,2}(?:spend |view )?key|(?:secret|wallet) key|(?<=clé )privée"
    r"|(?<=clave )privada|(?<=chave )privada|(?<=chiave )privata|private[rn]? schlüssel"
    r"|私[钥鑰]|秘密鍵)"
)
# These name a secret only right before the value; further away it may be an id or a public key.
_OWNER = (
    r"eth(?:ereum)?|evm|bitcoin|btc|solana|polygon|sepolia|mainnet|testnet|metamask|wallet|hot"
    r"|cold|burner|account|signer|signing|deployer|owner|treasury|operator|relayer|funder|minter"
)
_SHORT_NAME = (
    rf"(?<![a-z])(?:(?:{_OWNER})(?:'s)?[ _-]key|(?:wallet|master|hd|eth(?:ereum)?)[ _-]seed"
    r"|0x[0-9a-f]{40}\W{1,6}(?:and |with )?key|wallet(?=\())"
)
_INITIALS = r"(?<![a-z0-9])[ps]k"
_TIE = r"""(?:[\s:=\uff1a|"'`*_>(-]|is|was){1,12}$"""
# Other values of 64 hex digits.
_OTHER = (
    r"public|hash|sha-?[0-9]|digest|fingerprint|checksum|commit|signature|signed|transaction|txid"
    r"|\b(?:txn?s?|root|merkle|image|block|blob|topic|slot|storage|proof|salt|nonce|id)\b"
)
# Words before the id of a commit.
_BEFORE_COMMIT = r"\b(?:in|by|at|see|since|via|from|merged)[\s`\"'(]*$"
_CLAUSE_END = r";|[.!?](?=\s)|[\u3002\uff01\uff1b\uff1f]"
_MARKUP = " \t\r>*_-+\"'`|(#"
_LISTED = _MARKUP + "\n0123456789.):[],"
_REACH, _LONGEST_LABEL, _WIDEST_BREAK = 80, 48, 12
_LOOKED_AT = 240
_NUMBER = r"^[\s>*+-]{0,8}\(?[0-9]{1,3}[.):\]]{1,2}\s"
_ITEM = r"[\s>*_+`\"'-]{0,8}[^\W\d][\w .'-]{0,32}[*_`]{0,3}[:=][*_\s`\"']{0,6}"
_RULE = r"\n\s{0,3}\|[ :|-]{3,200}\r?\n"
_LOOKED_AT_TABLE = 2000


def _keys_in(low: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of values in LOW, a text in lower case, that it calls a wallet's key."""
    last = 0
    for found in re.finditer(_VALUE, low):
        start, end = found.span()
        goes_on = 0 < last >= start - _LONGEST_LABEL and _is_next(low[last:start])
        if goes_on or _names_key(_clause_before(low, start), found[0]) or _in_column(low, start):
            yield start, end
            last = end
    for found in re.finditer(_BYTES, low):
        begin, end = found.span()
        around = low[max(0, begin - 2 * _REACH) : begin] + low[end : end + _REACH]
        if not around.strip() or re.search(_OF_BYTES, around):
            yield found.span(1)


def _is_next(gap: str) -> bool:
    """Whether GAP, after a key, leads to the next one of a list."""
    is_item = re.fullmatch(_ITEM, gap) and not re.search(_OTHER, gap)
    return "\n" in gap and (not gap.strip(_LISTED) or bool(is_item))


def _clause_before(low: str, at: int) -> str:
    """The clause before AT; for a value on its own line, with the label above it."""
    start = max(0, at - _LOOKED_AT)
    line = max(start, low.rfind("\n", start, at) + 1)
    clause = re.sub(_NUMBER, "", low[line:at])
    is_bare = not clause.strip(_MARKUP) and "|" not in clause  # a table has its heads: `_in_column`
    if is_bare or re.fullmatch(_ITEM, clause):
        clause = _label(low[max(0, line - _LOOKED_AT) : line]) + clause
    return re.split(_CLAUSE_END, clause)[-1]


def _label(above: str) -> str:
    """The last line of ABOVE if it is a heading or a label, or ends with a colon."""
    head = re.sub(r"(?:```[a-z]{0,8}|={3,40}|-{3,40})\s{1,4}$", "", above).rstrip()
    label = head[head.rfind("\n") + 1 :]
    bare = label.strip(_MARKUP)
    if len(above) - len(head) > _WIDEST_BREAK + _LONGEST_LABEL:
        return ""
    is_short = len(bare) <= _LONGEST_LABEL and re.search(_NAME + "s?$", bare)
    announces = bare.endswith((":", "=", "\uff1a")) or label.startswith("#") or is_short
    return label if announces else ""


def _in_column(low: str, at: int) -> bool:
    """Whether the value at AT is in a table column whose head calls it a key."""
    line = low.rfind("\n", max(0, at - _LOOKED_AT), at) + 1
    if not low[line:at].lstrip().startswith("|"):
        return False
    start = max(0, line - _LOOKED_AT_TABLE)
    above = low[start:line]
    rules = [found.span() for found in re.finditer(_RULE, above)]
    if not rules or any(
        not row.lstrip().startswith("|") for row in above[rules[-1][1] :].split("\n")[:-1]
    ):
        return False
    head = above[above.rfind("\n", 0, rules[-1][0]) + 1 : rules[-1][0]].split("|")
    column = low[line:at].count("|")
    return column < len(head) and _names_key(head[column] + ": ", "")


def _names_key(clause: str, value: str) -> bool:
    """Whether CLAUSE, before VALUE, calls it a private key."""
    ends = [found.end() for found in re.finditer(_OF_IT + _NAME, clause)]
    if ends and len(clause) - ends[-1] <= _REACH:
        between = clause[ends[-1] :]
        if not re.search(_OTHER, between) and not re.search(_BEFORE_COMMIT, between):
            return True
    initials = f"|{_INITIALS}" if value.startswith("0x") else ""
    return re.search(f"(?:{_SHORT_NAME}{initials}){_TIE}", clause) is not None


def is_wallet_key(value: str) -> bool:
    """Whether VALUE looks like a random key: in hex digits, in base58 or as numbers."""
    if "," in value:
        numbers = [int(each) for each in value.split(",")]
        falls = sum(one > two for one, two in pairwise(numbers))
        return (
            max(numbers) < _BYTE and len(set(numbers)) >= _FEWEST_BYTES and falls >= _FEWEST_FALLS
        )
    if re.fullmatch("(?i)(?:0x)?[0-9a-f]+", value):
        return is_issued(value[-64:])
    return set(value) <= set(_BASE58) and is_mixed(value)


def is_base58_key(value: str) -> bool:
    """Whether VALUE is a private key in base58 with a valid checksum."""
    from hashlib import sha256

    number = 0
    for sign in value:
        number = number * 58 + _BASE58.index(sign)
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    payload, check = data[:-_CHECK], data[-_CHECK:]
    if len(payload) not in _KEY_SIZES:
        return False
    return sha256(sha256(payload).digest()).digest()[:_CHECK] == check


def _exported(words: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of keys in the wallet import format in WORDS, one to a line."""
    if max(map(len, words.split("\n"))) < _SHORTEST_WIF:
        return
    for found in re.finditer(_WIF, words):
        if is_base58_key(found[0]):
            yield found.span()


_CIPHER = r"""(?:ciphertext|message)["']?\s{0,4}:\s{0,4}["']([0-9a-fA-F]{64,256})["']"""
WALLETS = (
    Rule(
        "wallet-export",
        "a wallet's private key in base58: WIF, or an extended key (xprv)",
        (),
        "",
        finder=_exported,
    ),
    Rule(
        "wallet-export",
        "a wallet's private key in base58: WIF, or an extended key (xprv)",
        ("prv",),
        rf"(?<![A-Za-z0-9])[a-zA-Z]prv{_SIGN}{{107}}(?![A-Za-z0-9])",
        is_base58_key,
        backs=(1,),
    ),
    Rule(
        "nostr-key",
        "a private key of Nostr (nsec)",
        ("nsec1",),
        r"(?<![A-Za-z0-9])nsec1[02-9ac-hj-np-z]{58}(?![A-Za-z0-9])",
    ),
    *(
        Rule(
            "wallet-keystore",
            "the key in an Ethereum keystore, which only a password guards",
            literals,
            pattern,
            wide=True,
        )
        for literals, pattern in (
            (("aes-128-ctr", "aes-128-cbc"), rf"aes-128-c[tb][rc][\"'][\s\S]{{0,900}}?{_CIPHER}"),
            (("ciphertext", "message"), rf"{_CIPHER}(?=[\s\S]{{0,900}}?[\"']aes-128-c[tb][rc])"),
        )
    ),
    Rule(
        "seed-phrase",
        "the seed phrase of a wallet: 12 to 24 words of BIP-39",
        (),
        "",
        wide=True,
        finder=phrases_in,
    ),
    Rule(
        "wallet-key",
        "a wallet's private key: 64 hex digits after `private key`",
        (),
        "",
        is_wallet_key,
        wide=True,
        weak=True,
        finder=_keys_in,
    ),
    Rule(
        "wallet-key",
        "a wallet's private key: 64 hex digits before a remark that says so",
        ("priv",),
        rf"(?<=0x)([0-9a-f]{{64}})[\"'`\]]{{0,2}},? ?(?:[#:\u2014\u2013-]|//) "
        rf"(?:(?:my|our|the) )?{_NAME}",
        is_wallet_key,
        backs=tuple(range(66, 76)),
        wide=True,
        weak=True,
    ),
    Rule(
        "wallet-key",
        "a wallet's private key: 64 hex digits before `is the private key`",
        ("priv",),
        rf"(?<![0-9a-f])([0-9a-f]{{64}})[\"'`]?(?: is (?:the|my|our) | \(){_NAME}",
        is_wallet_key,
        backs=(66, 67, 71, 72, 73),
        wide=True,
        weak=True,
    ),
)
