"""Made-up credentials of every documented format, put together at run time.

None of them stands in a file, so that scanners of this repository stay quiet.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string

LETTERS = string.ascii_letters + string.digits
WEB = LETTERS + "_-"
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + "234567"
BECH = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"


def body(alphabet: str, length: int, seed: int = 0) -> str:
    """A random word, the same one every time."""
    return "".join(random.Random(f"{alphabet}{length}{seed}").choices(alphabet, k=length))


def pem(label: str, newline: str = "\n") -> str:
    """A block in the armour of a private key, with noise for a key."""
    lines = [body(LETTERS + "+/", 64, seed) for seed in range(5)] + [body(LETTERS, 22) + "=="]
    dashes = "-" * 5
    label = f"{label} PRIVATE KEY".strip()
    return newline.join([f"{dashes}BEGIN {label}{dashes}", *lines, f"{dashes}END {label}{dashes}"])


BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
# Words of BIP-39 by their place in its list.
BIP39 = {
    7: "abstract",
    21: "actor",
    53: "allow",
    118: "attract",
    212: "box",
    294: "cave",
    417: "crouch",
    463: "delay",
    518: "dolphin",
    541: "dry",
    568: "either",
    642: "expect",
    653: "faculty",
    679: "female",
    681: "festival",
    744: "fringe",
    745: "frog",
    806: "gospel",
    814: "grape",
    838: "hand",
    857: "hen",
    882: "hour",
    887: "humble",
    1009: "lawsuit",
    1020: "legend",
    1021: "leisure",
    1046: "lizard",
    1144: "monitor",
    1184: "neglect",
    1223: "ocean",
    1284: "party",
    1468: "resource",
    1522: "salad",
    1569: "service",
    1595: "shuffle",
    1671: "special",
    1822: "toilet",
    1907: "unveil",
    1921: "usual",
}


def base58check(payload: bytes) -> str:
    """PAYLOAD as wallets write it, with its checksum."""
    check = hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]
    number, signs = int.from_bytes(payload + check, "big"), ""
    while number:
        number, sign = divmod(number, 58)
        signs = BASE58[sign] + signs
    return signs


def seed_phrase(count: int, seed: int = 0, *, valid: bool = True) -> list[str]:
    """COUNT different words of BIP-39, whose checksum is right, or wrong."""
    for attempt in range(10_000):
        places = random.Random(f"{count}{seed}{attempt}").sample(sorted(BIP39), count)
        bits = "".join(f"{place:011b}" for place in places)
        split = len(bits) - count // 3
        entropy = int(bits[:split], 2).to_bytes(split // 8, "big")
        digest = f"{int.from_bytes(hashlib.sha256(entropy).digest(), 'big'):0256b}"
        if digest.startswith(bits[split:]) == valid:
            return [BIP39[place] for place in places]
    raise AssertionError("no phrase has the checksum that was asked for")


def keystore(ciphertext: str, indent: int | None = None) -> str:
    """The file of an Ethereum wallet, as geth writes it."""
    crypto = {
        "cipher": "aes-128-ctr",
        "ciphertext": ciphertext,
        "cipherparams": {"iv": body(HEX, 32)},
        "kdf": "scrypt",
        "kdfparams": {"dklen": 32, "n": 262144, "p": 1, "r": 8, "salt": body(HEX, 64, 3)},
        "mac": body(HEX, 64, 2),
    }
    facts = {"address": body(HEX, 40), "crypto": crypto, "id": "x", "version": 3}
    return json.dumps(facts, indent=indent)


def turned(text: str, indent: int | None = None) -> str:
    """The same JSON with the keys of every object in reverse order."""
    rows = json.loads(text, object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    return json.dumps(rows, indent=indent)


def _jwt() -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    claims = base64.urlsafe_b64encode(b'{"sub":"ada","iat":1770000000}').decode().rstrip("=")
    return ".".join([head, claims, body(WEB, 43)])


def _discord() -> str:
    number = base64.b64encode(b"1029384756102938475").decode().rstrip("=")
    return ".".join([number, body(WEB, 6), body(WEB, 38)])


def narrow() -> dict[str, list[str]]:
    """Per rule, tokens without white space that the rule must find as a whole."""
    return {
        "aws-key-id": ["AKIA" + body(UPPER, 16), "ASIA" + body(UPPER, 16, 1)],
        "github-token": [
            *(f"gh{kind}_" + body(LETTERS, 36) for kind in "pousr"),
            "github_" + "pat_" + body(LETTERS, 22) + "_" + body(LETTERS, 59),
        ],
        "gitlab-token": [
            "glpat" + "-" + body(WEB, 20),
            "glrt" + "-" + body(WEB, 20),
            "glpat" + "-" + body(LETTERS, 27) + ".01." + body(HEX, 9),
        ],
        "anthropic-key": [
            "sk-" + "ant-api03-" + body(WEB, 93) + "AA",
            "sk-" + "ant-oat01-" + body(WEB, 93) + "AA",
        ],
        "openai-key": [
            "sk" + "-" + body(LETTERS, 48),
            "sk" + "-proj-" + body(WEB, 120) + "a",
            "sk" + "-or-v1-" + body(HEX, 64),
        ],
        "google-api-key": ["AI" + "za" + body(LETTERS, 35)],
        "google-oauth": ["GOC" + "SPX-" + body(LETTERS, 28), "ya" + "29." + body(WEB, 120) + "a"],
        "slack-token": [
            "xo" + "xb-" + f"{body('1234567890', 12)}-{body('1234567890', 13)}-{body(LETTERS, 24)}",
            "xa" + f"pp-1-A{body(UPPER, 10)}-{body('1234567890', 13)}-{body(HEX, 64)}",
        ],
        "stripe-key": [
            "sk" + "_live_" + body(LETTERS, 24),
            "rk" + "_live_" + body(LETTERS, 99),
            "wh" + "sec_" + body(LETTERS, 32),
        ],
        "twilio-key": ["S" + "K" + body(HEX, 32)],
        "sendgrid-key": ["S" + "G." + body(WEB, 22) + "." + body(LETTERS, 43)],
        "npm-token": ["npm" + "_" + body(LETTERS, 36)],
        "pypi-token": ["py" + "pi-AgEIcHlwaS5vcmc" + body(LETTERS, 120)],
        "huggingface-token": ["h" + "f_" + body(LETTERS, 34)],
        "digitalocean-token": ["dop" + "_v1_" + body(HEX, 64)],
        "telegram-bot-token": [body("123456789", 10) + ":A" + "A" + body(LETTERS, 33)],
        "discord-bot-token": [_discord()],
        "azure-client-secret": [body(LETTERS, 3) + "8" + "Q~" + body(LETTERS, 34)],
        "jwt": [_jwt()],
        "age-key": ["AGE-SECRET-" + "KEY-1" + body(BECH, 58)],
        "databricks-token": ["da" + "pi" + body(HEX, 32), "da" + "pi" + body(HEX, 32) + "-2"],
        "linear-key": ["lin" + "_api_" + body(LETTERS, 40), "lin" + "_oauth_" + body(HEX, 64)],
        "notion-token": [
            "nt" + "n_" + body("123456789", 11) + body(LETTERS, 35),
            "sec" + "ret_" + body(LETTERS, 43),
        ],
        "shopify-token": ["shp" + "at_" + body(HEX, 32), "shp" + "ss_" + body(HEX, 32)],
        "mailgun-key": ["ke" + "y-" + body(HEX, 32)],
        "vault-token": ["hv" + "s." + body(WEB, 95) + "a"],
        "docker-token": ["dckr" + "_pat_" + body(LETTERS, 27)],
        "model-host-key": [
            "gs" + "k_" + body(LETTERS, 52),
            "xa" + "i-" + body(LETTERS, 80),
            "ppl" + "x-" + body(LETTERS, 48),
            "r" + "8_" + body(LETTERS, 37),
        ],
        "atlassian-token": [
            "ATA" + "TT3xFfGF0" + body(WEB, 170) + "=A1B2C3D4",
            "AT" + "BB" + body(LETTERS, 32),
        ],
        "grafana-token": [
            "gl" + "sa_" + body(LETTERS, 32) + "_" + body(HEX, 8),
            "gl" + "c_" + body(LETTERS, 120),
        ],
        "figma-token": ["fig" + "d_" + body(LETTERS, 40)],
        "supabase-key": ["sb" + "p_" + body(HEX, 40), "sb" + "_secret_" + body(LETTERS, 31)],
        "airtable-token": ["pa" + "t" + body(LETTERS, 14) + "." + body(HEX, 64)],
        "newrelic-key": ["NR" + "AK-" + body(UPPER, 27), body(HEX, 36) + "NR" + "AL"],
        "sentry-token": [
            "sntr" + "ys_eyJ" + body(LETTERS, 120),
            "sntr" + "yu_" + body(HEX, 64),
        ],
        "wallet-export": [
            base58check(b"\x80" + random.Random(1).randbytes(32)),
            base58check(b"\x80" + random.Random(2).randbytes(32) + b"\1"),
            base58check(b"\xef" + random.Random(3).randbytes(32) + b"\1"),
            base58check(b"\x04\x88\xad\xe4" + random.Random(4).randbytes(74)),
        ],
        "nostr-key": ["nse" + "c1" + body("qpzry9x8gf2tvdw0s3jn54khce6mua7l", 58)],
        "tailscale-key": ["ts" + "key-auth-" + body(LETTERS, 17) + "-" + body(LETTERS, 32)],
    }


def in_context() -> dict[str, list[tuple[str, str]]]:
    """Per rule, texts with the value that the rule must find in them."""
    key, issued, chosen = body(LETTERS + "/+", 40), body(LETTERS, 32), "Tr0ub4" + "dor&3"
    hexed = body(HEX, 40)
    storage, shared = body(LETTERS, 86) + "==", body(LETTERS, 43) + "="
    hook = "hooks.slack.com" + f"/services/T{body(UPPER, 8)}/B{body(UPPER, 8)}/{body(LETTERS, 24)}"
    discord = f"/api/webhooks/{body('123456789', 18)}/{body(WEB, 67)}a"
    aws = "AKIA" + body(UPPER, 16)
    rsa, ssh, putty = (
        pem("RSA"),
        pem("OPENSSH"),
        "\n" + body(LETTERS, 64) + "\n" + body(LETTERS, 64),
    )
    signature = body(LETTERS, 43)
    crypt = "$" + "6$" + body(LETTERS, 16) + "$" + body(LETTERS + "./", 86)
    bcrypt = "$" + "2y$05$" + body(LETTERS + "./", 53)
    apr = "$" + "apr1$" + body(LETTERS, 8) + "$" + body(LETTERS + "./", 22)
    login = base64.b64encode(f"ada:{chosen}".encode()).decode()
    gcp = pem("", newline=r"\n") + r"\n"
    wallet, solana, cipher = body(HEX, 64), body(BASE58, 88), body(HEX, 64, 1)
    numbers = ",".join(map(str, random.Random(5).randbytes(64)))
    spread = numbers.replace(",", ",\n  ")
    twelve, many = seed_phrase(12), seed_phrase(24)
    wrong = seed_phrase(12, valid=False)
    numbered = "\n".join(f"{number}. {word}" for number, word in enumerate(wrong, 1))
    named = ("seed phrase: {}", "My recovery phrase is `{}`, keep")
    alone = ("{}", "> {}\n")
    column = "\n".join(f"| {number} | {word} |" for number, word in enumerate(twelve, 1))
    grid = column.replace(" |\n|", " |\n|---|---|\n|", 1)
    electrum = "wild father tree among universe such mobile favorite target dynamic credit identify"
    counted = " ".join(f"{number}) {word}" for number, word in enumerate(twelve, 1))
    spoken = ", ".join(wrong[:-1]) + f", and {wrong[-1]}"
    called = "\n".join(f"Word {number}: {word}" for number, word in enumerate(wrong, 1))
    return {
        "aws-secret-key": [
            (f"aws_access_key_id = {aws}\naws_secret_access_key = {key}\n", key),
            (f"| {aws} | {key} |", key),
        ],
        "gcp-service-account": [(f'{{"type": "service_account", "private_key": "{gcp}"}}', gcp)],
        "slack-webhook": [(f"https://{hook}", hook)],
        "discord-webhook": [(f"https://discord.com{discord} is the hook", discord)],
        "azure-storage-key": [
            (f"AccountName=a;AccountKey={storage};EndpointSuffix=b", storage),
            (f"Endpoint=sb://a;SharedAccessKey={shared}", shared),
        ],
        "private-key": [
            (f"the key:\n\n{rsa}\n", rsa),
            (pem("EC"), pem("EC")),
            (pem("PGP").replace("KEY-", "KEY BLOCK-"), pem("PGP").replace("KEY-", "KEY BLOCK-")),
            (rsa.replace("\n", "\n    "), rsa.replace("\n", "\n    ")),
            (rsa[:400], rsa[: rsa.rindex("\n", 0, 400)]),
        ],
        "ssh-private-key": [(ssh, ssh), (f"Private-Lines: 2{putty}\nPrivate-MAC: x", putty)],
        "url-password": [
            ("postgres://app:" + "s3cr3t" + "pw9@db.internal:5432/app", "s3cr3t" + "pw9"),
            ("redis://:" + "hushhush" + "@cache:6379", "hushhush"),
            ("see https://ada:" + "lovelace" + "@git.internal/x.git for it", "lovelace"),
        ],
        "azure-sas": [
            (f"https://a.blob.core.windows.net/b/c?sv=2024-11-04&se=2027&sig={sign}", sign)
            for sign in (f"{signature}%3D", f"{signature}=", signature, f"%2F{signature[:42]}%3D")
        ],
        "password-hash": [
            (f"root:{crypt}:19700:0:99999:7:::", crypt),
            (f"ada:{bcrypt}", bcrypt),
            (f"ada@example.org:{apr}", apr),
        ],
        "docker-auth": [
            (f'{{"auths": {{"https://index.docker.io/v1/": {{"auth": "{login}"}}}}}}', login),
            (f"//registry.internal/:_auth={login}", login),
        ],
        "netrc-password": [
            (f"machine git.internal login ada password {issued}", issued),
            ("machine git.internal\n  login ada\n  password " + "hush" + "hush", "hushhush"),
        ],
        "curl-user": [
            ("curl -u ada:" + "hush" + "hush https://api.internal/x", "hushhush"),
            ("curl -sS --user 'ada:" + "hush" + "hush' https://api.internal", "hushhush"),
            ('curl https://api.internal \\\n  -su "ada:' + "hush" + 'hush"', "hushhush"),
        ],
        "wifi-password": [
            (text, "Sommer" + "2019")
            for text in (
                "wifi password " + "Sommer" + "2019",
                "Wi-Fi password " + "Sommer" + "2019 for guests",
                "WLAN-Passwort " + "Sommer" + "2019",
                "the password of the wifi " + "Sommer" + "2019",
                "la clave del wifi es " + "Sommer" + "2019",
                "mot de passe du wifi " + "Sommer" + "2019",
                "senha do wifi " + "Sommer" + "2019",
                "WIFI:T:WPA;S:home;P:" + "Sommer" + "2019;;",
            )
        ]
        + [("wifi password " + "8392" + "0174", "8392" + "0174")],
        "wallet-key": [
            *(
                (text, f"0x{wallet}")
                for text in (
                    f"private key 0x{wallet}",
                    f"Private key: `0x{wallet}`",
                    f"the private key of the deployer on Sepolia is 0x{wallet}.",
                    f"private key for 0x{body(HEX, 40)}: 0x{wallet}",
                    f"- **Private Key:** 0x{wallet}",
                    f"| Private key | 0x{wallet} |",
                    f"PRIVATE_KEY=0x{wallet}",
                    f'{{"privateKey": "0x{wallet}"}}',
                    f"Private key:\n\n```text\n0x{wallet}\n```",
                    f"our wallet key is 0x{wallet}",
                    f"der private Schlüssel lautet 0x{wallet}",
                    f"la clé privée est 0x{wallet}",
                    f"la clave privada es 0x{wallet}",
                    f"钱包私钥：0x{wallet}",
                    f"## Private key\n\n0x{wallet}",
                    f"## Private key of the deployer\n\n- `0x{wallet}`",
                    f"Private key\n0x{wallet}",
                    f"| Private key |\n|---|\n| 0x{wallet} |",
                    f"- Ethereum key: 0x{wallet}",
                    f"pk: 0x{wallet}",
                    f"signer key 0x{wallet}",
                    f"address 0x{body(HEX, 40)} key 0x{wallet}",
                    f"The tx failed; the private key is 0x{wallet}",
                    f"| Wallet | Address | Private key |\n|---|---|---|\n| A | 0x1 | 0x{wallet} |",
                    f"| Private key | Of |\n|---|---|\n| - | Bob |\n| `0x{wallet}` | Ada |",
                    f"Private Keys\n==================\n(0) 0x{cipher}\n(1) 0x{wallet}",
                    f"## Private keys\n\n1. 0x{cipher}\n2. `0x{wallet}`",
                    f"Private keys:\n- Ada: 0x{cipher}\n- Bob: 0x{wallet}",
                    f"new ethers.Wallet('0x{wallet}')",
                )
            ),
            (f"private key: {wallet}", wallet),
            (f"wallet seed: {wallet}", wallet),
            (f"the Solana key is [{numbers}]", numbers),
            (f'{{"secretKey": [{spread}]}}', spread),
            (f"the private key of my wallet is {wallet.upper()}", wallet.upper()),
            (f"Secret key: {wallet}{wallet[::-1]}", wallet + wallet[::-1]),
            (f"{wallet} is the private key of the treasury", wallet),
            (f"`{wallet}` (private key)", wallet),
            (f"accounts: ['0x{wallet}'], // private key", wallet),
            (f"0x{wallet} \u2014 private key of Ada", wallet),
            (f"0x{wallet}: my private key", wallet),
            (f"the Solana private key is {solana}", solana),
        ],
        "wallet-keystore": [
            (keystore(cipher), cipher),
            (keystore(cipher, 2), cipher),
            *((turned(keystore(cipher), indent), cipher) for indent in (None, 2)),
            (
                f"crypto: {{ cipher: 'aes-128-ctr', cipherparams: {{}}, ciphertext: '{cipher}' }}",
                cipher,
            ),
        ],
        "seed-phrase": [
            *(
                (text.format(" ".join(phrase)), " ".join(phrase))
                for phrase, texts in (
                    (twelve, (*alone, *named)),
                    (many, (*alone, *named)),
                    (wrong, named),
                )
                for text in texts
            ),
            (f"Recovery phrase:\n\n{numbered}\n", numbered[3:]),
            (f"{counted}\n", counted[3:]),
            (f"mnemonic = {json.dumps(wrong)}", json.dumps(wrong)[2:-2]),
            ("our frase semilla: " + ", ".join(many), ", ".join(many)),
            (", ".join(many) + "; use this only then", ", ".join(many)),
            ("wallet: " + ", ".join(twelve) + "; use this only then", ", ".join(twelve)),
            (f"| # | word |\n|---|---|\n{column}\n", column[6:-2]),
            (grid, grid[6:-2]),
            (f"wallet: {electrum}", electrum),
            ("tags: " + ", ".join(twelve), ", ".join(twelve)),
            ("- Ada's:\n  - " + "\n  - ".join(twelve), "\n  - ".join(twelve)),
            (f"For Ada: {' '.join(twelve)}. She has it.", " ".join(twelve)),
            # Words of such a name are in the list, too.
            (f"my seed phrase {' '.join(wrong)}", " ".join(wrong)),
            ("# Seed phrase\n\n" + "\n".join(wrong), "\n".join(wrong)),
            (f"seed {' '.join(twelve)}", " ".join(twelve)),
            (f"The seed words are {spoken} on paper.", spoken),
            (f"Recovery phrase\n{called}\n", called),
        ],
        "http-authorization": [
            (f"Authorization: Bearer {issued}", issued),
            (f'curl -H "authorization: token {hexed}" https://api', hexed),
            (f"send Bearer {issued} with it", issued),
        ],
        "password-assignment": [
            (text, chosen)
            for text in (
                f"password: {chosen}",
                f"DB_PASSWORD={chosen}",
                f'"password": "{chosen}",',
                f"- **Password:** {chosen}",
                f"- **Password**: `{chosen}`.",
                f"<password>{chosen}</password>",
                f"| Password | {chosen} |",
                f"passphrase = '{chosen}'",
                f'{{\\"passwd\\": \\"{chosen}\\"}}',
                f"Passwort: {chosen}",
                f"Kennwort = {chosen}",
                f"mot de passe : {chosen}",
                f"MDP: {chosen}",
                f"contraseña: {chosen}",
                f"Senha: {chosen}",
                f"palavra-passe: {chosen}",
                f"parola d'ordine: {chosen}",
                f'psk="{chosen}"',
            )
        ],
        "secret-assignment": [
            *(
                (f"{name}={hexed}", hexed)
                for name in ("API_KEY", "apikey", "token", "clientSecret")
            ),
            (f"aws_secret_access_key = {key}", key),
            (f'access_token: "{issued}"', issued),
            (f"- **API key:** {issued}", issued),
            (f"https://x.example/reset?token={issued}", issued),
        ],
        "password-in-prose": [
            (f"The password for the staging box is {chosen}.", chosen),
            (f"I changed the password to `{chosen}` yesterday", chosen),
            (f"password of the router was changed to {chosen}, keep it", chosen),
            ("the wifi password is " + "hunter" + "2", "hunter" + "2"),
            ("the admin password is " + "hunter" + "2", "hunter" + "2"),
            (f"Das Passwort für den Server ist {chosen}.", chosen),
            (f"das Kennwort lautet {chosen}", chosen),
            (f"le mot de passe est {chosen}", chosen),
            (f"la contraseña es {chosen}", chosen),
            (f"a senha é {chosen}", chosen),
            (f"la password è {chosen}", chosen),
            (f"密码是{chosen}", chosen),
            (f"服务器的密码：{chosen}", chosen),
            (f"パスワードは{chosen}です", chosen),
        ],
        "secret-in-prose": [
            (f"The API key is {issued}", issued),
            (f"our access token was {hexed}.", hexed),
        ],
    }
