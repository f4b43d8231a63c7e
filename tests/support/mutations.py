"""Lines that a feature of the five systems hangs on, each with what breaks it."""

from __future__ import annotations

from typing import NamedTuple

LAYOUTS = "templates/layouts"
SYNC = "templates/skills/gitmem-memory"


class Mutation(NamedTuple):
    """OLD becomes NEW in the file PATH; without OLD, NEW is all that the file says."""

    row: str
    path: str
    old: str
    new: str = ""

    @property
    def id(self) -> str:
        """A short name: the row and the first words that go."""
        return f"{self.row}-{' '.join((self.old or self.path).split()[:4])}"


# One for each kind of row: these run with every other test.
FAST = [
    # A number and a header of a layout.
    Mutation("A10", f"{LAYOUTS}/arizuko/layout.yaml", "load: recent 14", "load: recent 13"),
    Mutation("V62", f"{LAYOUTS}/zylos/layout.yaml", "# Session Log: {date}", "# Log: {date}"),
    # A starter file that says nothing.
    Mutation("V45", f"{LAYOUTS}/zylos/reference/ideas.md", ""),
    # A sentence of a skill.
    Mutation("V50", f"{SYNC}/SKILL.md", "- Only append to the log until its day is over.\n"),
    # A constant.
    Mutation("Z42", "gitmem/model/entries/freshness.py", "7, 30, 91", "7, 31, 91"),
    # The shape of a prompt.
    Mutation("V52", "gitmem/model/context/render.py", '"=== {} ==="', '"== {} =="'),
]
ARIZUKO = f"{LAYOUTS}/arizuko/layout.yaml"
ZYLOS = f"{LAYOUTS}/zylos"
TIERS = f"{ZYLOS}/layout.yaml"
SOUL = f"{LAYOUTS}/soul/layout.yaml"
NANO = f"{LAYOUTS}/nano/layout.yaml"
CHOICES = f"{ZYLOS}/reference"
SECTION = "templates/sections/memory.md"
CHECK = "templates/schedule/tasks/context-check.md"
STARTERS = ("identity", "state", "references", "users/default/profile")
EPISODES = """\
  episodes:
    kind: journal
    path: episodes/{date}.md
    load: recent 5
    render: summary
    fields: [summary, date]
    importance: 4
    rollup: move
"""
FACTS = """\
  facts:
    kind: notes
    path: facts/*.md
    load: always
    importance: 2
    ages: true
"""
REFERENCE = ("decisions", "projects", "preferences", "ideas")

