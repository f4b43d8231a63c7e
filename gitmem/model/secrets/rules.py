"""The table of credential formats, each written from what its issuer documents.

A rule is tried only at one of its literals, so ordinary text never meets a regular expression.
Three habits keep the patterns linear: a repetition is bounded or possessive, two in a row share no
characters, and before a long body the look-behind excludes the body's own characters, so that no
two attempts scan the same text.
"""

from __future__ import annotations

from gitmem.model.secrets.contexts import CONTEXTS
from gitmem.model.secrets.shapes import Rule, is_mixed
from gitmem.model.secrets.wallets import WALLETS

# The borders of a token. An escaped line break or a percent code ends a word, too.
_BREAK = r"(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})"
_B = rf"(?:(?<![A-Za-z0-9])|{_BREAK})"
_BB = rf"(?:(?<![A-Za-z0-9_-])|{_BREAK})"
_E = r"(?![A-Za-z0-9])"
_EE = r"(?![A-Za-z0-9_-])"

_GAP = r"(?:[\s>]|\\[nr])"
_LINE = r"[A-Za-z0-9+/=]"
# A header without a body is prose about keys; a body without an end is still a key.
_PEM = (
    rf"PRIVATE KEY(?: BLOCK)?-----{_GAP}{{0,40}}"
    rf"(?:[A-Za-z-]{{1,40}}: [^\n\\]{{0,200}}+(?:\n|\\[nr]){_GAP}{{0,40}}+){{0,6}}"
    rf"{_LINE}{{40,}}(?:(?:{_GAP}+{_LINE}{{1,80}})*+{_GAP}*+-----END [A-Z0-9 ]{{1,40}}-----"
    rf"|(?:{_GAP}+{_LINE}{{16,}})*+)"
)


