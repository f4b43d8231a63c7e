"""How people introduce a password or a key: the words, the signs and the sentences, as patterns.

The languages are those of `common_words`. A pattern is tried where one of its literals stands, in
lower case; Chinese and Japanese have no spaces, so there a value ends where their letters begin.
"""

from __future__ import annotations

# As few as can be, since every text is searched for each of them. What a pattern has before its
# literal is a look-behind.
PASSWORD_LITERALS = (
    *("pass", "pwd", "psk", "kennwort", "mdp", "contrase", "clave de acceso", "senha"),
    "parola d",
)
PASSWORD = (
    r"(?:passwor[dt]|passwd|passphrase|passcode|pwd|(?<![a-z0-9])psk(?![a-z])|kennwort"
    r"|(?<=\bmot[ _-]de[ _-])passe|(?<=\bmotde)passe|(?<=\bpalavra[ -])passe|(?<![a-z])mdp(?![a-z])"
    r"|contrase[ñn]a|clave de acceso|(?<![a-z])senha|parola d['\u2019](?:ordine|accesso))"
)
CJK_LITERALS = ("密码", "密碼", "口令", "パスワード", "暗証番号")
CJK_PASSWORD = rf"(?:{'|'.join(CJK_LITERALS)})"

SECRET_LITERALS = (
    *("secret", "token", "api_key", "api-key", "api key", "apikey", "access_key", "access-key"),
    *("access key", "accesskey", "auth_key", "auth-key", "authkey", "private_key", "private-key"),
    *("privatekey", "credential"),
)
# `[Unsummarized Range] begin=12 end=45 count=34 token=...` is our own: it names a range.
_OWN = "".join(rf"(?<!count=[0-9]{{{digits}}} )" for digits in range(1, 8))
# The name of a secret in AWS: arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME. An account is a
# number, or what stands for one.
_ARN = r"(?<!(?-i:[0-9A-Z_>}*]):)"
# Tokens that say where somebody is in a list or which version he has seen, and open nothing.
_MARKERS = "".join(
    rf"(?<!{word}[ _-])(?<!{word})"
    for word in ("page", "next", "csrf", "sync", "continuation", "version", "cursor", "resume")
)
SECRET = (
    rf"{_ARN}{_MARKERS}{_OWN}"
    r"(?:secret|token|api[ _-]?key|access[ _-]?key|auth[_-]?key|private[_-]?key|credentials?)"
)

OF = r"(?:[_-]?(?:access[_-]?key|key|token|value|prod|dev|test|live|staging|root|[0-9]{1,2}))?"
IS = (
    r"""[\\"'`*_\])]{0,5}[ \t]{0,8}(?::=|=>|==?|[:\uff1a]|>|(?<=[ \t])\|(?=[ \t]))"""
    r"""[*_]{0,3}[ \t]{0,8}["'`*\\]{0,4}"""
)
_OPEN = r"""["'`*_\u201c\u2018\u201e\u00ab]{0,4}"""
SAYS = (
    r"\b[^\n.;:=|]{0,60}?\s"
    r"(?:is|was|to|ist|lautet|war|auf|est|était|es|era|é|è)(?: now)?[: ]{1,3}" + _OPEN
)
CJK_SAYS = (
    r"[^\n\u3002\uff1b.;A-Za-z0-9]{0,20}?(?:[:\uff1a=]|是|为|為|は|が|成)[ \t\u3000「『]{0,3}"
    + _OPEN
)

CHOSEN = r"""([^\s"'`<>\u201d\u2019]{8,200})"""
SPOKEN = r"""((?=\S{0,60}?[0-9@#$%^&!])[^\s"'`<>\u201d\u2019]{6,200})"""
CJK_SPOKEN = r"""((?=[!-~]{0,60}?[0-9@#$%^&!])[!#-&(-;=?-_a-~]{6,200})"""
ISSUED = r"""([^\s"'`<>&\u201d\u2019]{16,400})"""

_NETWORK = r"(?:wi-?fi|wlan)"
_KEY = (
    r"(?:passwor[dt]|passphrase|passcode|kennwort|schlüssel|clé|passe|mdp|clave"
    r"|contrase[ñn]a|chave|senha|chiave|密码|密碼|パスワード)"
)
_TO = r"[ \t]{0,3}(?:[:\uff1a=]|(?:is|ist|lautet|es|est|é|è)[ \t]|是|は)?[ \t]{0,3}" + _OPEN
_NETWORK_KEY = r"((?=\S{0,60}?[0-9@#$%^&!])[!#-&(-;=?-_a-~]{8,63})"
WIFI_LITERALS = ("wifi", "wi-fi", "wlan")
# The second form is what a telephone reads from a picture to join a network.
WIFI = (
    rf"{_NETWORK}[ \t_-]{{0,2}}(?:network[ \t]|netz)?{_KEY}{_TO}{_NETWORK_KEY}"
    r"|wifi:(?:[sthir]:[^;\n]{0,64};){0,4}p:([^;\s]{8,63});"
)
OF_WIFI_LITERALS = (
    *("pass", "kennwort", "schlüssel", "clé ", "mdp", "clave", "contrase", "chave", "senha"),
    "chiave",
)
OF_WIFI = (
    rf"{_KEY}[ \t]{{1,2}}(?:(?:of|for|the|our|guest|fürs?|vom|des|der|zum|das|du|de|la|le|del|do|da"
    rf"|para|della|di|per|il)[ \t]{{1,2}}){{0,3}}{_NETWORK}{_TO}{_NETWORK_KEY}"
)
