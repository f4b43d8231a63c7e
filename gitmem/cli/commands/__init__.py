"""The commands, in folders by what people do, and the table of all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitmem.cli.declare import Declared

# Command -> its one line of help.
SECTIONS = {
    "Start": {
        "init": "Create a store and a group",
        "adopt": "Take an existing memory folder into a group",
        "groups": "List, rename and remove groups",
        "completion": "Print the completion script for a shell",
    },
    "Write": {
        "write": "Write a file, or add to one, as one commit",
        "edit": "Edit a file with your editor, then capture it",
        "capture": "Commit edits made with ordinary tools",
        "mv": "Move a file or a folder",
        "move-entry": "Move an entry to another file",
        "rm": "Move a file or a folder to the archive",
        "archive": "Move entries and files to the archive, or list it",
        "confirm": "Say that entries are still true",
        "rotate": "Begin the log of a new day",
        "consolidate": "Report what is too big, faded or past, and put it in order",
        "compact": "Keep the summary of a session",
        "rollup": "Roll up the days of a week, or the weeks of a month",
        "snapshot": "Tag what memory holds today",
        "transcript": "Keep what was said, and summarise it exactly once",
        "migrate": "Bring old files into the form of the layout",
    },
    "Read": {
        "inject": "Print what the model should see",
        "search": "Find what memory holds, and what was said",
        "memory": "Read and search just the files that the layout allows",
        "read": "Print a file, as it is or was",
        "list": "List the files, as they are or were",
        "entries": "List entries: decisions, projects, preferences, ideas",
        "freshness": "Show how long ago each entry was last touched",
        "status": "Show the state of the group and what needs attention",
        "log": "Show who did what, when and why",
        "show": "Show one commit",
        "diff": "Show what changed between two moments",
        "snapshots": "List the snapshots",
    },
    "Agents": {
        "install": "Wire gitmem into an agent host",
        "doctor": "Say what is wired, what is not, and what would fail",
        "link": "Say which group a project folder uses",
        "hook": "Answer an event of an agent host",
        "mcp": "Serve a group to an agent by MCP",
        "memory-tool": "Answer one command of the Anthropic memory tool",
        "schedule": "Let the machine call maintain every day",
    },
    "Repair": {
        "restore": "Bring back an entry, a file, a folder or the whole group",
        "undo": "Take back commits, and keep what came after",
        "held": "Decide on edits that may not enter git",
        "kept": "Bring back commits that left the branch",
        "check": "Check a group for damage, and repair it",
        "maintain": "Do everything that is due",
        "lint": "Report secrets, duplicates and undated entries",
    },
}
COMMANDS = {name: line for section in SECTIONS.values() for name, line in section.items()}

# Module below gitmem.cli.commands -> its commands. Each is its attribute `<name>_command`.
MODULES = {
    "admin.adopt": ("adopt",),
    "admin.check": ("check",),
    "admin.completion": ("completion",),
    "admin.groups": ("groups", "link"),
    "admin.init": ("init",),
    "curate.archive": ("archive",),
    "curate.consolidate": ("consolidate",),
    "curate.days": ("rotate", "snapshot", "snapshots"),
    "curate.lint": ("lint",),
    "curate.maintain": ("maintain",),
    "curate.migrate": ("migrate",),
    "curate.summaries": ("compact", "rollup"),
    "entries.entries": ("confirm", "entries", "move-entry"),
    "entries.freshness": ("freshness",),
    "integrations.doctor": ("doctor",),
    "integrations.hook": ("hook",),
    "integrations.install": ("install",),
    "integrations.schedule": ("schedule",),
    "integrations.serve": ("mcp", "memory-tool"),
    "read.files": ("list", "read"),
    "read.inject": ("inject",),
    "read.log": ("log",),
    "read.search": ("memory", "search"),
    "read.show": ("diff", "show"),
    "read.status": ("status",),
    "recover.held": ("held",),
    "recover.kept": ("kept",),
    "recover.restore": ("restore", "undo"),
    "transcripts.transcript": ("transcript",),
    "write.capture": ("capture",),
    "write.edit": ("edit",),
    "write.move": ("mv", "rm"),
    "write.write": ("write",),
}


def declared(name: str) -> Declared:
    """The declaration of the command NAME, whose module is loaded for it."""
    from importlib import import_module

    module = next(module for module, names in MODULES.items() if name in names)
    loaded = import_module(f"{__name__}.{module}")
    found: Declared = getattr(loaded, f"{name.replace('-', '_')}_command")
    return found
