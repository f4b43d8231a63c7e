"""Credentials that are known by what stands around them: an address, a command, a file, a sentence.

The last ones are guesses, by the words of `words`.
"""

from __future__ import annotations

from collections.abc import Callable

from gitmem.model.secrets import words
from gitmem.model.secrets.rule import Rule
from gitmem.model.secrets.shapes import (
    is_chosen,
    is_given,
    is_login,
    is_mixed,
    is_network_key,
    is_random,
)


def _guess(
    slug: str,
    about: str,
    literals: tuple[str, ...],
    pattern: str,
    judge: Callable[[str], bool],
    *,
    needs: tuple[str, ...] = (),
) -> Rule:
    return Rule(slug, about, literals, pattern, judge, wide=True, weak=True, needs=needs)


CONTEXTS = (
    Rule(
        "url-password",
        "user name and password in an address",
        ("://",),
        r"://([^\s:/?#@\"'<>|`]{0,128}):(?!\1@)([^\s/@\"'<>|`]{3,256})@"
        r"(?![A-Za-z0-9.-]{0,100}\b(?:example|company)\.|(?:host|hostname|server)(?![A-Za-z0-9.-]))"
        r"[A-Za-z0-9\[]",
        is_given,
    ),
    Rule(
        "azure-sas",
        "signature of an Azure shared access address (sig=)",
        ("sig=",),
        r"[?&;]sig=([A-Za-z0-9+/_-]{43,64}={0,2}(?:%3[dD])?|(?:[A-Za-z0-9]|%2[bBfF]){43}(?:%3[dD]|=))"
        r"(?![A-Za-z0-9+/_%=-])",
        is_mixed,
        backs=(1,),
    ),
    Rule(
        "password-hash",
        "a line of htpasswd or shadow: a name and the hash of a password",
        (":$", ":{SHA}", ":{SSHA"),
        r"(?<=[A-Za-z0-9_.@-]):(\$\$?(?:apr1|1|5|6|7|y|gy|2[abxy]?|argon2(?:id|i|d))\$\$?"
        r"[A-Za-z0-9./+=,$]{20,250}|\{SS?HA(?:256|512)?\}[A-Za-z0-9+/]{27,120}={0,2})",
    ),
    Rule(
        "docker-auth",
        "a user and a password in the `auth` of a Docker or npm configuration",
        ('auth"', "_auth"),
        r"""(?:_|(?<=["']))auth["']?\s{0,4}[:=]\s{0,4}["']?([A-Za-z0-9+/]{10,1000}={0,2})(?![A-Za-z0-9+/=])""",
        is_login,
        wide=True,
    ),
    Rule(
        "netrc-password",
        "a password in the manner of .netrc: machine, login, password",
        ("machine",),
        r"(?<![A-Za-z])machine\s{1,8}\S{1,100}(?:\s{1,20}(?:login|account)\s{1,8}\S{1,100}){0,2}"
        r"\s{1,20}password\s{1,8}(\S{3,200})",
        is_given,
        wide=True,
    ),
    Rule(
        "curl-user",
        "user name and password behind `curl -u`",
        ("curl ",),
        r"curl\s(?:[^\n|;\\]|\\\n?){0,200}?(?<=\s)(?:-[A-Za-z]{0,5}[uU]|--(?:proxy-)?user)[\s=]{0,3}"
        r"""["']?([^\s:"'$<>{\[]{1,100}):(?!\1(?:["'\s]|$))([^\s"'<>]{3,200})""",
        is_given,
        wide=True,
    ),
    _guess(
        "http-authorization",
        "the value of an Authorization header",
        ("authorization", "bearer "),
        r"(?:authorization[\\\"'\]]{0,3}\s{0,3}[:=,]\s{0,3}[\\\"']{0,2}(?:bearer|basic|token)|bearer)"
        r"\s{1,3}([A-Za-z0-9._~+/=-]{16,1000})",
        is_random,
    ),
    _guess(
        "password-assignment",
        "a password after `password:` or `password =`",
        words.PASSWORD_LITERALS,
        words.PASSWORD + words.OF + words.IS + words.CHOSEN,
        is_chosen,
    ),
    _guess(
        "secret-assignment",
        "a random value after `secret`, `token` or `api_key` and a sign",
        words.SECRET_LITERALS,
        words.SECRET + words.OF + words.IS + words.ISSUED,
        is_random,
    ),
    _guess(
        "password-in-prose",
        "a password in a sentence: the password is ...",
        words.PASSWORD_LITERALS,
        words.PASSWORD + words.SAYS + words.SPOKEN,
        is_chosen,
    ),
    _guess(
        "password-in-prose",
        "a password in a sentence, in any of eight languages: the password is ...",
        words.CJK_LITERALS,
        words.CJK_PASSWORD + words.CJK_SAYS + words.CJK_SPOKEN,
        is_chosen,
    ),
    _guess(
        "secret-in-prose",
        "a random value in a sentence: the API key is ...",
        ("secret", "token", "api key", "access key"),
        words.SECRET + words.SAYS + words.ISSUED,
        is_random,
    ),
    _guess(
        "wifi-password",
        "the key of a wireless network: wifi password ...",
        words.WIFI_LITERALS,
        words.WIFI,
        is_network_key,
    ),
    _guess(
        "wifi-password",
        "the key of a wireless network: wifi password ..., password of the wifi ...",
        words.OF_WIFI_LITERALS,
        words.OF_WIFI,
        is_network_key,
        needs=words.WIFI_LITERALS,
    ),
)
