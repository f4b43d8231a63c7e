"""A file of permission rules that is ours alone, for a host that reads a folder of such files."""

from __future__ import annotations

import json
from pathlib import Path

from gitmem.integrations.install.files import digest
from gitmem.integrations.install.parts.hooks import Merged
from gitmem.integrations.install.parts.permissions import VERBS
from gitmem.integrations.install.record import Install

_RULE = """\
# Lets the model use memory without a question. Written by `gitmem install`, removed by --uninstall.

[[rule]]
toolName = "run_shell_command"
commandPrefix = [
{commands}
]
decision = "allow"
priority = 100
"""
_CHANGED = "it was changed by somebody else: it was left as it is"


def policy() -> str:
    """The rule for Gemini CLI.

    It compares a prefix word by word and each command of a chain by itself, and refuses pipes,
    redirections and substitutions. A prefix that ends with a space matches nothing.
    """
    commands = (f"  {json.dumps(f'gitmem {verb}')}," for verb in VERBS)
    return _RULE.replace("{commands}", "\n".join(commands))


def put_policy(path: Path, text: str, known: Install, *, is_wanted: bool) -> Merged:
    """TEXT of the file at PATH as it should be; one that somebody changed stays as it is."""
    if not is_wanted:
        return Merged(take_policy(text))
    kept = known.files.get(str(path))
    is_ours = kept is not None and kept.after == digest(text.encode())
    if not text.strip() or is_ours or text == policy():
        return Merged(policy())
    return Merged(text, (_CHANGED,))


def take_policy(text: str) -> str:
    """Nothing for our rules; what somebody made of them stays."""
    return "" if text == policy() else text