SLOW = [
    # Layouts: paths, load rules, numbers, labels, policies, fields.
    Mutation("A1", ARIZUKO, "path: facts/*.md", "path: notes/*.md"),
    Mutation("A5", ARIZUKO, "path: diary/{date}.md", "path: diary/{datetime}.md"),
    Mutation("A9", ARIZUKO, "format: xml", "format: sections"),
    Mutation("A11", ARIZUKO, "load: recent 14\n    render: summary", "load: recent 14"),
    Mutation("A16", ARIZUKO, "load: recent 5", "load: recent 4"),
    Mutation("A18", ARIZUKO, "path: facts/*.md", "path: fact/*.md"),
    Mutation("A19", ARIZUKO, "facts/*.md\n    load: always", "facts/*.md\n    load: query"),
    Mutation("A22", ARIZUKO, "path: users/{user}.md", "path: users/{user}/profile.md"),
    Mutation("A23", ARIZUKO, "load: user", "load: never"),
    Mutation("Z2", TIERS, "label: ACTIVE STATE", "label: STATE"),
    Mutation("Z2", TIERS, "label: REFERENCES\n    load: always", "label: REFERENCES"),
    Mutation("Z3", TIERS, "path: users/{user}/profile.md", "path: users/{user}.md"),
    Mutation("Z4", TIERS, "path: reference/ideas.md", "path: ideas.md"),
    Mutation("Z5", TIERS, "rotated: sessions/{date}.md", "rotated: archive/{date}.md"),
    Mutation("Z29", TIERS, "label: BOT IDENTITY", "label: IDENTITY"),
    Mutation(
        "Z36",
        TIERS,
        "STATE\n    load: always\n    importance: 1\n    budget: 4 KB",
        "STATE\n    load: always\n    importance: 1\n    budget: 16 KB",
    ),
    Mutation(
        "Z38",
        TIERS,
        "path: reference/decisions.md",
        "path: reference/decisions.md\n    budget: 4 KB",
    ),
    Mutation("Z42", TIERS, "retired: [superseded, archived]", "retired: [archived]"),
    Mutation("Z45", TIERS, "budget: 1 KB", "budget: 2 KB"),
    Mutation("V5", TIERS, "label: REFERENCES\n    load: always", "label: REFERENCES"),
    Mutation("V7", TIERS, "path: users/{user}/profile.md", "path: identity/{user}.md"),
    Mutation(
        "V12",
        TIERS,
        "IDENTITY\n    load: always\n    importance: 1\n    budget: 4 KB",
        "IDENTITY\n    load: always\n    importance: 1\n    budget: 5 KB",
    ),
    Mutation("V13", TIERS, "budget: 1 KB", "budget: 2 KB"),
    Mutation(
        "V14",
        TIERS,
        "STATE\n    load: always\n    importance: 1\n    budget: 4 KB",
        "STATE\n    load: always\n    importance: 1\n    budget: 5 KB",
    ),
    Mutation("V15", TIERS, "budget: 2 KB", "budget: 3 KB"),
    Mutation(
        "V18", TIERS, "path: reference/ideas.md", "path: reference/ideas.md\n    budget: 4 KB"
    ),
    Mutation("V19", TIERS, "policy: append-only", "policy: append-only\n    budget: 4 KB"),
    Mutation("V29", TIERS, "Decided by, "),
    Mutation("V30", TIERS, "paused, "),
    Mutation("V31", TIERS, "types: [procedural, experiential]", "types: [procedural]"),
    Mutation("V32", TIERS, ", Related"),
    Mutation(
        "V33",
        TIERS,
        "path: reference/ideas.md\n    ages: true\n    exclusive: reference",
        "path: reference/ideas.md\n    ages: true",
    ),
    Mutation("V50", TIERS, "policy: append-only", "policy: free"),
    Mutation("M3", SOUL, "path: diary/{datetime}.md", "path: diary/{date}.md"),
    Mutation(
        "M4",
        SOUL,
        "path: user.md\n    label: About the User\n    load: always",
        "path: user.md\n    label: About the User",
    ),
    Mutation("M5", SOUL, "policy: write-once", "policy: free"),
    Mutation("M6", SOUL, "policy: write-once", "policy: write-once\n    load: recent 3"),
    Mutation("M7", SOUL, "label: Your Personality", "label: Personality"),
    Mutation("M13", f"{LAYOUTS}/soul/soul.md", "", "# Soul\n"),
    Mutation("M15", SOUL, "policy: write-once", "policy: write-once\n    load: recent 3"),
    Mutation("F1", NANO, "path: memory/*.md", "path: notes/*.md"),
    Mutation("F1", NANO, "policy: protected", "policy: free"),
    Mutation("F4", NANO, "    global: true\n"),
    Mutation("F7", NANO, "into: MEMORY.md\n  daily", "into: SOUL.md\n  daily"),
    Mutation("C1", TIERS, "    warn: 3 KB\n"),
    Mutation("C21", NANO, "policy: protected", "policy: free"),
    Mutation("C27", NANO, "  daily: memory/{date}.md\n"),
    Mutation("C28", NANO, '"memory/*.md"', '"*.md"'),
    Mutation("A13", ARIZUKO, "    fields: [summary, date]\n"),
    Mutation("Z24", TIERS, "    default: users/default/profile.md\n"),
    Mutation("Z26", TIERS, "    lint: [no-config-values]\n"),
    Mutation("V9", TIERS, "    lint: [no-config-values]\n"),
    # Starter files.
    Mutation("V16", f"{ZYLOS}/identity.md", "# Identity\n", "# Identity\n" + "More words. " * 400),
    *(Mutation("V45", f"{ZYLOS}/{name}.md", "") for name in STARTERS),
    *(Mutation("V45", f"{CHOICES}/{name}.md", "") for name in REFERENCE[:3]),
    *(Mutation("V44", f"{CHOICES}/{name}.md", "") for name in REFERENCE[:1]),
    Mutation(
        "Z20",
        f"{CHOICES}/decisions.md",
        "Choices that somebody made and that closed the alternatives. ",
    ),
    Mutation(
        "Z21", f"{CHOICES}/projects.md", "Work with a scope, a beginning and some day an end. "
    ),
    Mutation(
        "Z22",
        f"{CHOICES}/preferences.md",
        "How things shall be done, for everybody and until further notice. ",
    ),
    Mutation("Z23", f"{CHOICES}/ideas.md", "What might be done, and nobody has promised. "),
    Mutation("Z25", f"{ZYLOS}/state.md", "## Pending Tasks\n"),
    Mutation(
        "Z26", f"{ZYLOS}/references.md", "A configured value is named by its place, never repeated."
    ),
    Mutation("V20", f"{ZYLOS}/identity.md", "### Wallet References\n"),
    Mutation("V23", f"{ZYLOS}/state.md", "Last updated: never\n\n"),
    Mutation("V25", f"{ZYLOS}/references.md", "## Active IDs\n"),
    Mutation(
        "V26", f"{ZYLOS}/references.md", "- Not the address, but `Mail: see .env SMTP_HOST`.\n"
    ),
    Mutation("V27", f"{ZYLOS}/users/default/profile.md", "- Response style:\n"),
    Mutation("V34", f"{CHOICES}/projects.md", "A single task is no project (state.md);"),
    Mutation("V36", f"{ZYLOS}/references.md", "- reference/decisions.md: closed choices\n"),
    Mutation("V37", f"{ZYLOS}/references.md", ", and all in doubt"),
    Mutation(
        "V38", f"{CHOICES}/decisions.md", '"We should" is still an idea', "A plan is still an idea"
    ),
    Mutation(
        "V38", f"{CHOICES}/projects.md", "A single task is no project", "A single task is a project"
    ),
    Mutation(
        "V38",
        f"{CHOICES}/preferences.md",
        "a wish for this one time is an event",
        "a wish for this one time is kept",
    ),
    # Skills.
    Mutation(
        "A12",
        "templates/skills/diary/SKILL.md",
        'gitmem write diary --summary "Calendar',
        'gitmem write diary "Calendar',
    ),
    Mutation(
        "A27",
        "templates/skills/diary/SKILL.md",
        '"Write a diary entry", "note what we did today", "wrap up the session". Adds',
        "Adds",
    ),
    Mutation("A27", "templates/skills/recall-memories/SKILL.md", '  "recall". Finds', "  Finds"),
    Mutation("Z11", f"{SYNC}/SKILL.md", " Takes no arguments."),
    Mutation("Z12", f"{SYNC}/SKILL.md", "```sh\ngitmem rotate\n```\n"),
    Mutation(
        "Z13", f"{SYNC}/SKILL.md", "go on with step 5 |\n| exit", "go on with step 7 |\n| exit"
    ),
    Mutation(
        "Z14", f"{SYNC}/SKILL.md", "the four values are needed in steps 6 and 7", "they are read"
    ),
    Mutation("Z15", f"{SYNC}/SKILL.md", "gitmem read references.md\n"),
    Mutation("Z15", f"{SYNC}/SKILL.md", "gitmem read sessions/current.md\n"),
    Mutation(
        "Z16",
        f"{SYNC}/SKILL.md",
        "| a plan, a guess, a wish that nobody promised | `reference/ideas.md` |\n",
    ),
    Mutation(
        "Z17",
        f"{SYNC}/SKILL.md",
        "Do this step in every sync, with or without messages:",
        "Do this step after messages:",
    ),
    Mutation(
        "Z18",
        f"{SYNC}/SKILL.md",
        "Do this only if step 2 gave you a range, and after you have written everything. ",
    ),
    Mutation("V10", f"{SYNC}/SKILL.md", " Takes no arguments."),
    Mutation(
        "V24",
        f"{SYNC}/SKILL.md",
        "gitmem write state --if-match BLOB",
        "gitmem write notes.md --if-match BLOB",
    ),
    Mutation(
        "V38",
        f"{SYNC}/SKILL.md",
        'Close calls: "we should" is an idea, not a decision. ',
        "Close calls: ",
    ),
    Mutation("V48", f"{SYNC}/SKILL.md", "## Step 3: read what is known\n"),
    Mutation("V49", f"{SYNC}/SKILL.md", "Memory flush complete. State saved.", "Done."),
    Mutation("V50", f"{SYNC}/SKILL.md", "- Write little: most messages need no memory.\n"),
    Mutation("V50", f"{SYNC}/SKILL.md", "- Put facts about a person into that person's profile.\n"),
    Mutation(
        "V50",
        f"{SYNC}/SKILL.md",
        "- Do not copy a configured value; name its location.\n",
    ),
    Mutation("V50", f"{SYNC}/SKILL.md", "below 2 KB, and 4 KB at the very most", "kept short"),
    Mutation("V79", f"{SYNC}/SKILL.md", "30 to 60 seconds", "a while"),
    Mutation(
        "Z42",
        f"{SYNC}/SKILL.md",
        "confirm what is still accurate, change or archive the rest",
        "it is left alone",
    ),
    Mutation(
        "Z44", f"{SYNC}/SKILL.md", " Do not archive an entry of\nimportance 1 or 2 for its age."
    ),
    Mutation("Z27", f"{SYNC}/references/state.md", ""),
    Mutation("Z27", f"{SYNC}/references/identity.md", ""),
    Mutation("Z27", f"{SYNC}/references/decisions.md", "Decided by"),
    Mutation("Z28", f"{SYNC}/examples/state.md", ""),
    Mutation("Z28", f"{SYNC}/examples/ideas.md", "### "),
    Mutation("V47", "templates/skills/claude-code.yaml", "  context: fork\n"),
    Mutation("V11", "templates/skills/claude-code.yaml", "  context: fork\n"),
    Mutation("Z7", "templates/skills/claude-code.yaml", "  context: fork\n"),
    # Constants.
    Mutation("A12", "gitmem/integrations/hooks/turns.py", "TURNS = 100", "TURNS = 90"),
    Mutation("Z9", "gitmem/model/layout/layout.py", "threshold: int = 30", "threshold: int = 29"),
    Mutation("C14", "gitmem/model/layout/layout.py", "threshold: int = 30", "threshold: int = 31"),
    Mutation("V63", "gitmem/model/layout/layout.py", "threshold: int = 30", "threshold: int = 40"),
    Mutation("Z37", "gitmem/model/report.py", "LOG_DAYS = 30", "LOG_DAYS = 31"),
    Mutation("Z40", "gitmem/model/entries/freshness.py", "7, 30, 91", "8, 30, 91"),
    Mutation("Z41", "gitmem/model/entries/freshness.py", "7, 30, 91", "7, 29, 91"),
    Mutation("Z43", "gitmem/model/entries/freshness.py", "7, 30, 91", "7, 30, 92"),
    Mutation("C8", "gitmem/model/entries/freshness.py", "7, 30, 91", "7, 30, 90"),
    Mutation("V40", "gitmem/model/entries/freshness.py", '"stale")', '"old")'),
    Mutation("Z44", "gitmem/model/entries/freshness.py", "IMMUNE = 2", "IMMUNE = 1"),
    Mutation("V42", "gitmem/model/entries/freshness.py", "IMMUNE = 2", "IMMUNE = 1"),
    Mutation("C6", "gitmem/model/entries/freshness.py", "IMMUNE = 2", "IMMUNE = 3"),
    Mutation("Z6", "gitmem/model/layout/archives.py", 'ARCHIVE = "archive"', 'ARCHIVE = "attic"'),
    Mutation("Z46", "gitmem/model/layout/archives.py", 'ARCHIVE = "archive"', 'ARCHIVE = "attic"'),
    Mutation("V51", "gitmem/model/layout/layout.py", "size > layer.budget", "size >= layer.budget"),
    Mutation("V53", "gitmem/model/layout/archives.py", "MOST_LOGS = 100", "MOST_LOGS = 99"),
    Mutation(
        "Z31", "gitmem/memory/upkeep/snapshot.py", "memory: daily snapshot", "memory: snapshot"
    ),
    Mutation("V65", "gitmem/memory/upkeep/snapshot.py", "memory: daily snapshot", "daily snapshot"),
    Mutation(
        "F7",
        "gitmem/model/transcripts/compactions.py",
        '"## Session Compaction"',
        '"## Compaction"',
    ),
    Mutation("F8", "gitmem/model/layout/layout.py", "top: int = 8", "top: int = 9"),
    Mutation("F8", "gitmem/model/layout/layout.py", "chars: int = 6000", "chars: int = 7000"),
    Mutation("F17", "gitmem/memory/upkeep/compact.py", "PREVIEW = 1200", "PREVIEW = 12"),
    Mutation("F13", "gitmem/model/access.py", "target == GLOBAL and not write", "not write"),
    Mutation("V75", "templates/env.example", "TZ=UTC\n"),
    Mutation("V61", "gitmem/memory/clock.py", 'ENV = ".env"', 'ENV = ".environment"'),
    Mutation("A29", "templates/skills/users/SKILL.md", 'version: "1"', 'version: "7"'),
    Mutation("C31", "gitmem/model/entries/blocks.py", '"Date observed", '),
    Mutation("V58", "hooks/hooks.json", '"timeout": 10', '"timeout": 1'),
    # What a prompt and a message look like.
    Mutation(
        "A7",
        "gitmem/model/context/render.py",
        'piece.render == "summary" and not piece.lack:\n        entry',
        'piece.render == "none" and not piece.lack:\n        entry',
    ),
    Mutation("A8", "gitmem/model/layout/journal.py", '"yesterday" if', '"1 day ago" if'),
    Mutation("A8", "gitmem/model/layout/journal.py", "} weeks ago", "} weeks"),
    Mutation("A20", "gitmem/model/context/render.py", '"jid": piece.user', '"id": piece.user'),
    Mutation(
        "A20",
        "gitmem/model/context/render.py",
        'f"<knowledge{_attributes(source | more)}>"',
        'f"<fact{_attributes(source | more)}>"',
    ),
    Mutation(
        "V52", "gitmem/model/context/escape.py", 'MISSING = "(missing)"', 'MISSING = "(none)"'
    ),
    Mutation(
        "C16", "gitmem/model/context/escape.py", 'MISSING = "(missing)"', 'MISSING = "(none)"'
    ),
    Mutation("M7", "gitmem/model/context/render.py", '"## {}"', '"# {}"'),
    Mutation(
        "Z13",
        "gitmem/memory/transcripts/pending.py",
        '"No unsummarized conversations."',
        '"Nothing."',
    ),
    Mutation(
        "Z14", "gitmem/cli/commands/transcripts/transcript.py", "[Unsummarized Range]", "[Range]"
    ),
    # Pages.
    Mutation("A21", "docs/layouts.md", "conventions, systems and contacts that are", "things"),
    Mutation("A25", "docs/layouts.md", "prefers, their history and work", "says"),
    Mutation(
        "V28",
        "docs/layouts.md",
        "| what might be done, and nobody promised | `reference/ideas.md` |\n",
    ),
    Mutation("V35", "docs/layouts.md", "from 1, critical, to 5, minor", "from 1 to 5"),
    Mutation("V80", "docs/layouts.md", "; never memory"),
    Mutation(
        "M8",
        "docs/injection.md",
        "**memory**, status board, the last",
        "status board, **memory**, the last",
    ),
    Mutation("M9", "docs/injection.md", "; no conversation"),
    # Where memory lies, and who sees it.
    Mutation("A2", "gitmem/memory/store.py", '/ "groups" /', '/ "memory" /'),
    Mutation("F3", "gitmem/memory/store.py", '/ "groups" /', '/ "memory" /'),
    Mutation("A3", "gitmem/store/setup.py", 'f"gitdir: {target}\\n"', 'f"gitmem: {target}\\n"'),
    Mutation("A4", "gitmem/model/access.py", "    raise GroupRefused(", "    GroupRefused("),
    Mutation(
        "A4",
        "gitmem/model/paths.py",
        "    broken = _broken_path(path)\n    if broken is not None:\n",
        "    broken = _broken_path(path)\n    if False:\n",
    ),
    Mutation(
        "F15",
        "gitmem/model/paths.py",
        "    broken = _broken_path(path)\n    if broken is not None:\n",
        "    broken = _broken_path(path)\n    if False:\n",
    ),
    *(
        Mutation(
            row,
            "gitmem/memory/admin/init.py",
            "worktree.resolve() if worktree",
            "known if worktree",
        )
        for row in ("Z1", "F2")
    ),
    *(
        Mutation(
            row,
            "gitmem/store/setup.py",
            'os.fsencode(f"{found.line}/")',
            'os.fsencode(f"{found.line}.bak/")',
        )
        for row in ("M12", "C12")
    ),
    Mutation(
        "C11",
        "gitmem/memory/store.py",
        'return self.root / "repos" / f"{group}.git"',
        'return self.root / "groups" / group / ".git"',
    ),
    # Starter files, skills and sections.
    Mutation("V46", "gitmem/memory/admin/init.py", "snapshot.node(path) is None", "True"),
    Mutation(
        "A14", ARIZUKO, "compact:\n  into: episodes/{date}.md", "compact:\n  into: diary/{date}.md"
    ),
    Mutation(
        "A14", "gitmem/integrations/hooks/turns.py", "            keep_summary(group, text)\n"
    ),
    Mutation(
        "A15", "templates/skills/aliases/arizuko/recall/SKILL.md", "name: recall", "name: find"
    ),
    Mutation("A15", "gitmem/memory/context/retrieve.py", '"recent", "query")', '"query")'),
    Mutation(
        "A17",
        "gitmem/model/layout/rollups.py",
        "(week, month), WEEK: (month,)",
        "(week,), WEEK: (month,)",
    ),
    Mutation("A24", ARIZUKO, "    names: literal\n"),
    Mutation("A24", "gitmem/model/context/render.py", '"jid": piece.user, '),
    Mutation("A26", "templates/skills/facts/SKILL.md", "name: facts", "name: fact"),
    Mutation("A28", "gitmem/integrations/install/plan.py", "*self.skills.changes, "),
    Mutation(
        "Z8", SECTION, "The sync comes before everything else, also before", "It can wait for"
    ),
    Mutation("Z19", f"{SYNC}/SKILL.md", "## Step 7: say that it is done\n"),
    Mutation("V77", "templates/sections/layers.yaml", "closes its alternatives", "was made"),
    Mutation(
        "V77",
        "gitmem/integrations/install/parts/sections.py",
        'for kind in ("log", "journal")',
        'for kind in ("journal",)',
    ),
    Mutation("V77", SECTION, "finish only a write that must not stop halfway, "),
    Mutation("V77", SECTION, "**Write at once.**", "**Write later.**"),
    # What a prompt holds.
    Mutation(
        "A6",
        "gitmem/model/text/frontmatter.py",
        "data = YAMLHandler().load(block.raw)",
        "data = {}",
    ),
    Mutation("A30", ARIZUKO, EPISODES + FACTS, FACTS + EPISODES),
    Mutation("A31", "gitmem/memory/context/inject.py", "system_prompt", "prompt_text"),
    Mutation("V8", NANO, "load: query", "load: always"),
    *(
        Mutation(
            row,
            "gitmem/memory/context/gather.py",
            'layer.load == "always"',
            'layer.load in ("always", "query")',
        )
        for row in ("V71", "F9")
    ),
    Mutation(
        "F9", "gitmem/memory/context/inject.py", "page.text(draft.kept)", "page.text(draft.pieces)"
    ),
    Mutation(
        "F9",
        "gitmem/model/context/render.py",
        "if number == 0 and each.opening == _OWN",
        "if False",
    ),
    Mutation("V43", TIERS, "    load: user\n"),
    Mutation("V43", TIERS, "label: REFERENCES\n    load: always", "label: REFERENCES"),
    Mutation("C4", SOUL, "policy: write-once", "policy: write-once\n    load: recent 3"),
    Mutation("C4", ARIZUKO, "load: recent 14", "load: never"),
    Mutation("C17", ARIZUKO, "facts/*.md\n    load: always", "facts/*.md\n    load: query"),
    Mutation("C17", "gitmem/model/context/fit.py", "if size(pieces) <= budget:", "if True:"),
    Mutation("M16", "gitmem/model/context/fit.py", "if size(pieces) <= budget:", "if True:"),
    Mutation(
        "C15",
        "gitmem/memory/context/inject.py",
        "        format or layout.format, annotate",
        "        layout.format, annotate",
    ),
    Mutation(
        "C20",
        "gitmem/memory/context/gather.py",
        'if mode == "pointer" else',
        'if mode == "arrow" else',
    ),
    Mutation(
        "C20", "gitmem/memory/context/gather.py", 'self._selection.user_mode == "none"', "False"
    ),
    Mutation("C25", "gitmem/model/layout/journal.py", 'return "week"', 'return "day"'),
    Mutation(
        "C26", "gitmem/memory/context/gather.py", "pages = filter(None, map(", "pages = iter(map("
    ),
    Mutation("C2", "gitmem/model/layout/journal.py", "(?P<dash>-?)", "(?P<dash>-)"),
    Mutation("C2", "gitmem/model/layout/journal.py", "(?:T(?P<time>", "(?:t(?P<time>"),
    Mutation(
        "C19",
        "gitmem/model/users.py",
        'before + name + after.replace("{user}", name)',
        "before + name",
    ),
    # Writing, and the policies of layers.
    Mutation("C3", SOUL, "policy: write-once", "policy: free"),
    Mutation(
        "C3", "gitmem/model/layout/archives.py", 'if layer.header else b""', 'if False else b""'
    ),
    Mutation("C9", "gitmem/memory/group.py", "agent=check_agent(who.agent)", 'agent="agent"'),
    Mutation(
        "C22", "gitmem/memory/write/apply.py", "return ended(before, newline) +", "return before +"
    ),
    Mutation(
        "C29",
        "gitmem/memory/group.py",
        "return time_now(self._now, self.zone)",
        "return time_now(self._now, UTC)",
    ),
    Mutation(
        "C32",
        "gitmem/memory/write/write.py",
        "(Step(changed, _note(request, done, changed)),) if",
        "tuple(Step({x: y}, _note(request, done, {x: y})) for x, y in changed.items()) if",
    ),
    Mutation(
        "V17",
        "gitmem/memory/write/write.py",
        "Step(changed, ",
        'Step({**changed, "log.md": b"x\\n"}, ',
    ),
    Mutation("V22", "gitmem/model/secrets/wallets.py", "        finder=phrases_in,\n"),
    Mutation("V22", f"{ZYLOS}/layout.yaml", "    lint: [no-secrets]\n"),
    Mutation("V35", "gitmem/model/entries/rules.py", '("Type", layer.types)', '("Type", ())'),
    Mutation("Z48", "gitmem/model/entries/rules.py", "if entry.date is None and", "if False and"),
    # Edits, commits and crashes.
    *(
        Mutation(
            row,
            "gitmem/memory/write/open_edits.py",
            'made.append(PendingEdit(path, "new"))',
            "continue",
        )
        for row in ("M1", "M10", "C10")
    ),
    Mutation(
        "M2",
        "gitmem/model/transcripts/batches.py",
        'REF = "refs/gitmem/transcripts"',
        'REF = "refs/heads/talk"',
    ),
    Mutation(
        "M11",
        "gitmem/memory/context/inject.py",
        "    pinned = pin(group, at)\n",
        "    from gitmem.memory.write.capture import capture\n\n"
        "    capture(group)\n    pinned = pin(group, at)\n",
    ),
    *(
        Mutation(
            row,
            "gitmem/store/lock.py",
            "fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)",
            "fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)",
        )
        for row in ("M14", "C30")
    ),
    Mutation(
        "V1", "gitmem/store/refs/move.py", "        os.fsync(fd)\n\n\ndef _held", "\n\ndef _held"
    ),
    Mutation(
        "V55",
        "gitmem/store/objects/commits.py",
        "signature_name(agent)}",
        "__import__('pygit2').Config.get_global_config()['user.name']}",
    ),
    Mutation(
        "V66",
        "gitmem/store/transaction/capture.py",
        "steps = [Step({path: state.data}, note)]",
        "steps = [Step({path: before}, note)]",
    ),
    Mutation(
        "V66",
        "gitmem/store/transaction/publish.py",
        "            self._note(plan.steps[-1].note.id, tip, items)\n",
    ),
    Mutation(
        "V67",
        "gitmem/store/worktree/swap.py",
        "            (swap if swapping else rename_onto_nothing)(source, target)\n",
        "            os.unlink(target.name, dir_fd=target.folder)\n"
        "            rename_onto_nothing(source, target)\n",
    ),
    # Freshness and consolidation.
    Mutation("Z39", "gitmem/model/entries/freshness.py", 'WHITE = b" \\t\\n\\r"', 'WHITE = b"\\v"'),
    Mutation(
        "C7",
        "gitmem/model/entries/freshness.py",
        "_digest(text.removeprefix(BOM).translate(None, WHITE))",
        '_digest(b"")',
    ),
    Mutation("C5", "gitmem/model/entries/freshness.py", '"stale")', '"archived")'),
    Mutation("C5", "gitmem/model/report.py", "    if entry.retired:\n", "    if True:\n"),
    Mutation(
        "Z32",
        "gitmem/cli/commands/curate/report.py",
        '"archiveCandidatesOlderThan30Days"',
        '"archiveCandidates"',
    ),
    Mutation("V56", "gitmem/cli/commands/curate/report.py", '"largestFiles"', '"biggestFiles"'),
    Mutation("V56", "gitmem/model/report.py", "MOST = 10", "MOST = 9"),
    Mutation("Z35", "gitmem/model/report.py", "is over its budget", "is long"),
    Mutation(
        "Z47",
        "gitmem/memory/curate/consolidate.py",
        "return Plan((Step({log.path: log.data}, note), *steps), done)",
        "return Plan((*steps,), done)",
    ),
    Mutation(
        "V39",
        "gitmem/memory/upkeep/tasks.py",
        '    UpkeepTask("rotate", _rotate_due, _rotate, is_job=True),\n',
    ),
    Mutation("V39", "gitmem/model/report.py", "LOG_DAYS = 30", "LOG_DAYS = 300"),
    Mutation("V41", "gitmem/memory/upkeep/tasks.py", "WEEK = 7", "WEEK = 8"),
    Mutation("C23", "gitmem/model/layout/archives.py", 'ARCHIVE = "archive"', 'ARCHIVE = "attic"'),
    Mutation(
        "C24",
        "gitmem/memory/upkeep/rollups_due.py",
        "    layers = rolled_layers(layout, layer)\n",
        "    layers = rolled_layers(layout, layer)\n    (group.worktree / 'x.md').touch()\n",
    ),
    # The rhythm of the day.
    Mutation("Z30", "gitmem/memory/upkeep/rotate.py", "if day == self._today or", "if True or"),
    Mutation("V2", "gitmem/memory/upkeep/snapshot.py", 'PREFIX = "snapshot/"', 'PREFIX = "day/"'),
    Mutation("C13", "gitmem/memory/upkeep/snapshot.py", "if before and not force:", "if before:"),
    Mutation(
        "V4",
        "gitmem/memory/group.py",
        "return time_now(self._now, self.zone)",
        "return time_now(None, self.zone)",
    ),
    Mutation("V6", "pyproject.toml", '    "click",\n', '    "anthropic",\n    "click",\n'),
    Mutation("V68", "gitmem/integrations/schedule/plan.py", "Time(23, 0)", "Time(3, 0)"),
    Mutation("V68", "gitmem/integrations/schedule/plan.py", "EVERY = 30", "EVERY = 60"),
    Mutation("V69", "gitmem/integrations/schedule/plan.py", "{CONTEXT: 1, ", "{CONTEXT: 2, "),
    Mutation("Z10", CHECK, "3. From 70 % on", "3. From 90 % on"),
    Mutation("V78", CHECK, "2. Below 70 %", "2. Below 50 %"),
    Mutation("V78", CHECK, '"Context OK: X%"', '"fine"'),
    Mutation("V78", CHECK, "then start a new session", "then go on"),
    Mutation("Z33", "gitmem/model/layout/layout.py", 'return "over"', 'return "ok"'),
    Mutation("V74", "gitmem/memory/read/status.py", 'health = "attention"', 'health = "ok"'),
    Mutation("V57", "gitmem/memory/read/status.py", "size += len(", "size = len("),
    # Conversations.
    Mutation(
        "Z34", "gitmem/integrations/transcripts/databases.py", 'return f"c4:{number}"', 'return ""'
    ),
    Mutation(
        "Z34",
        "gitmem/integrations/transcripts/databases.py",
        "found.append(Summarised(",
        "list(Summarised(",
    ),
    Mutation(
        "V54", "gitmem/memory/transcripts/pending.py", "        write_lease(group.gitdir, out)\n"
    ),
    Mutation(
        "V64",
        "gitmem/memory/transcripts/pending.py",
        "again is None or again.has(number, name)",
        "True",
    ),
    Mutation("V59", "gitmem/memory/transcripts/pending.py", "[Action Required] ", ""),
    Mutation(
        "V59",
        "gitmem/model/transcripts/batches.py",
        '"No new conversations since last checkpoint."',
        '"Nothing new."',
    ),
    Mutation("V59", "gitmem/model/transcripts/batches.py", '{"zylos": "zylos-memory"}', "{}"),
    Mutation(
        "V60",
        "gitmem/integrations/hooks/session_start.py",
        'CARRIED_ON = ("resume", "fork")',
        'CARRIED_ON = ("resume", "fork", "compact")',
    ),
    Mutation(
        "V81",
        "gitmem/integrations/hooks/answer.py",
        "            self.failed(error, what)\n            return NOTHING\n",
        "            raise\n",
    ),
    Mutation(
        "V81",
        "gitmem/integrations/hooks/session_start.py",
        "            return lambda holds: worded(UNREADABLE)\n",
        "            raise\n",
    ),
    # Search and retrieval.
    Mutation("V70", "gitmem/memory/search/search.py", "                hits += messages.hits\n"),
    Mutation(
        "V70",
        "gitmem/memory/context/retrieve.py",
        "    gate = query.limits.gate\n",
        "    gate = 2.0\n",
    ),
    Mutation("V72", "gitmem/memory/search/search.py", "        related=tuple(related),\n"),
    Mutation(
        "C18",
        "gitmem/memory/search/search.py",
        "hits.sort(key=lambda each: -each.score)",
        "hits.reverse()",
    ),
    Mutation(
        "C18",
        "gitmem/memory/context/retrieve.py",
        "    gate = query.limits.gate\n",
        "    gate = 2.0\n",
    ),
    Mutation(
        "F10",
        "gitmem/memory/search/messages.py",
        "if since or chats else None",
        "if since else None",
    ),
    Mutation("F11", "gitmem/cache/scoring.py", "-bm25(words", "bm25(words"),
    Mutation(
        "F12",
        "gitmem/memory/read/memory_actions.py",
        'sources: str = "all"',
        'sources: str = "memory"',
    ),
    Mutation(
        "F14", "gitmem/memory/read/memory_actions.py", "if not layout.allows(name):", "if False:"
    ),
    Mutation(
        "F14", "gitmem/memory/read/memory_actions.py", "allowed_only=True", "allowed_only=False"
    ),
    # Migration and compaction.
    Mutation("F5", NANO, "  from: CLAUDE.md\n", "  from: CLAUDE.txt\n"),
    Mutation(
        "F5",
        "gitmem/integrations/hooks/session_start.py",
        "if any(layout_of(self._group).migrate):",
        "if False:",
    ),
    Mutation("F6", NANO, '"## Session Compaction "', '"## Compaction "'),
    Mutation(
        "F6",
        "gitmem/memory/upkeep/tasks.py",
        '    UpkeepTask("migrate", _migrate_due, _migrate),\n',
    ),
    Mutation(
        "F16",
        "gitmem/integrations/hooks/session_start.py",
        "        return worded(GO_ON, path=path)\n",
        "        return NOTHING\n",
    ),
    Mutation("F16", NANO, "into: MEMORY.md\n  daily", "into: SOUL.md\n  daily"),
]
