"""The agent hosts that gitmem works with, a row each.

Hooks, `install`, `doctor`, transcripts and the command line all read this table. It imports only
small parts of the standard library, because every hook loads it.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitmem.model.record import Record

CLAUDE, CODEX, GEMINI, COPILOT = "claude-code", "codex", "gemini", "copilot"

_TRUST_IN_CODEX = "open /hooks in Codex and trust the new ones: until then it skips them in silence"


class Files(Record):
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
    """Permission rules of this person; empty if the host has none."""
    roots: str = ""
    """The list of folders that its sandbox can write to; empty if gitmem adds none.

    A sandbox is a person's own: that of a project would name folders of one machine, and override
    what the person has allowed."""
    more_memory: tuple[str, ...] = ()
    """Other files with instructions that the host reads there."""
    reads_above: bool = False
    """Whether the host also reads `memory` in the folders above a project."""
    policy: str = ""
    """A file of permission rules that is ours alone; empty if the host reads no such file."""
    switches: tuple[str, ...] = ()
    """Other settings that can add hooks, or switch all of them off."""
    trust: str = ""
    """What a person does before the host runs new hooks there."""


class OwnMemory(Record):
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


class Host(Record):
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
    adding: frozenset[str] = frozenset(
        ("SessionStart", "SubagentStart", "UserPromptSubmit", "PostToolUse")
    )
    """Events whose answer may add to the conversation."""
    deaf: frozenset[str] = frozenset(("PreCompact", "PostCompact", "SessionEnd"))
    """Events whose answer no host reads: errors go to standard error."""
    chars: int = 9980
    """Characters that a hook may add to a conversation."""
    tokens: int = 0
    """Tokens, as an estimate; 0 where the host counts only characters."""
    plugin: str = ""
    """The variable that is set for the hooks of a plugin."""
    home_below: str = ""
    """The folder inside the one that `home_variable` names."""
    events: Mapping[str, str] = {}
    """Its own names of events, each with the name that Claude Code has for it."""
    second: int = 1
    """A second in its timeouts."""
    project_variable: str = "CLAUDE_PROJECT_DIR"
    """The variable that names the project to its hooks."""
    paths: tuple[str, ...] = ("file_path", "notebook_path")
    """The fields of `tool_input` that name the file which a tool has written."""
    format: str = ""
    """The format of memory in its hooks; empty for the layout's own."""
    answers_flat: bool = False
    """Whether it reads `additionalContext` at the top of an answer, and nothing below it."""
    shows_notices: bool = True
    """Whether it shows its user the `systemMessage` of an answer."""
    tag: str = ""
    """The tag around what its hooks added, where that stands before the prompt itself."""
    says_compacted: bool = True
    """Whether an event comes after a compaction; else only its transcript has the summary."""
    replays: bool = True
    """Whether a resumed session still has what its hooks added when it started."""
    server: Mapping[str, object] = {}
    """What it needs to know of an MCP server besides the command."""
    clients: tuple[str, ...] = ()
    """Its names as an MCP client, where they are not its own."""
    turn: str = ""
    """The field of an event that names the turn."""
    calls: tuple[str, ...] = ()
    """The types of a tool call in its transcripts ..."""
    results: tuple[str, ...] = ()
    """... and of its result."""
    own_memory: OwnMemory | None = None
    """The memory that it writes by itself; None if it writes none."""

    def named(self, event: str) -> str:
        """Its own name for the EVENT that Claude Code calls so."""
        return next((own for own, usual in self.events.items() if usual == event), event)


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
            # A subagent that ends could get a text, too; but it has its task.
            adding=frozenset(
                ("SessionStart", "SubagentStart", "UserPromptSubmit", "PostToolUse", "Stop")
            ),
            plugin="CLAUDE_PLUGIN_ROOT",
            turn="prompt_id",
            calls=("tool_use",),
            results=("tool_result",),
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
                roots="config.toml",
                more_memory=("AGENTS.override.md",),
                switches=("config.toml",),
                trust=_TRUST_IN_CODEX,
            ),
            project=Files(
                ".codex/hooks.json",
                ".agents/skills",
                "AGENTS.md",
                ".codex/config.toml",
                more_memory=("AGENTS.override.md",),
                switches=(".codex/config.toml",),
                trust=_TRUST_IN_CODEX,
            ),
            handlers="codex/hooks.json",
            servers="mcp_servers",
            markers=(),
            sessions=("CODEX_SESSION_ID", "CODEX_THREAD_ID"),
            # A turn that ends may answer only from a closed list, and this is not on it.
            tokens=2200,  # above a measured 2,469 the middle is left out
            turn="turn_id",
            calls=("function_call", "custom_tool_call", "local_shell_call"),
            results=("function_call_output", "custom_tool_call_output"),
            clients=("codex-mcp-client",),
        ),
        Host(
            GEMINI,
            "Gemini CLI",
            home=".gemini",
            home_variable="GEMINI_CLI_HOME",
            home_below=".gemini",
            user=Files(
                "settings.json",
                "skills",
                "GEMINI.md",
                "settings.json",
                policy="policies/gitmem.toml",
            ),
            # Policies of a project are documented, and it does not read them.
            project=Files(
                ".gemini/settings.json", ".gemini/skills", "GEMINI.md", ".gemini/settings.json"
            ),
            handlers="gemini/hooks.json",
            servers="mcpServers",
            markers=("GEMINI_CLI",),
            sessions=("GEMINI_SESSION_ID",),  # of hooks: its shell names no session
            chars=9980,  # 30,000 arrived whole; above that nothing was measured
            # The answer to AfterAgent reaches no request.
            adding=frozenset(("SessionStart", "UserPromptSubmit", "PostToolUse")),
            # Not PreCompress: it comes before every request, also where nothing is compressed.
            events={
                "BeforeAgent": "UserPromptSubmit",
                "AfterTool": "PostToolUse",
                "AfterAgent": "Stop",
            },
            second=1000,
            project_variable="GEMINI_PROJECT_DIR",
            paths=("file_path",),
            format="markdown",  # it turns `<` and `>` of an answer into `&lt;` and `&gt;`
            tag="hook_context",
            replays=False,  # it forgets the first prompt, before which that stands
            server={"trust": True},  # without it a headless session has no tools of the server
            clients=("gemini-cli-mcp-client",),
        ),
        Host(
            COPILOT,
            "Copilot CLI",
            home=".copilot",
            home_variable="COPILOT_HOME",
            user=Files(
                "hooks/gitmem.json",
                "skills",
                "copilot-instructions.md",
                "mcp-config.json",
                switches=("settings.json",),
            ),
            project=Files(
                ".github/hooks/gitmem.json",
                ".github/skills",
                ".github/copilot-instructions.md",
                ".mcp.json",
                more_memory=("AGENTS.md", "CLAUDE.md", "GEMINI.md"),
                switches=(".github/copilot/settings.json",),
                trust=(
                    "start `copilot` in this folder once and trust it: until then it skips hooks "
                    "and MCP servers of the project in silence"
                ),
            ),
            handlers="copilot/hooks.json",
            servers="mcpServers",
            markers=("COPILOT_CLI",),
            sessions=("COPILOT_AGENT_SESSION_ID",),
            chars=9980,  # 200,000 arrived whole, and of 262,000 nothing did
            project_variable="COPILOT_PROJECT_DIR",
            paths=("path",),
            answers_flat=True,
            shows_notices=False,
            says_compacted=False,
            replays=False,
            server={"type": "local", "tools": ["*"]},
            clients=("copilot-cli",),
        ),
    )
}


def host_in(environ: Mapping[str, str]) -> Host | None:
    """The host in whose shell a command runs; None in a person's own."""
    for host in HOSTS.values():
        if any(environ.get(each) for each in (*host.markers, *host.sessions)):
            return host
    return None


def agent_of_client(name: str) -> str:
    """The name of the host that calls itself NAME as an MCP client; NAME for any other client."""
    return next((each.name for each in HOSTS.values() if name in each.clients), name)


def session_in(environ: Mapping[str, str]) -> str:
    """The session of the host in whose shell a command runs; empty where none is named."""
    host = host_in(environ)
    named = (environ.get(each, "") for each in (host.sessions if host else ()))
    return next(filter(None, named), "")
