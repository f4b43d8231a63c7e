"""The agent hosts that gitmem works with, a row each.

Hooks, `install`, `doctor`, transcripts and the command line all read this table. It imports nothing
but the standard library's smallest parts, because every hook loads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

CLAUDE, CODEX = "claude-code", "codex"


class Files(NamedTuple):
    """The files that a host reads in one scope, relative to its home or to the project."""

    hooks: str
    skills: str
    memory: str
    """The instructions that the model always sees."""
    mcp: str = ""
    """Where MCP servers are configured; empty if only the host itself writes that file."""
    local: str = ""
    """Settings of one person in a project; empty if the host has none."""
    rules: str = ""
    """Where permission rules of this person stand; empty if the host has none."""
    more_memory: tuple[str, ...] = ()
    """Other files with instructions that the host reads there."""
    reads_above: bool = False
    """Whether the host also reads `memory` in the folders around a project."""


class OwnMemory(NamedTuple):
    """The memory that a host writes by itself: a folder of Markdown for each project."""

    projects: str
    """The folder in the host's home that has a folder for each project ..."""
    folder: str
    """... and in that, the one with memory."""
    page: str
    """The file there that the host loads at each start."""
    layout: str
    """The layout that fits such a folder."""
    directory: str
    """The setting that names another folder in place of it."""
    switch: str
    """The setting that is false where this memory is off ..."""
    variable: str
    """... and the variable that turns it off, too."""


class Host(NamedTuple):
    """One agent host: where its files are, and how its hooks are called and answered."""

    name: str
    title: str
    home: str
    """Its folder in the user's home ..."""
    home_variable: str
    """... unless this variable names another."""
    user: Files
    project: Files
    handlers: str
    """The file in hooks/ with the handlers that `install` writes."""
    servers: str
    """The key under which MCP servers are configured."""
    markers: tuple[str, ...]
    """Variables that are set in the shell of its model, besides those that name the session."""
    sessions: tuple[str, ...]
    """Variables that name the session there, best first."""
    chars: int
    """Characters that a hook may add to a conversation."""
    tokens: int
    """Tokens, as an estimate; 0 where the host counts only characters."""
    adding: frozenset[str]
    """Events whose answer may add to the conversation."""
    deaf: frozenset[str]
    """Events whose answer nobody reads: errors go to standard error."""
    plugin: str = ""
    """The variable that is set for the hooks of a plugin."""
    own_memory: OwnMemory | None = None
    """What it remembers by itself; None where it remembers nothing in files of its own."""


HOSTS: Mapping[str, Host] = {
    each.name: each
    for each in (
        Host(
            CLAUDE,
            "Claude Code",
            home=".claude",
            home_variable="CLAUDE_CONFIG_DIR",
            user=Files("settings.json", "skills", "CLAUDE.md", rules="settings.json"),
            project=Files(
                ".claude/settings.json",
                ".claude/skills",
                "CLAUDE.md",
                ".mcp.json",
                ".claude/settings.local.json",
                rules=".claude/settings.local.json",
                more_memory=(".claude/CLAUDE.md", "CLAUDE.local.md"),
                reads_above=True,
            ),
            handlers="hooks.json",
            servers="mcpServers",
            markers=("CLAUDECODE",),
            sessions=("CLAUDE_CODE_SESSION_ID",),
            # Above 10,000 UTF-16 units in one string the model gets a file name and a preview. The
            # three core files at their budgets are 10 KB: a larger reserve would cost them lines.
            chars=9980,
            tokens=0,
            # A subagent that ends could be told something, too; but it has its task.
            adding=frozenset(("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop")),
            deaf=frozenset(("PreCompact", "PostCompact", "SessionEnd")),
            plugin="CLAUDE_PLUGIN_ROOT",
            own_memory=OwnMemory(
                projects="projects",
                folder="memory",
                page="MEMORY.md",
                layout=CLAUDE,
                directory="autoMemoryDirectory",
                switch="autoMemoryEnabled",
                variable="CLAUDE_CODE_DISABLE_AUTO_MEMORY",
            ),
        ),
        Host(
            CODEX,
            "Codex",
            home=".codex",
            home_variable="CODEX_HOME",
            user=Files(
                "hooks.json",
                "skills",
                "AGENTS.md",
                "config.toml",
                more_memory=("AGENTS.override.md",),
            ),
            project=Files(
                ".codex/hooks.json",
                ".agents/skills",
                "AGENTS.md",
                ".codex/config.toml",
                more_memory=("AGENTS.override.md",),
            ),
            handlers="codex/hooks.json",
            servers="mcp_servers",
            markers=(),
            sessions=("CODEX_SESSION_ID", "CODEX_THREAD_ID"),
            chars=9980,
            tokens=2200,  # above a measured 2,469 the middle is left out
            # What a turn that ends may answer there is a closed list, and this is not on it.
            adding=frozenset(("SessionStart", "UserPromptSubmit", "PostToolUse")),
            deaf=frozenset(("PreCompact", "PostCompact", "SessionEnd")),
        ),
    )
}


def host_in(environ: Mapping[str, str]) -> Host | None:
    """The host in whose shell a command runs; None in a person's own."""
    for host in HOSTS.values():
        if any(environ.get(each) for each in (*host.markers, *host.sessions)):
            return host
    return None


def session_in(environ: Mapping[str, str]) -> str:
    """The session of the host in whose shell a command runs; empty where none is named."""
    host = host_in(environ)
    named = (environ.get(each, "") for each in (host.sessions if host else ()))
    return next(filter(None, named), "")
