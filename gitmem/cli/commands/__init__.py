"""The commands, in folders by what people do, and the table of all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitmem.cli.declare import Declared

# Command -> its one line of help.
SECTIONS = {
    "Start": {
        "init": "Create a store and a group",
        "adopt": "Import an existing memory folder into a group",
        "groups": "List, rename and remove groups",
        "completion": "Print the completion script for a shell",
    },
    "Write": {
        "write": "Write a file, or append to it, as one commit",
        "edit": "Edit a file with your editor, then capture it",
        "capture": "Commit edits made outside gitmem",
        "mv": "Move a file or a folder",
        "move-entry": "Move an entry to another file",
        "rm": "Move a file or a folder to the archive",
        "archive": "Move entries and files to the archive, or list it",
        "confirm": "Mark entries as still accurate",
        "rotate": "Start the log of a new day",
        "consolidate": "Report what needs curating, and archive outdated entries",
        "compact": "Store the summary of a session",
        "rollup": "Write the summary of a week or a month",
        "snapshot": "Tag the current state of memory",
        "transcript": "Record conversations, and summarise each message once",
        "migrate": "Convert old files to the form of the layout",
    },
    "Read": {
        "inject": "Print the context for your model",
        "search": "Search memory and recorded conversations",
        "memory": "Read and search only the files that the layout allows",
        "read": "Print a file, as it is or was",
        "list": "List the files, as they are or were",
        "entries": "List entries: decisions, projects, preferences, ideas",
        "freshness": "Show how long ago each entry last changed",
        "status": "Show the state of the group and what needs attention",
        "log": "Show who did what, when and why",
        "show": "Show one commit",
        "diff": "Show what changed between two moments",
        "snapshots": "List the snapshots",
    },
    "Agents": {
        "install": "Wire gitmem into an agent host",
        "doctor": "Check the installation in agent hosts",
        "link": "Choose the group of a project folder",
        "hook": "Answer an event of an agent host",
        "mcp": "Serve a group to an agent by MCP",
        "memory-tool": "Answer one command of the Anthropic memory tool",
        "schedule": "Run maintain every day by systemd or cron",
    },
    "Repair": {
        "restore": "Bring back an entry, a file, a folder or the whole group",
        "undo": "Revert commits, and keep later changes",
        "held": "Decide on edits that were kept out of git",
        "kept": "Bring back commits that left the branch",
        "check": "Check a group for damage, and repair it",
        "maintain": "Run all due jobs: capture, rotate, snapshot, verify, pack",
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
