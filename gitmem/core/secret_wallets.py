"""What opens a wallet: private keys, in prose or in a wallet's own formats, and seed phrases.

A private key is 64 hex digits, and so is a SHA-256, a commit or the digest of an image: only the
words around it tell. Base58check has a checksum of its own, so a key in it needs no words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitmem.core.secret_rule import Rule
from gitmem.core.secret_shapes import is_issued, is_mixed
from gitmem.core.seed_phrases import phrases_in

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_SIGN = "[1-9A-HJ-NP-Za-km-z]"
# A version, 32 bytes and the mark of a compressed public key; or a node of a tree of keys.
_KEY_SIZES = (33, 34, 78)
_CHECK = 4
_SHORTEST_WIF = 51
_WIF = rf"(?<![A-Za-z0-9]){_SIGN}{{51,52}}(?![A-Za-z0-9])"

_HEX = r"(?<![0-9a-z])(?:0x)?[0-9a-f]{64}(?:[0-9a-f]{64})?(?![0-9a-z])"
# Solana's are 64 bytes in base58.
_VALUE = rf"({_HEX}|(?<![0-9a-z])[1-9a-z]{{86,88}}(?![0-9a-z]))"
_LITERALS = ("priv", "secret key", "wallet key", "私钥", "私鑰", "秘密鍵")
# Not its hash, of which people speak in the same words.
_OF_IT = "".join(
    rf"(?<!{word} of )(?<!{word} of the )(?<!{word} of my )(?<!{word} of our )"
    for word in ("hash", "sha256", "sha-256", "digest", "fingerprint", "checksum")
)
_NAME = (
    r"(?:priv(?:ate)?[ _-]{0,2}(?:spend |view )?key|(?:secret|wallet) key|(?<=clé )privée"
    r"|(?<=clave )privada|(?<=chave )privada|(?<=chiave )privata|private[rn]? schlüssel"
    r"|私[钥鑰]|秘密鍵)"
)
_OTHER = (
    r"public|hash|sha-?[0-9]|digest|fingerprint|checksum|commit|signature|signed|txid|transaction"
)
_GAP = rf"(?:(?!{_OTHER})[^\n]){{0,80}}?"
_NEXT_LINE = r"(?:[:=\uff1a][ \t*_]{0,4}\n\s{0,8}(?:```[a-z]{0,8}\s{1,4})?)?"


def is_wallet_key(value: str) -> bool:
    """Whether VALUE is a key in hex digits that somebody drew, or one in base58."""
    if re.fullmatch("(?i)(?:0x)?[0-9a-f]+", value):
        return is_issued(value[-64:])
    return set(value) <= set(_BASE58) and is_mixed(value)


def is_base58_key(value: str) -> bool:
    """Whether VALUE is a private key in base58 whose checksum is right."""
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
    """The spans of keys in the wallet import format in WORDS, one to a line."""
    if max(map(len, words.split("\n"))) < _SHORTEST_WIF:
        return
    for found in re.finditer(_WIF, words):
        if is_base58_key(found[0]):
            yield found.span()


def _in_prose(slug: str, about: str, literals: tuple[str, ...], pattern: str, *backs: int) -> Rule:
    return Rule(slug, about, literals, pattern, is_wallet_key, backs=backs, wide=True, weak=True)


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
        "wallet-keystore",
        "the key in an Ethereum keystore, which only a password guards",
        ("aes-128-ctr", "aes-128-cbc"),
        r"""aes-128-c[tb][rc]["'][\s\S]{0,400}?(?:ciphertext|message)["']?\s{0,4}:\s{0,4}["']"""
        r"""([0-9a-fA-F]{64,256})["']""",
        wide=True,
    ),
    Rule(
        "seed-phrase",
        "the seed phrase of a wallet: 12 to 24 words of BIP-39",
        (),
        "",
        wide=True,
        finder=phrases_in,
    ),
    _in_prose(
        "wallet-key",
        "a wallet's private key: 64 hex digits after `private key`",
        _LITERALS,
        rf"{_OF_IT}{_NAME}{_GAP}{_NEXT_LINE}{_VALUE}",
        0,
    ),
    _in_prose(
        "wallet-key",
        "a wallet's private key: 64 hex digits before `is the private key`",
        ("priv",),
        rf"(?<![0-9a-f])([0-9a-f]{{64}})[\"'`]?(?: is (?:the|my|our) | \(){_NAME}",
        *(66, 67, 71, 72, 73),
    ),
)
