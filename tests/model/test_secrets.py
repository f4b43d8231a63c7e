"""Credentials are found in every reading of a text, and ordinary text is left alone."""

from __future__ import annotations

import base64
import hashlib
import random
import signal
import sys
import textwrap
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.model.secrets import find as secrets
from gitmem.model.secrets import seed_phrases
from gitmem.model.secrets.find import RULES, SecretMatch, find, find_new, redact
from gitmem.model.secrets.seed_words import key_of, positions
from gitmem.model.secrets.shapes import is_chosen, is_random
from tests.support.samples import (
    BIP39,
    HEX,
    LETTERS,
    UPPER,
    base58check,
    body,
    in_context,
    narrow,
    pem,
    seed_phrase,
)

TOKENS = [(rule, token) for rule, tokens in narrow().items() for token in tokens]
CONTEXTS = [(rule, *sample) for rule, samples in in_context().items() for sample in samples]


def numbered(samples: Sequence[tuple[str, ...]]) -> list[str]:
    """Names for the tests that do not show the sample."""
    return [f"{sample[0]}-{number}" for number, sample in enumerate(samples)]


each_token = pytest.mark.parametrize(("rule", "token"), TOKENS, ids=numbered(TOKENS))
each_context = pytest.mark.parametrize(("rule", "text", "value"), CONTEXTS, ids=numbered(CONTEXTS))


def facts(text: str) -> list[tuple[str, int]]:
    return [(finding.rule, finding.line) for finding in find(text)]


def test_every_rule_has_a_sample_and_a_description() -> None:
    assert set(RULES) == {rule for rule, *_ in TOKENS + CONTEXTS}
    assert all(about and "\n" not in about for about in RULES.values())


@each_token
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "# Title\n\nthe key is here: {}.\n",
        "(`{}`)",
        'x = "{}";',
        "https://x.example/?a={}&b=1",
        "first\\n{}\\nlast",
        "日本語{}日本語",
        "<b>{}</b>",
    ],
)
def test_a_token_is_found_whole_wherever_it_stands(rule: str, token: str, around: str) -> None:
    text = around.format(token)

    assert [(found.rule, found.value) for found in find(text)] == [(rule, token)]
    assert find(text)[0].line == text[: text.index(token)].count("\n") + 1


@each_context
def test_a_value_is_found_by_what_stands_around_it(rule: str, text: str, value: str) -> None:
    assert (rule, value) in [(found.rule, found.value) for found in find(f"before\n{text}\nafter")]


