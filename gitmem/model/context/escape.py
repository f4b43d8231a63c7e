"""Escaping text from memory for a prompt: it cannot leave its block or hide anything.

Every escape can be read back exactly. `docs/injection.md` has the rules for readers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import NewType

ForModel = NewType("ForModel", str)
"""Text for a model, in which all text from memory is escaped.

Only this module and `render` create it, and `integrations` accept nothing else: a text from
elsewhere does not pass the type checker.
"""
NOTHING = ForModel("")

HOST_TAGS = (
    *("system", "system-reminder", "system_prompt", "system_message", "system_instruction"),
    *("assistant", "human", "developer", "thinking", "antthinking", "instructions"),
    *("function_calls", "function_call", "function_results", "function_result", "invoke"),
    *("tool_call", "tool_calls", "tool_use", "tool_uses", "tool_use_error", "tool_result"),
    *("tool_results", "tool_response", "tool_outputs", "tool_code"),
    # Claude Code
    *("command-name", "command-message", "command-args", "local-command-stdout"),
    *("local-command-stderr", "local-command-caveat", "bash-input", "bash-stdout", "bash-stderr"),
    *("session-start-hook", "user-prompt-submit-hook", "user-memory-input", "task-notification"),
    *("persisted-output", "teammate-message", "ide_opened_file", "ide_selection"),
    *("ide_diagnostics", "new-diagnostics", "claudemd"),
    # Codex
    *("user_instructions", "environment_context", "permissions", "user_action", "turn_aborted"),
    *("collaboration_mode", "personality_spec", "model_switch", "skills_instructions"),
    *("apps_instructions", "plugins_instructions", "user_shell_command", "subagent_notification"),
    *("hook_prompt", "proposed_plan"),
    # Gemini CLI, Copilot CLI
    *("hook_context", "session_context", "loaded_context", "project_context"),
    *("untrusted_context", "system_reminder", "current_datetime"),
)
"""Tags that hosts and model APIs use for their own text; `antml:` begins more of them."""
# People also use these as placeholders: `ssh <user>@<host>`. So they count only if they close, have
# an attribute or begin a line, also one of a list, a quote or a diff.
HOST_TAGS_IN_FORM = ("user", "parameter", "parameters", "function", "functions", "message", "env")

# Control, format and line separator characters, invisible ones, variation selectors and lone
# surrogates; but not \t and \n.
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2"
    "\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ud800-\udfff\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd"
    "\U00013430-\U0001343f\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
# The emoji selector stays after a character that can be an emoji: there it is common and visible.
_STRAY = r"(?<![0-9#*\xa9\xae\u203c-\u27ff\u2900-\u3299\U0001f000-\U0001faff])\ufe0f"
_UNSEEN = rf"[{_HIDDEN}]|{_STRAY}"
_END = r"(?![\w.:-])"
_NAMES, _FORMS = (rf"(?:{'|'.join(names)}){_END}" for names in (HOST_TAGS, HOST_TAGS_IN_FORM))
# Possessive (`*+`), here and below, against quadratic searches in a file of blanks.
_HOST_TAG = (
    rf"(?i:<(?=\s*+(?:/\s*+)?(?:antml:|{_NAMES})|\s*+/\s*+{_FORMS}|\s*+{_FORMS}\s*+[\w:-]++\s*+=))"
    # Special tokens such as <|im_start|>, with the bars of any model.
    r"|<(?=[|\uff5c][\w.:/\u2581-]{1,40}[|\uff5c]>)"
)
_HOST = (
    rf"{_HOST_TAG}|(?mi:^[ \t>+*-]*+<(?=[ \t]*+{_FORMS}))"
    # A turn of a conversation, in the form of completions.
    r"|(?<=\n\n)(?:H(?=uman:)|A(?=ssistant:))"
)
_TAG_LIKE = r"<\s*+(?:/\s*+)?[A-Za-z|\uff5c]|\n\n(?:Human|Assistant):"
# A backslash is escaped, too, where it would begin such an escape.
_SHOWN = rf"{_UNSEEN}|\\(?=u\{{)"
_SHOWN_ASCII = r"[\x00-\x08\x0b-\x1f\x7f]|\\u\{"
_SHOWN_ON_A_LINE = rf"[\t\n]|{_SHOWN}"
_HARMLESS = r"[A-Za-z0-9_ .,:;/#()+-]*"
_OURS = r"(?i:<(?=\s*+(?:/\s*+)?(?:knowledge|entry)\b))|&(?=(?:lt|gt|amp);)"
_MARKUP = {"<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;", "'": "&#39;"}

MISSING = "(missing)"
EMPTY = "(empty)"
UNREADABLE = "(unreadable: gitmem check)"
SNIPPETS = "Relevant memory snippets:"
_STAND_INS = r"[ \t]*+\((?:missing|empty|unreadable: gitmem check|gitmem read .*)\)[ \t]*+$"
_LOST = r"[ \t]*+\(unreadable: gitmem check\)[ \t]*+$"
_CUT = r"[ \t]*+\[\.\.\. [0-9]+ of [0-9]+ bytes: .*\][ \t]*+$"
_LOOKS = {
    "sections": r"[ \t]*+={3,}+[^\n].*===[ \t]*+$",
    "markdown": r"(?!)",  # see `under_headings`
    "snippets": (
        rf"[ \t]*+\[[ \t]*+[0-9]+[ \t]*+\][ \t]*+\(|[ \t]*+{SNIPPETS}[ \t]*+$"
        r"|[ \t]*+\((?:group|global)(?:: .*)?\)[ \t]*+$"
    ),
}


def escape(char: str) -> str:
    """Return the visible form of a character."""
    return f"\\u{{{ord(char):04X}}}"


def _escaped(found: re.Match[str]) -> str:
    """The match with its last character escaped; blanks before a tag stay."""
    return found[0][:-1] + escape(found[0][-1])


def shown(text: str) -> str:
    """Return TEXT with invisible characters and the tags of hosts escaped as `\\u{XXXX}`.

    Lines and tabs stay.
    """
    # Most texts are plain ASCII, and compiling the whole list takes time.
    if not text.isascii() or re.search(_SHOWN_ASCII, text):
        text = re.sub(_SHOWN, _escaped, text)
    return _without_host_tags(text)


def shown_on_a_line(text: str) -> str:
    """Return the same on one line."""
    return _without_host_tags(re.sub(_SHOWN_ON_A_LINE, _escaped, text))


def _without_host_tags(text: str) -> str:
    """TEXT, visible already, with the tags of hosts and the turns of a conversation escaped."""
    # After all other escapes, whose backslashes would else be escaped again.
    return re.sub(_HOST, _escaped, text) if re.search(_TAG_LIKE, text) else text


def in_command(text: str) -> str:
    """Return TEXT as one word of a command for a model, not escaped yet.

    A model may run the command, so a name must stay one word for its shell.
    """
    text = f"./{text}" if text.startswith("-") else text  # else it would be read as an option
    if re.fullmatch(r"[\w@%+=:,./-]+", shown_on_a_line(text)):
        return text
    from shlex import quote

    return quote(text)


def worded(words: str, /, **values: object) -> ForModel:
    """Return WORDS, our own sentence, with VALUES escaped on one line."""
    return ForModel(words.format_map({key: shown_on_a_line(f"{x}") for key, x in values.items()}))


def on_a_line(text: str) -> ForModel:
    """Return TEXT escaped, on one line."""
    return ForModel(shown_on_a_line(text))


def on_lines(text: str) -> ForModel:
    """Return TEXT escaped, with its lines: our own words with names in them."""
    return ForModel(shown(text))


def indented(text: str) -> ForModel:
    """Return TEXT escaped and indented below our own line, so that no line can pass for ours."""
    return ForModel("\n".join(f"   {line}" if line else "" for line in shown(text).split("\n")))


def exact(text: str) -> ForModel:
    """Return TEXT unchanged, for a model that reads a file by name and writes it back."""
    return ForModel(text)


def joined(parts: Iterable[ForModel], between: str = "\n\n") -> ForModel:
    """Return the non-empty PARTS joined."""
    return ForModel(between.join(filter(None, parts)))


def in_markup(text: str) -> str:
    """Return TEXT as an attribute, or as a summary between tags."""
    if re.fullmatch(_HARMLESS, text):
        return text
    return re.sub(r"[<>&\"']", lambda found: _MARKUP[found[0]], shown_on_a_line(text))


def in_tag(text: str) -> str:
    """Return TEXT, visible already, between tags: only our tags and entities are escaped."""
    if "<" not in text and "&" not in text:
        return text
    return re.sub(_OURS, lambda found: _MARKUP[found[0]], text)


def in_block(text: str) -> str:
    """Return TEXT as the body of a tag; a line that looks like ours gets a `\\` before it."""
    text = in_tag(shown(text))
    if "[... " not in text and UNREADABLE not in text:
        return text
    return re.sub(rf"(?m)^(?=\\*+(?:{_LOST}|{_CUT}))", r"\\", text)


def in_mark(text: str) -> str:
    """Return TEXT as one of several marks in brackets, without commas, brackets or `===`."""
    return re.sub(r"[,()]|=(?===)", _escaped, shown_on_a_line(text))


def hidden_in_json(text: str) -> str:
    """Return a JSON document with invisible characters and host tags escaped as JSON."""
    return re.sub(rf"{_UNSEEN}|{_HOST_TAG}", _json_escape, text)


def _json_escape(found: re.Match[str]) -> str:
    code = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{code[at : at + 4]}" for at in range(0, len(code), 4))


def _in_lines(text: str, *, pattern: str) -> str:
    return re.sub(pattern, r"\\", shown(text))


def under_headings(text: str, heads: Iterable[str]) -> str:
    """Return TEXT for a Markdown page; a line that looks like one of HEADS gets a `\\` before it.

    Other headings stay: a model that rewrites a document would write such escapes back.
    """
    known = "|".join(r"[ \t]+".join(map(re.escape, each.split())) for each in sorted(heads))
    look = rf" {{0,3}}##[ \t]+(?:{known})(?:[ \t]*\(.*|[ \t]*\#*[ \t]*)$"
    return re.sub(rf"(?mi)^(?=\\*+{look})", r"\\", text)


in_lines = {
    name: partial(_in_lines, pattern=rf"(?mi)^(?=\\*+(?:{look}|{_STAND_INS}|{_CUT}))")
    for name, look in _LOOKS.items()
}
"""By format: escapes a body; a line that looks like the format's own gets a `\\` before it."""
