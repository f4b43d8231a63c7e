"""Rules for credentials that their context reveals: an address, a command, a file, a sentence.

Those in sentences are guesses, by words in the languages of `language/common_words`. A pattern is
tried at one of its literals, in lower case. Chinese and Japanese have no spaces, so there a value
ends where their letters begin.
"""

from __future__ import annotations

from collections.abc import Callable

from gitmem.model.secrets.shapes import (
    Rule,
    is_chosen,
    is_given,
    is_login,
    is_mixed,
    is_network_key,
    is_random,
)

# As few as possible, since every text is searched for each. Words of a pattern before its literal
# are a look-behind.
_PASSWORD_LITERALS = (
    *("pass", "pwd", "psk", "kennwort", "mdp", "contrase", "clave de acceso", "senha"),
    "parola d",
)
_PASSWORD = (
    r"(?:passwor[dt]|passwd|passphrase|passcode|pwd|(?<![a-z0-9])psk(?![a-z])|kennwort"
    r"|(?<=\bmot[ _-]de[ _-])passe|(?<=\bmotde)passe|(?<=\bpalavra[ -])passe|(?<![a-z])mdp(?![a-z])"
    r"|contrase[ñn]a|clave de acceso|(?<![a-z])senha|parola d['\u2019](?:ordine|accesso))"
)
_CJK_LITERALS = ("密码", "密碼", "口令", "パスワード", "暗証番号")
_CJK_PASSWORD = rf"(?:{'|'.join(_CJK_LITERALS)})"

_SECRET_LITERALS = (
    *("secret", "token", "api_key", "api-key", "api key", "apikey", "access_key", "access-key"),
    *("access key", "accesskey", "auth_key", "auth-key", "authkey", "private_key", "private-key"),
    *("privatekey", "credential"),
)
# `[Unsummarized Range] begin=12 end=45 count=34 token=...` is our own output.
_OWN = "".join(rf"(?<!count=[0-9]{{{digits}}} )" for digits in range(1, 8))
# The name of a secret in AWS: arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME. An account is a
# number, or what stands for one.
_ARN = r"(?<!(?-i:[0-9A-Z_>}*]):)"
# Tokens for a position in a list or a version, which grant no access.
_MARKERS = "".join(
    rf"(?<!{word}[ _-])(?<!{word})"
    for word in ("page", "next", "csrf", "sync", "continuation", "version", "cursor", "resume")
)
_SECRET = (
    rf"{_ARN}{_MARKERS}{_OWN}"
    r"(?:secret|token|api[ _-]?key|access[ _-]?key|auth[_-]?key|private[_-]?key|credentials?)"
)

_OF = r"(?:[_-]?(?:access[_-]?key|key|token|value|prod|dev|test|live|staging|root|[0-9]{1,2}))?"
_IS = (
    r"""[\\"'`*_\])]{0,5}[ \t]{0,8}(?::=|=>|==?|[:\uff1a]|>|(?<=[ \t])\|(?=[ \t]))"""
    r"""[*_]{0,3}[ \t]{0,8}["'`*\\]{0,4}"""
)
_OPEN = r"""["'`*_\u201c\u2018\u201e\u00ab]{0,4}"""
_SAYS = (
    r"\b[^\n.;:=|]{0,60}?\s"
    r"(?:is|was|to|ist|lautet|war|auf|est|était|es|era|é|è)(?: now)?[: ]{1,3}" + _OPEN
)
_CJK_SAYS = (
    r"[^\n\u3002\uff1b.;A-Za-z0-9]{0,20}?(?:[:\uff1a=]|是|为|為|は|が|成)[ \t\u3000「『]{0,3}"
    + _OPEN
)

_CHOSEN = r"""([^\s"'`<>\u201d\u2019]{8,200})"""
_SPOKEN = r"""((?=\S{0,60}?[0-9@#$%^&!])[^\s"'`<>\u201d\u2019]{6,200})"""
_CJK_SPOKEN = r"""((?=[!-~]{0,60}?[0-9@#$%^&!])[!#-&(-;=?-_a-~]{6,200})"""
_ISSUED = r"""([^\s"'`<>&\u201d\u2019]{16,400})"""

_NETWORK = r"(?:wi-?fi|wlan)"
_KEY = (
    r"(?:passwor[dt]|passphrase|passcode|kennwort|schlüssel|clé|passe|mdp|clave"
    r"|contrase[ñn]a|chave|senha|chiave|密码|密碼|パスワード)"
)
_TO = r"[ \t]{0,3}(?:[:\uff1a=]|(?:is|ist|lautet|es|est|é|è)[ \t]|是|は)?[ \t]{0,3}" + _OPEN
_NETWORK_KEY = r"((?=\S{0,60}?[0-9@#$%^&!])[!#-&(-;=?-_a-~]{8,63})"
_WIFI_LITERALS = ("wifi", "wi-fi", "wlan")
# The second form is the text of a QR code for joining a network.
_WIFI = (
    rf"{_NETWORK}[ \t_-]{{0,2}}(?:network[ \t]|netz)?{_KEY}{_TO}{_NETWORK_KEY}"
    r"|wifi:(?:[sthir]:[^;\n]{0,64};){0,4}p:([^;\s]{8,63});"
)
_OF_WIFI_LITERALS = (
    *("pass", "kennwort", "schlüssel", "clé ", "mdp", "clave", "contrase", "chave", "senha"),
    "chiave",
)
_OF_WIFI = (
    rf"{_KEY}[ \t]{{1,2}}(?:(?:of|for|the|our|guest|fürs?|vom|des|der|zum|das|du|de|la|le|del|do|da"
    rf"|para|della|di|per|il)[ \t]{{1,2}}){{0,3}}{_NETWORK}{_TO}{_NETWORK_KEY}"
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
        _PASSWORD_LITERALS,
        _PASSWORD + _OF + _IS + _CHOSEN,
        is_chosen,
    ),
    _guess(
        "secret-assignment",
        "a random value after `secret`, `token` or `api_key` and a sign",
        _SECRET_LITERALS,
        _SECRET + _OF + _IS + _ISSUED,
        is_random,
    ),
    _guess(
        "password-in-prose",
        "a password in a sentence: the password is ...",
        _PASSWORD_LITERALS,
        _PASSWORD + _SAYS + _SPOKEN,
        is_chosen,
    ),
    _guess(
        "password-in-prose",
        "a password in a sentence, in any of eight languages: the password is ...",
        _CJK_LITERALS,
        _CJK_PASSWORD + _CJK_SAYS + _CJK_SPOKEN,
        is_chosen,
    ),
    _guess(
        "secret-in-prose",
        "a random value in a sentence: the API key is ...",
        ("secret", "token", "api key", "access key"),
        _SECRET + _SAYS + _ISSUED,
        is_random,
    ),
    _guess(
        "wifi-password",
        "the key of a wireless network: wifi password ...",
        _WIFI_LITERALS,
        _WIFI,
        is_network_key,
    ),
    _guess(
        "wifi-password",
        "the key of a wireless network: wifi password ..., password of the wifi ...",
        _OF_WIFI_LITERALS,
        _OF_WIFI,
        is_network_key,
        needs=_WIFI_LITERALS,
    ),
)