_TOKENS = (
    Rule(
        "aws-key-id",
        "AWS access key id (AKIA, ASIA)",
        ("AKIA", "ASIA"),
        rf"{_B}A[KS]IA[A-Z2-7]{{16}}{_E}",
    ),
    Rule(
        "aws-secret-key",
        "AWS secret key close behind its key id",
        ("AKIA", "ASIA"),
        rf"{_B}A[KS]IA[A-Z2-7]{{16}}{_E}[\s\S]{{1,160}}?(?<![A-Za-z0-9+/=_.-])"
        r"([A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])",
        is_mixed,
        wide=True,
    ),
    Rule(
        "github-token",
        "GitHub token: classic, fine-grained, OAuth or app",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        rf"{_B}(?:gh[pousr]_[A-Za-z0-9]{{36,251}}|github_pat_[A-Za-z0-9]{{22}}_[A-Za-z0-9]{{59}}){_E}",
    ),
    Rule(
        "gitlab-token",
        "GitLab personal, deploy, runner, trigger, job, agent or feed token",
        (
            *("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-"),
            *("glimt-", "glagent-", "glft-", "glffct-", "gloas-"),
        ),
        rf"{_B}gl[a-z]{{2,5}}-[A-Za-z0-9_-]{{20,300}}(?:\.[0-9a-z]{{2}}\.[0-9a-z]{{7,12}})?",
    ),
    Rule(
        "anthropic-key",
        "Anthropic API, admin or OAuth key (sk-ant-)",
        ("sk-ant-",),
        rf"{_BB}sk-ant-[a-z]{{2,10}}[0-9]{{2}}-[A-Za-z0-9_-]{{32,200}}",
    ),
    Rule(
        "openai-key",
        "OpenAI key (sk-, sk-proj-), or one of a service in its style (sk-or-)",
        ("sk-",),
        rf"{_BB}sk-(?:(?:proj|svcacct|admin|or-v1)-[A-Za-z0-9_-]{{32,250}}|[A-Za-z0-9]{{32,64}}{_E})",
    ),
    Rule(
        "google-api-key",
        "Google API key (AIza)",
        ("AIza",),
        rf"{_B}AIza[A-Za-z0-9_-]{{35}}{_EE}",
    ),
    Rule(
        "google-oauth",
        "Google OAuth client secret (GOCSPX-) or access token (ya29.)",
        ("GOCSPX-", "ya29."),
        rf"{_B}(?:GOCSPX-[A-Za-z0-9_-]{{28}}{_EE}|ya29\.[A-Za-z0-9_-]{{40,500}})",
    ),
    Rule(
        "gcp-service-account",
        "the private_key of a Google service account file",
        ('"private_key"',),
        r'"private_key"\s{0,4}:\s{0,4}"(-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----[^"]{40,8000}+)"',
        None,
        wide=True,
    ),
    Rule(
        "slack-token",
        "Slack bot, user, app or refresh token (xox., xapp-)",
        ("xox", "xapp-"),
        rf"{_B}(?:xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{{20,250}}"
        r"|xapp-[0-9]-[A-Z0-9]{6,20}-[0-9]{8,20}-[0-9a-f]{32,80})",
    ),
    Rule(
        "slack-webhook",
        "Slack webhook address",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/]{30,200}",
    ),
    Rule(
        "stripe-key",
        "Stripe live secret, restricted or webhook key",
        ("sk_live_", "rk_live_", "whsec_"),
        rf"{_B}(?:[rs]k_live_[A-Za-z0-9]{{16,250}}|whsec_[A-Za-z0-9+/]{{24,100}})",
    ),
    Rule("twilio-key", "Twilio API key (SK)", ("SK",), rf"{_B}SK[0-9a-f]{{32}}{_E}"),
    Rule(
        "sendgrid-key",
        "SendGrid API key (SG.)",
        ("SG.",),
        rf"{_B}SG\.[A-Za-z0-9_-]{{22}}\.[A-Za-z0-9_-]{{43}}{_EE}",
    ),
    Rule("npm-token", "npm access token (npm_)", ("npm_",), rf"{_B}npm_[A-Za-z0-9]{{36}}{_E}"),
    Rule(
        "pypi-token",
        "PyPI upload token (pypi-)",
        ("pypi-AgE",),
        rf"{_BB}pypi-AgE[A-Za-z0-9_-]{{50,500}}",
    ),
    Rule(
        "huggingface-token",
        "Hugging Face token (hf_)",
        ("hf_",),
        rf"{_B}hf_[A-Za-z0-9]{{34,40}}{_E}",
    ),
    Rule(
        "digitalocean-token",
        "DigitalOcean personal, OAuth or refresh token",
        ("dop_v1_", "doo_v1_", "dor_v1_"),
        rf"{_B}do[opr]_v1_[0-9a-f]{{64}}{_E}",
    ),
    Rule(
        "telegram-bot-token",
        "Telegram bot token (digits, a colon, AA)",
        (":AA",),
        rf"(?<![0-9])[0-9]{{8,12}}:AA[A-Za-z0-9_-]{{33}}{_EE}",
        backs=(12, 11, 10, 9, 8),
    ),
    Rule(
        "discord-bot-token",
        "Discord bot token",
        # The bot's number in base64: its first digit decides the first two letters.
        ("MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"),
        rf"{_BB}[MNO][A-Za-z0-9_-]{{22,27}}\.[A-Za-z0-9_-]{{6}}\.[A-Za-z0-9_-]{{27,40}}{_EE}",
    ),
    Rule(
        "discord-webhook",
        "Discord webhook address",
        ("/api/webhooks/",),
        r"/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{60,80}",
    ),
    Rule(
        "azure-storage-key",
        "Azure AccountKey= or SharedAccessKey=",
        ("AccountKey=", "SharedAccessKey="),
        r"AccountKey=([A-Za-z0-9+/]{86}==)|SharedAccessKey=([A-Za-z0-9+/]{43}=)",
    ),
    Rule(
        "azure-client-secret",
        "Azure (Entra) client secret",
        ("Q~",),
        rf"(?:(?<![A-Za-z0-9_~.-])|{_BREAK})[A-Za-z0-9_~.-]{{3}}[0-9]Q~[A-Za-z0-9_~.-]{{31,34}}"
        r"(?![A-Za-z0-9_~-])",
        backs=(4,),
    ),
    Rule(
        "jwt",
        "JSON web token",
        ("eyJ",),
        rf"{_BB}eyJ[A-Za-z0-9_-]{{8,2000}}+\.eyJ[A-Za-z0-9_-]{{8,8000}}+\.[A-Za-z0-9_-]{{16,2000}}",
        None,
    ),
    Rule(
        "private-key",
        "private key in PEM or PGP armour",
        ("-----BEGIN ",),
        rf"-----BEGIN (?!OPENSSH)(?:[A-Z0-9]{{1,20}} ){{0,3}}{_PEM}",
        None,
        wide=True,
    ),
    Rule(
        "ssh-private-key",
        "SSH private key, of OpenSSH or PuTTY",
        ("-----BEGIN OPENSSH ", "Private-Lines: "),
        rf"-----BEGIN OPENSSH {_PEM}|Private-Lines: [0-9]{{1,3}}((?:\s+[A-Za-z0-9+/=]{{16,64}})+)",
        None,
        wide=True,
    ),
    Rule(
        "age-key",
        "age secret key",
        ("AGE-SECRET-KEY-1",),
        r"AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}",
    ),
    Rule(
        "databricks-token",
        "Databricks token (dapi)",
        ("dapi",),
        rf"{_B}dapi[0-9a-f]{{32}}(?:-[0-9])?{_E}",
    ),
    Rule(
        "linear-key",
        "Linear API key or OAuth token (lin_)",
        ("lin_api_", "lin_oauth_"),
        rf"{_B}(?:lin_api_[A-Za-z0-9]{{40}}|lin_oauth_[A-Za-z0-9]{{64}}){_E}",
    ),
    Rule(
        "notion-token",
        "Notion integration token (ntn_, secret_)",
        ("ntn_", "secret_"),
        rf"{_B}(?:ntn_[0-9]{{11}}[A-Za-z0-9]{{35}}|secret_[A-Za-z0-9]{{43}}){_E}",
    ),
    Rule(
        "shopify-token",
        "Shopify access token or shared secret (shp)",
        ("shpat_", "shpca_", "shppa_", "shpss_"),
        rf"{_B}shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{{32}}{_E}",
    ),
    Rule(
        "mailgun-key",
        "Mailgun private key (key-)",
        ("key-",),
        rf"{_BB}key-[0-9a-f]{{32}}{_EE}",
    ),
    Rule(
        "vault-token",
        "HashiCorp Vault token (hvs., hvb.)",
        ("hvs.", "hvb."),
        rf"{_B}hv[bs]\.[A-Za-z0-9_-]{{24,300}}",
    ),
    Rule(
        "docker-token",
        "Docker Hub access token (dckr_pat_)",
        ("dckr_pat_",),
        rf"{_B}dckr_pat_[A-Za-z0-9_-]{{27}}{_EE}",
    ),
    Rule(
        "model-host-key",
        "API key of Groq, xAI, Perplexity or Replicate",
        ("gsk_", "xai-", "pplx-", "r8_"),
        rf"{_BB}(?:gsk_[A-Za-z0-9]{{52}}|xai-[A-Za-z0-9]{{80}}|pplx-[A-Za-z0-9]{{48}}"
        rf"|r8_[A-Za-z0-9]{{37}}){_E}",
    ),
    Rule(
        "tailscale-key",
        "Tailscale auth, API or client key (tskey-)",
        ("tskey-",),
        rf"{_BB}tskey-[a-z]{{2,12}}-[A-Za-z0-9]{{8,40}}-[A-Za-z0-9]{{16,60}}",
    ),
    Rule(
        "atlassian-token",
        "Atlassian or Bitbucket token (ATATT, ATCTT, ATBB)",
        ("ATATT3x", "ATCTT3x", "ATBB"),
        rf"{_B}(?:AT[AC]TT3x[A-Za-z0-9_=-]{{60,400}}|ATBB[A-Za-z0-9]{{32}}{_E})",
    ),
    Rule(
        "grafana-token",
        "Grafana service account or cloud token (glsa_, glc_)",
        ("glsa_", "glc_"),
        rf"{_B}(?:glsa_[A-Za-z0-9]{{32}}_[0-9A-Fa-f]{{8}}{_E}|glc_[A-Za-z0-9+/]{{32,400}}={{0,2}})",
    ),
    Rule(
        "figma-token", "Figma token (figd_)", ("figd_",), rf"{_B}figd_[A-Za-z0-9_-]{{40,60}}{_EE}"
    ),
    Rule(
        "supabase-key",
        "Supabase access token or secret key (sbp_, sb_secret_)",
        ("sbp_", "sb_secret_"),
        rf"{_B}(?:sbp_(?:oauth_|v0_)?[0-9a-f]{{40}}|sb_secret_[A-Za-z0-9_-]{{24,60}}){_EE}",
    ),
    Rule(
        "airtable-token",
        "Airtable personal access token (pat)",
        ("pat",),
        rf"{_B}pat[A-Za-z0-9]{{14}}\.[0-9a-f]{{64}}{_E}",
    ),
    Rule(
        "newrelic-key",
        "New Relic user, browser, insert, admin or licence key",
        ("NRAK-", "NRJS-", "NRII-", "NRIQ-", "NRAA-", "NRAL"),
        rf"{_B}(?:NRAK-[A-Z0-9]{{27}}|NR(?:JS|AA)-[0-9a-f]{{19,27}}|NRI[IQ]-[A-Za-z0-9_-]{{32}}"
        rf"|[0-9a-fx]{{32}}(?:[0-9a-f]{{4}}|FFFF)NRAL){_E}",
        backs=(0, 36),
    ),
    Rule(
        "sentry-token",
        "Sentry organisation or user token (sntrys_, sntryu_)",
        ("sntrys_", "sntryu_"),
        rf"{_B}(?:sntrys_eyJ[A-Za-z0-9+/=_-]{{40,500}}|sntryu_[0-9a-f]{{64}}{_E})",
    ),
)

TABLE = (*_TOKENS, *WALLETS, *CONTEXTS)
"""Every rule; where two find the same value, the first one counts."""