@each_token
def test_a_token_cut_by_a_line_break_is_found(rule: str, token: str) -> None:
    for at in {1, 3, len(token) // 2, len(token) - 2}:
        for margin in ("\n", "\r\n", "\n    ", "\n> ", " \\\n  "):
            text = f"one\nkey: {token[:at]}{margin}{token[at:]} and more\n"

            assert {found for found, line in facts(text) if line in (2, 3)} == {rule}
            assert token[at:] not in redact(text)[0] or len(token[at:]) < 8


def test_a_token_over_many_lines_is_found_and_so_is_one_inside_a_column_of_words() -> None:
    (jwt,) = narrow()["jwt"]
    token = narrow()["github-token"][0]
    column = f"{'a' * 30}\n{token[:20]}\n{token[20:]}\n{'b' * 30}\n"

    assert facts("see\n" + "\n".join(textwrap.wrap(jwt, 40)) + "\nend") == [("jwt", 2)]
    assert facts(column) == [("github-token", 2)]


@each_token
def test_a_token_in_base64_is_found_and_redacted_as_a_whole(rule: str, token: str) -> None:
    for plain in (token, f'{{"user": "ada", "key": "{token}"}}', f"é {token}\n"):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            encoded = encode(plain.encode()).decode()
            text = f"a\nconfig: {encoded}\n"

            assert (rule, 2) in facts(text)
            assert redact(text)[0].startswith("a\nconfig: [redacted: ")
            assert encoded.rstrip("=")[:24] not in redact(text)[0]


def test_base64_is_found_behind_a_word_and_over_several_lines() -> None:
    token = narrow()["anthropic-key"][0]
    encoded = base64.b64encode(f"the key of the robot is {token}, keep it".encode()).decode()

    for word in ("x/", "xy-", "xyz_"):
        assert facts(word + encoded) == [("anthropic-key", 1)]
    assert facts("\n".join(textwrap.wrap(encoded, 76))) == [("anthropic-key", 1)]
    assert facts(base64.b64encode(pem("RSA").encode()).decode()) == [("private-key", 1)]


@each_context
def test_redacting_keeps_everything_but_the_value(rule: str, text: str, value: str) -> None:
    clean, count = redact(f"before\n{text}\nafter")

    assert value not in clean
    assert f"[redacted: {rule}]" in clean
    assert clean.startswith("before\n")
    assert clean.endswith("\nafter")
    assert count == clean.count("[redacted: ")
    assert redact(clean) == (clean, 0)


def test_a_redacted_value_is_gone_wherever_else_it_stands() -> None:
    secret = "Tr0ub4" + "dor&3"

    clean, count = redact(f"password: {secret}\nThen I typed {secret} twice: {secret}\n")

    assert secret not in clean
    assert count == 3


def test_text_without_secrets_is_redacted_to_itself() -> None:
    assert redact("nothing here\r\n") == ("nothing here\r\n", 0)


def test_a_specific_rule_wins_over_guesswork() -> None:
    token = narrow()["github-token"][0]

    assert facts(f"GITHUB_TOKEN={token}") == [("github-token", 1)]
    assert facts(f"the token is {token}") == [("github-token", 1)]
    assert facts(f"Authorization: Bearer {narrow()['jwt'][0]}") == [("jwt", 1)]
    assert find_new(f"token: {token}", None, ["github-token"]) == []


def test_findings_come_by_line_and_once_each() -> None:
    github, npm = narrow()["github-token"][0], narrow()["npm-token"][0]

    assert facts(f"{npm}\n\n{github} {github}\n{github} {npm}\n") == [
        ("npm-token", 1),
        ("github-token", 3),
        ("github-token", 4),
        ("npm-token", 4),
    ]


def test_only_what_was_not_there_before_is_new() -> None:
    old, new = narrow()["github-token"][:2]
    before = f"# Notes\n{old}\n"

    assert find_new(f"# Notes\nmore\n{old}\n", before) == []
    assert [found.value for found in find_new(f"{old}\n{new}\n", before)] == [new]
    assert [found.value for found in find_new(f"{old}\n", None)] == [old]
    assert find_new(f"{new}\n", before, allowed=["github-token"]) == []
    assert len(find_new(f"{new}\n", before, allowed=["npm-token"])) == 1
    cut = f"{old[:15]}\n{old[15:]}\n"
    assert find_new(f"{cut}more\n", cut) == []


def test_a_finding_never_shows_its_value() -> None:
    token = narrow()["npm-token"][0]
    (finding,) = find(token)

    assert finding == SecretMatch("npm-token", 1, token)
    for shown in (repr(finding), str(finding), f"{finding}", repr([finding]), f"{finding!r}"):
        assert token not in shown
        assert "npm-token" in shown


NOISE = random.Random(7)
TAGS = "animal art camera city coffee family film food fruit garden music travel"
HARMLESS = [
    "",
    f"commit {body(HEX, 40)}\nMerge: {body(HEX, 7)} {body(HEX, 7, 1)}\n",
    f"see {uuid.UUID(int=NOISE.getrandbits(128))}",
    f"token: {uuid.UUID(int=NOISE.getrandbits(128))}",
    f"sha256: {hashlib.sha256(b'x').hexdigest()}\n{hashlib.sha256(b'y').hexdigest()}  file.md\n",
    f"integrity sha512-{base64.b64encode(hashlib.sha512(b'z').digest()).decode()}",
    "The password is stored in 1Password; the token is rotated every 30 days.",
    "The password is required. The secret is to keep going. A token is a word-like piece.",
    "Passwords are hashed with argon2id; the password is SHA256-hashed and base64-encoded.",
    "Her password was changed to something longer, and the API key was revoked on 2026-02-08.",
    "max_tokens: 4096\ntoken_count: 123456\ntokenizer: cl100k_base",
    "next_page_token: CAUQAA9x8y7z6w5v",
    "secret_name: prod/db/password2\npassword_file: /run/secrets/db_password_1\n",
    "[password reset](https://example.org/docs/password-reset-2024)\n[token]: https://a.example/t1",
    'password = os.environ["DB_PASSWORD_2"]\ntoken = os.getenv("API_TOKEN_V2")\n',
    "const token = process.env.GITHUB_TOKEN_2024_PROD;\napi_key: process.env.API_KEY_V2",
    "password: ${DB_PASSWORD_1}\ntoken: ${{ secrets.DEPLOY_TOKEN_2 }}",
    "api_key: {{ vault_api_key2 }}\nPASSWORD=$DB_PASS1\nSECRET=%SECRET_VALUE1%",
    "token: <your-token-here-123>\nsecret: op://vault/a1/b2",
    "password: changeme123\npassword: example1234\npassword: xxxxxxxx1\npassword: ********1",
    "password: password123\npassword: your-password-1\ntoken: your_token_goes_here_1234",
    "api_key = get_api_key(user1, scope2)\nsecret: settings.SECRET_KEY_V2",
    "token = self.tokens[index1]",
    "token: Optional[str] = None\npassword: str = Field(min_length=12)\nsecret: SecretStr",
    "| Token | Description2 |\n|---|---|\n| password | 12+ characters |\n",
    "postgres://user:password@db/app https://user:pass@host.tld redis://:${REDIS_PASSWORD}@cache:6379",
    "https://example.org:8080/path@v1.2 git@github.com:a/b.git ssh://git@host:22/x mailto:a@b.org",
    "postgres://postgres:postgres@localhost:5432/app amqp://guest:guest@mq",
    "https://ada:lovelace1@example.com/",
    "-----BEGIN PRIVATE KEY----- is the first line of such a file and should never be committed",
    "-----BEGIN CERTIFICATE-----\n"
    + "\n".join([body(LETTERS, 64)] * 4)
    + "\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\n" + body(LETTERS, 64) + "\n-----END PUBLIC KEY-----",
    "ssh-ed25519 " + body(LETTERS, 68) + " ada@host",
    "".join(["AKIA", "IOSFODNN7", "EXAMPLE"]),
    "".join(["gh", "p_", "x" * 36, " and sk-", "ant-api03-", "..." * 20]),
    "xo" + "xb-123456789012-1234567890123-abcdefghijklmnopqrstuvwx",
    "https://hooks.slack.com/" + "services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
    "class sk-folding-cube-animation-container, task-runner-with-a-very-long-identifier-name",
    "uses hf_hub_download and npm_config_registry and secret_manager_client_factory_builder",
    "Authorization: Bearer $TOKEN\nAuthorization: Bearer <token>",
    "Bearer authentication-flow-for-v2",
    "if (password === confirm_password1) { token = next_token(state2); }",
    "![](data:image/png;base64," + base64.b64encode(NOISE.randbytes(9000)).decode() + ")",
    textwrap.fill(base64.b64encode(NOISE.randbytes(9000)).decode(), 76),
    base64.b64encode(
        b"A perfectly ordinary sentence about tokens and passwords, in base64."
    ).decode(),
    "日記: パスワードは変更しました。トークンは無効です。" * 50,
    "[Unsummarized Range] begin=12 end=45 count=34 token=" + body(HEX, 16),
    "[Unsummarized Range] begin=1 end=1 count=1234567 token=" + body(HEX, 16, 1),
    f'"nextToken": "{body(LETTERS, 60)}"\ncontinuation-token: {body(LETTERS, 40)}',
    f'"version_token": "{body(LETTERS, 45)}", resumeToken: {body(LETTERS, 44)}',
    "the password according to RFC7613; a password when exporting to PKCS#8; http://foo:bar@my.host",
    "mongodb://heroku_12345678:random_password@ds029017.mlab.internal:29017/x",
    "password policy is strict; the wifi password policy is stricter than 802.1x",
    "password: ********\npassword: <your-key>\npassword: xxxxxx\npassword: ${{ inputs.password1 }}",
    "const password = process.env.SESSION_PASSWORD_2!\npassword: test1234\npassword: Password123!",
    "Das Passwort ist im Tresor. Das Kennwort lautet wie immer; Passwort-Regeln: mindestens 12.",
    "Le mot de passe est obligatoire (8 caractères). MDP: voir le coffre-fort 1Password.",
    "La contraseña es obligatoria. A senha é obrigatória; o desenhado: 12 itens por página.",
    "La password è obbligatoria. Parola d'ordine: semplicità. La clave del wifi está en el router.",
    "密码是必填的。密码：见1Password。パスワードは8文字以上です。パスワード：必須",
    "machine learning login password reset: the machine is used by login and password",
    "curl -u user:password https://a.example; curl -u $USER:$PASS https://b; curl -u admin:admin c",
    "docker run -u 1000:1000 --user 1000:1000 image; curl -o out.txt -u ada https://a.example",
    '{"auth": "dXNlcm5hbWU6cGFzc3dvcmQ="} and "auth": "oauth2" and auth: none',
    "root:x:0:0:root:/root:/bin/bash\nroot:*:19700:0:99999:7:::\nroot:!:19700::::::",
    "cost $2a$10$ and $6$ and $apr1$ are prefixes of hashes; price:$100; user:$HOME",
    "https://a.example/?sig=abc&sv=1 &sig=short; a file sig=none",
    "wifi password is on the router; wifi password: see the note; WLAN-Passwort siehe Zettel",
    "WIFI:T:nopass;S:guests;; and WIFI:T:WPA;S:home;P:xxxxxxxxxx;;",
    "pattern.0123456789, path.join, patch.rej, NRAK- is the prefix, glsa_ too, figd_ and sbp_",
    "use `foo**bar**baz`, x**2 and a*b; snake_case__names and `code``spans` in a row",
    "50% of 100%, a &amp; b &lt; c, C:\\new\\table, \\u0041lpha, caf\u00e9, nai\u0308ve, 5\u20136",
    "see https://a.example/a%20b%2Fc?d=%7B%22e%22%3A1%7D and &nbsp; &copy; &#169; &#x1F600;",
    "pbkdf2(password: Uint8Array, salt: Uint8Array)\n    password: String?,\n",
    "gh" + "p_PersonalAccessToken01245678900000000",
    f"commit {body(HEX, 64)} uses a private key; image@sha256:{body(HEX, 64, 1)}",
    f"The private key never leaves the device. Checksum: {body(HEX, 64, 2)}",
    f"the sha256 of the private key is {body(HEX, 64, 3)}",
    f"the private key signs; its public key is {body(HEX, 64, 4)}",
    f"send it to 0x{body(HEX, 40)} or {base58check(bytes(1) + random.Random(1).randbytes(20))}",
    f"private key: 0x{'0' * 63}1, private key {'0123456789abcdef' * 4}, private key: <hex digits>",
    base58check(b"\x80" + random.Random(1).randbytes(32))[:-1] + "2",
    base58check(b"\x04\x88\xb2\x1e" + random.Random(4).randbytes(74)),
    "seed phrase: " + "test " * 11 + "junk",
    "mnemonic: " + " ".join(seed_phrase(12)[:11]) + " zebrafish",
    "the recovery phrase is a list of twelve words that you write down and keep in a safe place",
    "\n".join(f"- {word}" for word in seed_phrase(12, valid=False)),
    ", ".join(seed_phrase(15, valid=False)),
    " ".join(seed_phrase(12, valid=False)),
    "\n".join(f"{number}. {word}" for number, word in enumerate(seed_phrase(12, valid=False), 1)),
    f"tags: {', '.join(seed_phrase(24, valid=False))}",
    "tags:\n" + "\n".join(f"  - {word}" for word in sorted(seed_phrase(12))),
    ", ".join([*seed_phrase(12), *seed_phrase(12, 1)[:2]]),
    "**{}**: {} ({}), {} `{}` / {}; {} = {} + {}, {} [{}] {}".format(*seed_phrase(12)),
    "the wallet code: " + " ".join(["type", "name"] * 6 + seed_phrase(12)[:3]),
    f"tags: {TAGS}",
    TAGS,
    TAGS.replace(" ", ", "),
    f"The private key is in .env; deployment tx was 0x{body(HEX, 64, 5)}",
    f"- Private key stays in the vault; deploy tx 0x{body(HEX, 64, 5)}",
    f"private key stays in the vault; image id {body(HEX, 64, 6)}",
    f"The private key is in .env, the merkle root {body(HEX, 64, 7)}",
    f"private key loading fixed in {body(HEX, 64, 7)}",
    f"private key was removed by `{body(HEX, 64, 7)}`, see {body(HEX, 40)}",
    f"{body(HEX, 64, 7)}: private key loading\n{body(HEX, 64, 8)} - private key removed",
    f"| Commit | Private key |\n|---|---|\n| {body(HEX, 64, 7)} | removed |",
    f"| Private key hash | Of |\n|---|---|\n| {body(HEX, 64, 7)} | Ada |",
    f"## Private key\n\nIn the vault.\n\n1. {body(HEX, 64, 7)}\n- sha256: {body(HEX, 64, 8)}",
    f"## Private key\n\n- commit: {body(HEX, 64, 7)}",
    f"No private key here. Storage root 0x{body(HEX, 64, 8)}",
    f"Never share your private key in a chat, whoever asks\n0x{body(HEX, 64, 8)}",
    f"public key: {body(HEX, 64, 9)}, cache key: {body(HEX, 64, 9)}, pk {body(HEX, 64, 9)}",
    "the key of the map: [" + ", ".join(map(str, range(64))) + "]",
    f"weights [{', '.join(map(str, random.Random(6).randbytes(64)))}]",
    '{"cipher": "aes-128-ctr", "ciphertext": "<hex>", "mac": "<hex>"}',
    "Bearer sk-proj-abc123...\nredis://:authpassword@127.0.0.1:6380 https://user:p%40ss@host",
]


@pytest.mark.parametrize("text", HARMLESS, ids=range(len(HARMLESS)))
def test_ordinary_text_raises_no_alarm(text: str) -> None:
    assert find(text) == []


COUNTED = [
    "xo" + "xb-123456789012-1234567890123-abcdefghijklmnopqrstuvwx",
    "NR" + "AK-ABCDEFGHIJKLMNOPQRSTUVWXYZ1",
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "gh" + "p_1234567890abcdefghijklmnopqrstuvwxyz",
    "gh" + "p_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789",
    "sk" + "-abcdef1234567890abcdef1234567890abcdef12",
    "da" + "pi0123456789abcdef0123456789abcdef",
    "AI" + "zaSy" + "X" * 33,
    "password: abcd1234",
    "password: xxxxxxxx1",
    "wifi password 12345678",
]
NEARLY = [
    ("slack-token", "xo" + f"xb-123456789012-1234567890123-{body(LETTERS, 24, 3)}"),
    ("slack-token", "xo" + f"xb-{body('1234567890', 12)}-1234567890123-{body(LETTERS, 24, 4)}"),
    ("newrelic-key", "NR" + "AK-ABCDEFGH" + body(UPPER, 19, 3)),
    ("github-token", "gh" + "p_xxxxx" + body(LETTERS, 31, 3)),
    ("github-token", "gh" + "p_" + body(LETTERS, 20, 3) + "0000000000000000"),
    ("aws-key-id", "AKIA" + body(UPPER, 12, 4) + "ABCD"),
    ("password-assignment", "password: hunter" + "123456789"),
    ("url-password", "mysql://ada:hush" + "00000000@db.internal/x"),
]


@pytest.mark.parametrize("text", COUNTED, ids=range(len(COUNTED)))
def test_what_only_counts_up_or_repeats_a_sign_is_a_placeholder(text: str) -> None:
    assert find(text) == []


@pytest.mark.parametrize(("rule", "text"), NEARLY, ids=range(len(NEARLY)))
def test_a_key_of_which_a_part_counts_up_is_a_key(rule: str, text: str) -> None:
    assert [each.rule for each in find(text)] == [rule]


def test_the_name_of_a_secret_is_none() -> None:
    """An ARN ends in six random letters, and says where a secret is kept."""
    for account in ("123456789012", "ACCOUNT_ID", "<account>", "${Account}"):
        arn = f"arn:aws:secretsmanager:eu-west-1:{account}:secret:prod/db/Name-a1b2C3"
        for text in (arn, f"SecretArn={arn}", f'"secretArn": "{arn}"', f"- secret: {arn}"):
            assert find(f"see {text}\n") == []
    key = body(LETTERS, 32)
    assert facts(f"client:secret: {key}") == [("secret-assignment", 1)]


def test_a_seed_phrase_is_a_row_of_words_of_the_list() -> None:
    phrase = seed_phrase(12)

    assert len(positions()) == 2048
    assert {positions()[key_of(word.encode())]: word for word in BIP39.values()} == BIP39
    assert not any(key_of(word.encode()) in positions() for word in ("the", "gitmem", "oceans"))
    assert facts("x\n\n" + " ".join(phrase)) == [("seed-phrase", 3)]
    assert find(" ".join(phrase[:11])) == []
    assert find(" ".join([*phrase[:6], "gitmem", *phrase[6:]])) == []
    assert find(" gitmem ".join(phrase)) == []


def written(words: list[str]) -> list[str]:
    """How people write down words, from the first word to the last."""
    gaps = (", ", ",", "; ", "\n", "\n\n", "\n- ", "\n* ", "**\n- **", "\n- [ ] ", "\n> ", '", "')
    numbers = (".", ")", ":", " -", "")
    rows = (words[at : at + 3] for at in range(0, len(words), 3))
    return [
        *(gap.join(words) for gap in (*gaps, "-", " / ", "\r\n")),
        *(
            "\n".join(f"{at}{sign} {word}" for at, word in enumerate(words, 1))[len(f"1{sign} ") :]
            for sign in numbers
        ),
        "\n".join(" ".join(row) for row in rows),
    ]


@pytest.mark.parametrize("count", [12, 15, 18, 21, 24])
@pytest.mark.parametrize("around", ["{}", "- Ada's:\n\n{}\n\nWe meet on Friday.", "tags: {}\n"])
def test_a_seed_phrase_is_found_in_every_form(count: int, around: str) -> None:
    for form in written(seed_phrase(count)):
        assert [found.value for found in find(around.format(form))] == [form], form
    assert [each for form in written(seed_phrase(count, valid=False)) for each in find(form)] == []


@pytest.mark.parametrize("name", ["my seed phrase ", "# Seed phrase\n\n", "Recovery phrase\n"])
def test_the_words_of_its_name_are_no_words_of_the_phrase(name: str) -> None:
    """`seed`, `secret`, `phrase` and `word` are in the list."""
    for form in written(seed_phrase(12, valid=False)):
        assert [found.value for found in find(name + form)] == [form], form


def test_no_word_of_the_list_ends_a_row() -> None:
    """Two of them did: a phrase with `must` or `more` in it, one in a hundred, got in."""
    assert not [word for word in seed_phrases.COMMON if key_of(word) in positions()]


def test_a_file_that_is_nothing_but_the_bytes_of_a_key_is_one() -> None:
    numbers = ",".join(map(str, random.Random(5).randbytes(64)))

    assert facts(f"[{numbers}]\n") == [("wallet-key", 1)]
    assert find(f"weights of the net:\n[{numbers}]\n") == []


def test_prose_around_a_seed_phrase_stays() -> None:
    phrase = " ".join(seed_phrase(24))
    text = f"Wallet of the club. Only use this: {phrase}. Keep this safe and tell only Ada."

    assert redact(text) == (text.replace(phrase, "[redacted: seed-phrase]"), 1)


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Fail instead of hanging: the alarm reaches even a regular expression that backtracks."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    old = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


HOSTILE = ["a", "-", "\n", "A/", "a\n", "eyJ", "://a:b", "password is a", "-----BEGIN ", "AKIA"]
MORE_HOSTILE = [
    *("=", " ", "aA1", "ab cd", "\\n", "é", "%3D", "'", "|", "@", "A: b\n", "a" * 19 + "\n"),
    *("sk-", "sk-proj-", "eyJa.", "-eyJ", "xox", "://", "://:", ":AA", "1:AA", "Q~", "MT", "ghp_"),
    *("password", "password:", "password is to ", "secret=a1", "token: ", "bearer ", "key-", "SG."),
    *("-----BEGIN RSA PRIVATE KEY-----", "Private-Lines: 1", '"private_key":"', "glpat-"),
    *("authorization:bearer ", "AKIA" + "A" * 16 + " "),
    *(
        "\\",
        "\\_",
        "\\u0041",
        "\\\\",
        "&",
        "&amp;",
        "&#",
        "&#45;",
        "%",
        "%41",
        "%2525",
        "<",
        "<b>",
        "a<b>",
    ),
    *(
        "a</b>b",
        "\x1b",
        "\x1b[",
        "\x1b[31m",
        "\x1b]8;;",
        "\u00ad",
        "\u200b",
        "a\u0301",
        "\uff21",
        "\uff1a",
    ),
    *(
        "*",
        "a*",
        "a**b",
        "``",
        "~~",
        "\0",
        "\u00a0",
        "machine ",
        "curl ",
        "curl -u ",
        "a:$6$",
        "sig=",
    ),
    *(
        "?sig=",
        "wifi password",
        "clave ",
        "mot de passe",
        "密码",
        "密码是",
        '"auth":"',
        "pat",
        "WIFI:",
    ),
    *(
        "seed ",
        "seed, ",
        "seed" + " " * 13,
        "1. seed\n",
        "abandon zebrafish ",
        "K",
        "5" * 52 + "\n",
    ),
    *(
        "private key ",
        "| 0x" + "a1" * 32 + " |\n",
        "|-|\n| 0x" + "a1" * 32 + " |\n",
        "private keys\n" + "- ada: 0x" + "a1" * 32 + "\n",
        "0x" + "a1" * 32 + ": priv",
        "priv",
        "private key: 0x" + "a" * 63,
        "aes-128-ctr'",
        "nsec1",
        "[" + "1," * 63,
        "0x" + "a1" * 32 + " ",
        "pk: 0x" + "b1" * 32 + "\n",
        f"ciphertext: '{'ab' * 32}' ",
        "xprv",
        "ciphertext: '",
    ),
    *("\n\n\\_", "count=1 token=", "\r", "a\r", "=41", "=\n", "a=\n", "=\r\n", "\x0c", "1", "12"),
]


@pytest.mark.parametrize("unit", HOSTILE, ids=range(len(HOSTILE)))
def test_a_mebibyte_of_anything_comes_back(unit: str) -> None:
    with within(30):
        assert find((unit * (2**20 // len(unit) + 1))[: 2**20]) is not None


@pytest.mark.parametrize("unit", MORE_HOSTILE, ids=range(len(MORE_HOSTILE)))
def test_no_repetition_makes_the_search_quadratic(unit: str) -> None:
    with within(20):
        assert find(unit * (2**16 // len(unit))) is not None


@pytest.mark.parametrize("unit", ["A: ", "A: \n", "A", "A ", "> ", "\\n", "A" * 20 + "\n", "- "])
@pytest.mark.parametrize("head", ["-----BEGIN RSA PRIVATE KEY-----\n", "Private-Lines: 3\n"])
def test_no_body_makes_a_key_quadratic(head: str, unit: str) -> None:
    with within(20):
        assert find((head + unit * 400) * (2**16 // (400 * len(unit)))) is not None


def work(act: Callable[[], object]) -> int:
    """How many functions ACT calls, our own and those of the interpreter."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        act()
    finally:
        sys.setprofile(None)
    return calls


REPEATED = [
    *("seed ", "seed phrase " + "ocean " * 11, "ocean usual unveil either dry box "),
    *("private key ", "xprv", "K" * 52 + " "),
    "password=",
    "token=",
    "password is a1 ",
    "\\_",
    "&amp;",
    "a**b",
    "ghp_",
    "\u00ad",
    "%41",
]


@pytest.mark.parametrize("unit", REPEATED)
@pytest.mark.parametrize("act", [find, redact], ids=["find", "redact"])
def test_twice_the_text_is_twice_the_work(act: Callable[[str], object], unit: str) -> None:
    small, large = unit * 400, unit * 1600

    is_chosen.cache_clear()
    is_random.cache_clear()
    first = work(lambda: act(small))
    assert work(lambda: act(large)) < 4 * first * 1.5 + 3000


@pytest.mark.parametrize("unit", [*HOSTILE, *REPEATED, "password=a1 ", "password: a1b2 x\n"])
def test_redacting_reads_a_text_a_few_times_at_most(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it read 1 MB of `password=` for nine seconds."""
    read: list[int] = []
    hits = secrets._hits

    def counted(text: str) -> object:
        read.append(len(text))
        return hits(text)

    monkeypatch.setattr(secrets, "_hits", counted)
    redact(unit * 2000)

    assert len(read) <= 6


def test_what_cannot_be_redacted_value_by_value_is_redacted_line_by_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where every redaction made a new credential, none would be the last one."""
    token = narrow()["npm-token"][0]
    text = f"one\nkey {token} and {token[:20]}\nlast\n"
    monkeypatch.setattr(secrets, "_as_found", lambda text, hits: [])

    clean, _ = redact(text)

    assert clean == "one\n[redacted: npm-token]\nlast\n"


def test_what_is_known_to_be_none_stays() -> None:
    github, npm = narrow()["github-token"][0], narrow()["npm-token"][0]

    clean, count = redact(f"{github} {npm}\n", lambda rule, value: value == npm)

    assert (clean, count) == (f"[redacted: github-token] {npm}\n", 1)


def test_a_value_in_two_disguises_is_one_value() -> None:
    token = narrow()["npm-token"][0]
    before = f"key {token}\n"

    assert find_new(f"key {token[:8]}\u200b{token[8:]}\n", before) == []
    assert len(find_new(f"key {token[:8]}\u200b{token[8:]}\n", None)) == 1


def test_a_key_without_an_end_does_not_swallow_the_page() -> None:
    head = pem("RSA").partition("-----END")[0]

    assert redact(f"{head}\nThat was it, in short words.\n")[0].endswith("in short words.\n")


samples = st.sampled_from([token for _, token in TOKENS] + [text for _, text, _ in CONTEXTS])
glue = st.text(max_size=20) | st.sampled_from(["\n", " ", "\n> ", "=", "password: ", "/", '"', ""])


@given(st.text())
def test_find_takes_any_text(text: str) -> None:
    assert isinstance(find(text), list)


@given(st.text("ab1 \n\r\t\x0b\x0c\x1c\x85\u2028\u3000>\\.:=-_/\ud800İ", max_size=80))
def test_find_takes_any_white_space(text: str) -> None:
    assert isinstance(find(text), list)


@given(st.lists(st.one_of(samples, glue), max_size=6))
@settings(max_examples=250, deadline=None)
def test_nothing_is_left_to_find_after_redacting(pieces: list[str]) -> None:
    text = "".join(pieces)

    clean, count = redact(text)

    assert find(clean) == []
    assert (count == 0) == (clean == text)
    assert (count > 0) == (find(text) != [])


@given(st.lists(samples, min_size=1, max_size=4), st.text("ab \n", max_size=30))
@settings(max_examples=50, deadline=None)
def test_what_was_there_before_is_never_new(pieces: list[str], more: str) -> None:
    text = "\n\n".join(pieces)

    assert find_new(text, text) == []
    assert find_new(f"{more}\n\n{text}\n\n{more}", text) == []


def test_base64_of_a_password_is_found() -> None:
    plain = '{"username": "ada", "password": "' + "Tr0ub4" + 'dor&3"}'

    assert facts(base64.b64encode(plain.encode()).decode()) == [("password-assignment", 1)]
