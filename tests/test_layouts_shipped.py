"""The layouts that ship: what they say and what a group begins with; and that they are data."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from gitmem.memory.layouts import folder_of, shipped, shipped_layout, starter_files
from gitmem.model.layout.layout import FORMATS, KINDS, LOADS, POLICIES, VARIABLES, Layer, Layout
from gitmem.model.layout.parse import _LAYER, _LAYOUT, LINT_RULES, parse
from gitmem.model.secrets import find as secrets
from gitmem.model.text import frontmatter
from gitmem.resources import templates
from tests.support.cli import Run, run_gitmem
from tests.support.git import git

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "layouts.md").read_text("utf-8")
NAMES = ("arizuko", "claude-code", "nano", "soul", "standard", "zylos")
CORE = (
    "identity.md",
    "reference/decisions.md",
    "reference/ideas.md",
    "reference/preferences.md",
    "reference/projects.md",
    "references.md",
    "state.md",
    "users/default/profile.md",
)
BEGIN_WITH = {
    "arizuko": (),
    "claude-code": (),
    "nano": ("MEMORY.md", "SOUL.md"),
    "soul": (),
    "standard": CORE,
    "zylos": CORE,
}
FOREIGN = r"""
    anthropic|arizuko|chatgpt|claude|codex|copilot|cursor|discord|fft|gemini|github|gpt|howard|lark|
    letta|llama|mem0|nanobot|notion|obsidian|openai|openclaw|postgres|slack|sqlite|telegram|
    whatsapp|zylos
"""

IDENTITY = """
# Identity
## Who I Am
## Principles
## Communication Style
## Timezone
## Digital Assets
### Accounts
### Wallet References
### API Key References
### Platform IDs
"""
STATE = """
# Active State
## Current Focus
## Pending Tasks
## Recent Completions
"""
REFERENCES = """
# References
## Configuration Sources
## Key Paths
## Services
## Active IDs
## Notes
"""
PROFILE = """
# User Profile
## Identity
## Communication
## Preferences
## Notes
"""

# The words that make a starter file what it is: its title, what belongs in it, and close calls.
SAYS = {
    "identity.md": ("# Identity", "ask before I do anything that cannot be undone"),
    "state.md": ("# Active State", "in one to three sentences"),
    "references.md": ("# References", "named by its place, never repeated"),
    "users/default/profile.md": ("# User Profile", "Response style:"),
    "reference/decisions.md": (
        *("# Decisions", "closed the alternatives"),
        '"We should" is still an idea (ideas.md)',
    ),
    "reference/projects.md": (
        *("# Projects", "Work with a scope", "an end"),
        *("A single task is no project (state.md)", "what nobody has begun is an idea (ideas.md)"),
    ),
    "reference/preferences.md": (
        *("# Preferences", "for everybody and until further notice"),
        "a wish for this one time is an event (sessions/current.md)",
    ),
    "reference/ideas.md": (
        *("# Ideas", "nobody has promised", "Once it is settled it moves to decisions.md"),
        "once work begins to projects.md",
    ),
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line on a store of its own, on a day of its own."""
    monkeypatch.setenv("GITMEM_HOME", str(tmp_path / "store"))
    monkeypatch.setenv("GITMEM_NOW", "2026-02-08T14:30:00Z")
    monkeypatch.chdir(tmp_path)
    return run_gitmem


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return tmp_path / "store" / "groups" / "main"


def layer(layout: Layout, name: str) -> Layer:
    found = layout.layer(name)
    assert found is not None, name
    return found


def starters(name: str) -> dict[str, str]:
    """What a new group begins with, but for its gitmem.yaml."""
    found = {path: data.decode() for path, data in starter_files(name).items()}
    del found["gitmem.yaml"]
    return found


def headings(text: str) -> str:
    return "\n" + "".join(f"{line}\n" for line in text.splitlines() if line.startswith("#"))


def rows(heading: str) -> list[str]:
    """The first column of the first table below a heading of the page."""
    _, _, rest = f"\n{PAGE}".partition(f"\n{heading}\n")
    assert rest, heading
    table = re.search(r"(?:^\|.*\n)+", rest, re.MULTILINE)
    assert table
    return [line.split("|")[1].strip(" `") for line in table[0].splitlines()[2:]]


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_these_are_the_layouts_that_ship() -> None:
    assert shipped() == NAMES
    assert set(rows("# Layouts")) == set(NAMES)


@pytest.mark.parametrize("name", ["arizuko", "standard"])
def test_episodes_retire_when_they_are_rolled_up_and_a_diary_stays(name: str) -> None:
    layout = shipped_layout(name)

    assert layer(layout, "episodes").rollup == "move"
    assert layer(layout, "diary").rollup == "keep"
    assert [each.name for each in layout.layers if each.rollup] == ["diary", "episodes"]


@pytest.mark.parametrize("name", NAMES)
def test_a_layout_that_ships_can_be_read_and_has_its_name(name: str) -> None:
    layout = shipped_layout(name)

    assert layout.name == name
    assert layout.layers
    assert len({each.path for each in layout.layers}) == len(layout.layers)


@pytest.mark.parametrize("name", NAMES)
def test_a_new_group_begins_with_just_these_files(name: str, run: Run, files: Path) -> None:
    assert run("init", "--layout", name).code == 0

    assert git(files, "ls-files").split() == sorted(["gitmem.yaml", *BEGIN_WITH[name]])
    assert git(files, "status", "--porcelain") == ""
    assert git(files, "fsck", "--strict", "--no-dangling") == ""
    for path, data in starter_files(name).items():
        assert (files / path).read_bytes() == data


def test_a_new_group_has_the_standard_layout_unless_told_otherwise(run: Run, files: Path) -> None:
    run("init")
    run("init", "-g", "bare", "--layout", "none")

    assert parse((files / "gitmem.yaml").read_text()).name == "standard"
    assert git(files.with_name("bare"), "ls-files") == ""


@pytest.mark.parametrize("name", NAMES)
def test_a_new_group_is_in_order(name: str, run: Run) -> None:
    run("init", "--layout", name)

    assert run("lint").code == 0
    assert run("check").code == 0
    assert run("migrate").code == 0
    assert run("entries", "--json").document["entries"] == []


def test_names_that_begin_with_a_dot_are_no_memory(tmp_path: Path) -> None:
    (tmp_path / "mine" / "sessions").mkdir(parents=True)
    (tmp_path / "mine" / "layout.yaml").write_text("gitmem: 1\n")
    for name in ("a.md", ".gitkeep", "sessions/.gitkeep", "sessions/b.md"):
        (tmp_path / "mine" / name).write_text("x\n")

    assert set(starter_files(str(tmp_path / "mine"))) == {"gitmem.yaml", "a.md", "sessions/b.md"}


@pytest.mark.parametrize("name", NAMES)
def test_every_starter_file_belongs_to_a_layer_and_is_far_inside_its_budget(name: str) -> None:
    layout = shipped_layout(name)

    for path, text in starters(name).items():
        owner = layout.layer_of(path)
        assert owner is not None, path
        assert len(text.encode()) <= (owner.warn or owner.budget or 1024) * 2 / 3, path
        assert text.endswith("\n")
        assert max(len(line) for line in text.splitlines()) <= 120


@pytest.mark.parametrize("name", ["zylos", "standard"])
def test_what_is_in_every_prompt_on_the_first_day_is_small(name: str) -> None:
    layout, files = shipped_layout(name), starters(name)
    always = [each.path for each in layout.layers if each.load == "always" and each.path in files]

    assert sum(len(files[path].encode()) for path in always) < 4.5 * 1024


@pytest.mark.parametrize("name", NAMES)
def test_the_texts_speak_of_no_other_product(name: str) -> None:
    texts = starters(name) | {"layout.yaml": (folder_of(name) / "layout.yaml").read_text()}

    for path, text in texts.items():
        # The name of a layout is ours to give; CLAUDE.md is the name of a file that is read.
        plain = text.replace(f"layout: {name}\n", "").replace("CLAUDE.md", "")
        assert not re.search(rf"\b(?:{FOREIGN})\b", plain, re.IGNORECASE | re.VERBOSE), path


@pytest.mark.parametrize("name", NAMES)
def test_the_texts_hold_no_secret_no_entry_and_no_value_that_is_not_so(name: str) -> None:
    for path, text in starters(name).items():
        assert secrets.find(text) == []
        assert frontmatter.read(text) == {}
        assert not re.search(r"[\[<(](?:bot|your|name|to be|none|e\.g)", text, re.IGNORECASE), path
        assert path == "identity.md" or "\n### " not in text
        assert not re.search(r"\b(?:19|20)\d\d-\d\d-\d\d\b", text), path


def test_the_core_files_have_their_sections() -> None:
    files = starters("zylos")

    assert headings(files["identity.md"]) == IDENTITY
    assert headings(files["state.md"]) == STATE
    assert headings(files["references.md"]) == REFERENCES
    assert files["state.md"].splitlines()[2].startswith("Last updated: ")
    assert "- [ ] task (" in files["state.md"]
    assert "- [x] item (YYYY-MM-DD)" in files["state.md"]


def test_the_default_profile_asks_for_what_a_profile_has() -> None:
    profile = starters("zylos")["users/default/profile.md"]

    assert headings(profile) == PROFILE
    assert re.findall(r"^- (.+):$", profile, re.MULTILINE) == [
        "Name",
        "User ID",
        "Primary Channel",
        "Language preference",
        "Response style",
        "Special instructions",
    ]
    assert profile.splitlines()[-1].startswith("Last updated: ")


def test_identity_names_variables_and_never_values() -> None:
    text = starters("zylos")["identity.md"]

    assert "no-secrets" in layer(shipped_layout("zylos"), "identity").lint
    assert "name of the variable in .env" in text
    assert "public address" in text
    assert re.search(r"## Timezone\n.*`TZ` in \.env", text)


def test_references_point_and_say_so() -> None:
    text = starters("zylos")["references.md"]

    assert "no-config-values" in layer(shipped_layout("zylos"), "references").lint
    assert "never repeated" in text
    assert "see .env" in text


def test_the_standard_layout_begins_like_zylos_and_knows_more_places() -> None:
    standard, zylos = starters("standard"), starters("zylos")

    assert {path for path in CORE if standard[path] != zylos[path]} == {"references.md"}
    added = set(standard["references.md"].splitlines()) - set(zylos["references.md"].splitlines())
    assert {line[2:].partition("/")[0] for line in added} == {"facts", "diary", "episodes"}


@pytest.mark.parametrize("name", ["zylos", "standard"])
def test_references_say_for_every_layer_what_goes_there(name: str) -> None:
    _, _, rest = starters(name)["references.md"].partition("go to the first that fits:\n")
    lines = rest.partition("\n\n")[0].splitlines()
    layout = shipped_layout(name)
    fillings = {"<id>": "ada", "<subject>": "tea", "diary/": "diary/2026-02-08.md"}
    fillings["episodes/"] = "episodes/2026-02-08.md"
    places = [line[2:].partition(":")[0] for line in lines]
    for old, new in fillings.items():
        places = [place.replace(old, new) for place in places]

    assert places[-1] == "archive/"
    named = [layout.layer_of(place) for place in places[:-1]]
    assert {each.name for each in named if each} == {each.name for each in layout.layers}
    assert len(named) == len(layout.layers)
    assert "in doubt" in lines[-2]
    assert places[-2] == "sessions/current.md"


@pytest.mark.parametrize("name", ["zylos", "standard"])
@pytest.mark.parametrize(("path", "words"), SAYS.items(), ids=list(SAYS))
def test_a_starter_file_says_what_it_is_for(name: str, path: str, words: tuple[str, ...]) -> None:
    text = " ".join(starters(name)[path].split())

    assert [each for each in words if each not in text] == []


def test_the_log_of_a_session_begins_with_its_header(run: Run, files: Path) -> None:
    run("init", "--layout", "zylos")
    log = files / "sessions" / "current.md"

    run("write", "sessions", "- 14:30 Tea.")

    assert log.read_text() == "# Session Log: 2026-02-08\n\n- 14:30 Tea.\n"
    assert run("rotate", GITMEM_NOW="2026-02-09T00:00:00Z").code == 0
    assert log.read_text() == "# Session Log: 2026-02-09\n\n"
    assert (log.parent / "2026-02-08.md").read_text().startswith("# Session Log: 2026-02-08\n")


@pytest.mark.parametrize("name", ["zylos", "standard"])
@pytest.mark.parametrize(
    ("layer_name", "others"),
    [
        ("decisions", {"ideas.md", "projects.md", "preferences.md", "profile"}),
        ("projects", {"state.md", "decisions.md", "ideas.md"}),
        ("preferences", {"profile", "sessions/current.md", "decisions.md", "ideas.md"}),
        ("ideas", {"decisions.md", "projects.md", "references.md"}),
    ],
)
def test_a_reference_file_says_what_does_not_belong_in_it(
    name: str, layer_name: str, others: set[str]
) -> None:
    about = layer(shipped_layout(name), layer_name)
    text = starters(name)[about.path]
    rules, fields = text.split("\n\n")[1:3]

    assert all(other in rules for other in others)
    told = " ".join(fields.split())
    for word in (*about.statuses, *about.types):
        assert word in told
    order = [told.index(field) for field in about.fields]
    assert order == sorted(order)


@pytest.mark.parametrize("name", ["zylos", "standard"])
def test_entries_have_the_fields_statuses_and_types_of_their_format(name: str) -> None:
    layout = shipped_layout(name)
    decisions, projects, preferences, ideas = (
        layer(layout, each) for each in ("decisions", "projects", "preferences", "ideas")
    )

    assert decisions.fields == (
        *("Date", "Decided by", "Decision", "Context", "Status", "Importance", "Type"),
    )
    assert decisions.statuses == ("active", "superseded", "archived")
    assert decisions.types == ("strategic", "procedural")
    assert projects.fields == (
        *("Status", "Started", "Updated", "Description", "Importance", "Type"),
    )
    assert projects.statuses == ("planning", "active", "paused", "completed", "abandoned")
    assert projects.types == ("factual",)
    assert preferences.fields == ("Date observed", "Applies to", "Importance", "Type")
    assert preferences.statuses == ()
    assert preferences.types == ("procedural", "experiential")
    assert ideas.fields == (
        *("Date", "Source", "Status", "Importance", "Type", "Description", "Related"),
    )
    assert ideas.statuses == ("raw", "exploring", "ready-to-commit", "dropped")
    assert ideas.types == ("strategic", "experiential")
    every = (decisions, projects, preferences, ideas)
    assert {each.exclusive for each in every} == {"reference"}
    assert all(set(each.retired) <= set(each.statuses) for each in every)
    assert all(each.ages and each.budget == 0 for each in every)


def test_zylos_has_its_tiers_and_budgets() -> None:
    layout = shipped_layout("zylos")

    assert {each.name: (each.path, each.load, each.budget) for each in layout.layers[:4]} == {
        "identity": ("identity.md", "always", 4096),
        "state": ("state.md", "always", 4096),
        "references": ("references.md", "always", 2048),
        "user": ("users/{user}/profile.md", "user", 1024),
    }
    assert {each.load for each in layout.layers[4:]} == {"never"}
    log = layer(layout, "sessions")
    assert (log.path, log.rotated, log.header, log.policy, log.budget) == (
        "sessions/current.md",
        "sessions/{date}.md",
        "# Session Log: {date}",
        "append-only",
        0,
    )
    assert all(0 < each.warn < each.budget for each in layout.layers[:3])
    assert layer(layout, "user").default in starters("zylos")


def test_arizuko_shows_days_as_summaries_and_facts_whole_in_this_order() -> None:
    layout = shipped_layout("arizuko")

    assert [
        (each.name, each.path, each.load, each.recent, each.render) for each in layout.layers
    ] == [
        ("diary", "diary/{date}.md", "recent", 14, "summary"),
        ("episodes", "episodes/{date}.md", "recent", 5, "summary"),
        ("facts", "facts/*.md", "always", 0, "whole"),
        ("user", "users/{user}.md", "user", 0, "whole"),
    ]
    assert layout.format == "xml"


def test_soul_has_two_living_documents_and_a_diary_that_nobody_rewrites() -> None:
    layout = shipped_layout("soul")

    assert [(each.path, each.heading, each.load, each.policy) for each in layout.layers] == [
        ("soul.md", "Your Personality", "always", "free"),
        ("user.md", "About the User", "always", "free"),
        ("diary/{datetime}.md", "diary", "never", "write-once"),
    ]


def test_nano_keeps_identity_apart_from_what_is_looked_up() -> None:
    layout = shipped_layout("nano")

    assert layer(layout, "soul").policy == "protected"
    assert [layer(layout, each).load for each in ("memory", "notes")] == ["query", "query"]
    assert [each.name for each in layout.layers if each.shared] == ["memory", "notes"]
    assert [each.path for each in layout.layers] == ["SOUL.md", "MEMORY.md", "memory/*.md"]
    assert (layout.compact.into, layout.compact.daily) == ("MEMORY.md", "memory/{date}.md")
    assert layout.migrate == ("CLAUDE.md", "SOUL.md", "## Session Compaction ", "MEMORY.md")
    # A scaffold that search would find is worse than an empty file.
    assert starters("nano")["MEMORY.md"] == "# Memory\n"


def test_standard_has_the_parts_of_all() -> None:
    layout = shipped_layout("standard")

    assert {each.name for each in layout.layers} == {
        *("identity", "state", "references", "user", "facts"),
        *("decisions", "projects", "preferences", "ideas", "diary", "episodes", "sessions"),
    }
    assert layout.annotate


def test_the_page_shows_patterns_that_can_be_read() -> None:
    layout = parse("gitmem: 1\n" + blocks("yaml")[1])
    assert layout.include == ("notes/**", "README.md", "facts/**")
    assert layout.ignore == ("**/draft-*", "archive/**")


def test_the_page_documents_every_key_and_no_other() -> None:
    assert rows("## The file") == list(_LAYOUT)
    assert rows("## A layer") == list(_LAYER)


def test_the_page_documents_every_word_of_the_model() -> None:
    assert rows("### Kinds") == rows("## Writing to a layer") == list(KINDS)
    assert rows("### Load rules") == [each.replace("recent", "recent N") for each in LOADS]
    assert rows("### Policies") == list(POLICIES)
    marks = rows("### Patterns and variables")
    assert marks == [*(f"{{{each}}}" for each in VARIABLES), "*", "**"]
    assert all(f"`{each}`" in PAGE for each in (*FORMATS, *LINT_RULES))


def test_the_error_on_the_page_is_the_one_that_is_given() -> None:
    (shown,) = blocks("text")
    lines = ["gitmem: 1", "layers:", *[""] * 6, "  diary:", "    kind: journal"]
    lines += ["    path: diary/{date}.md", "    load: latest 3", ""]

    with pytest.raises(Exception, match="latest 3") as caught:
        parse("\n".join(lines))

    assert str(caught.value).startswith(shown.strip())


def test_what_ships_lies_where_a_wheel_takes_it() -> None:
    assert folder_of("zylos") == templates() / "layouts" / "zylos"
    config = (ROOT / "pyproject.toml").read_text("utf-8")
    assert '"templates" = "gitmem/templates"' in config


def test_the_page_says_where_each_thing_belongs() -> None:
    _, _, rest = PAGE.partition("\n## What belongs where\n")
    lines = [line for line in rest.partition("\n## ")[0].splitlines() if line.startswith("|")][2:]
    table = dict(line.strip("| ").split(" | ") for line in lines)
    layout = shipped_layout("standard")
    places = [re.findall("`([^`]+)`", place)[0] for place in table.values()]
    fillings = [place.replace("<id>", "ada").replace("<subject>", "tea") for place in places]

    assert {owner.name for path in fillings if (owner := layout.layer_of(path))} == {
        *("identity", "user", "references", "decisions", "projects", "preferences", "ideas"),
        *("facts", "state", "sessions"),
    }
    about = {place: what for what, place in table.items()}
    facts, profile = about["`facts/<subject>.md`"], about["`users/<id>/profile.md`"]
    assert all(word in facts for word in ("conventions", "systems", "contacts"))
    assert all(word in profile for word in ("prefers", "history", "work"))
    # The value of a setting is no memory at all.
    assert [path for path in fillings if not layout.layer_of(path)] == [".env"]
    assert table["the value of a setting"].endswith("never memory")
    assert list(table)[-1].endswith("anything in doubt")


def test_the_page_says_what_importance_and_each_type_mean() -> None:
    _, _, rest = PAGE.partition("\nFields of an entry: ")
    told = " ".join(rest.partition("\n\n")[0].split())
    used = {each for name in NAMES for at in shipped_layout(name).layers for each in at.types}

    assert told.startswith("Importance goes from 1, critical, to 5, minor; 1 and 2 are never ")
    meanings = dict(re.findall(r"`(\w+)` ([a-z ]{8,}?)[,.]", told))
    assert set(meanings) == {"factual", "experiential", "procedural", "strategic"} == used
    assert len(set(meanings.values())) == len(meanings)


def test_a_write_touches_the_file_it_names_and_no_other(run: Run, files: Path) -> None:
    run("init", "--layout", "zylos")

    def standing() -> dict[str, tuple[object, ...]]:
        found = [path for path in files.rglob("*") if path.is_file()]
        stats = {path: path.stat() for path in found}
        return {
            path.relative_to(files).as_posix(): (at.st_ino, at.st_mtime_ns, path.read_bytes())
            for path, at in stats.items()
        }

    before = standing()

    assert run("write", "state", "Painting the bicycle shed green.").code == 0

    after = standing()
    assert {path for path in after if after[path] != before.get(path)} == {"state.md"}
    assert set(after) == set(before)
    assert git(files, "show", "--name-only", "--format=").split() == ["state.md"]


def test_every_day_of_the_diary_is_kept_whatever_is_done(run: Run, files: Path) -> None:
    run("init", "--layout", "soul")
    days = [f"2025-{month:02}-03T0{month}:15:00Z" for month in range(1, 10)]
    for day in days:
        assert run("write", "diary", f"Written on {day}.", GITMEM_NOW=day).code == 0
    for command in ("rotate", "snapshot", "migrate", "capture"):
        assert run(command, GITMEM_NOW="2026-12-31T23:59:00Z").code == 0

    kept = sorted((files / "diary").iterdir())

    assert [path.read_text() for path in kept] == [f"Written on {day}.\n" for day in days]
    assert git(files, "ls-files", "diary").split() == [f"diary/{path.name}" for path in kept]
    assert "Written" not in run("inject").out, "and none of it is in a prompt"


def test_nothing_is_written_but_by_who_asks_for_it(run: Run, files: Path) -> None:
    run("init", "--layout", "standard")
    run("write", "state", "Painting the bicycle shed green.")
    (files / "state.md").write_text("An edit that nobody has asked to be kept.\n")
    head = git(files, "rev-parse", "HEAD")
    reading = ("inject", "status", "list", "log", "diff", "entries", "lint", "held", "check")

    codes = {command: run(command).code for command in (*reading, "groups")}

    assert set(codes.values()) == {0}, codes
    assert run("read", "state.md").code == 0
    assert git(files, "rev-parse", "HEAD") == head
    assert git(files, "status", "--porcelain").split() == ["M", "state.md"]


def test_what_is_looked_up_is_in_no_prompt_by_itself(run: Run) -> None:
    run("init", "--layout", "nano")
    run("write", "MEMORY.md", "# Memory\n\nAda likes tea.")
    run("write", "memory/bob.md", "Bob likes coffee.")

    shown = run("inject")

    assert shown.code == 0
    assert not re.search("tea|coffee", shown.out)
    assert {each["layer"] for each in run("inject", "--json").document["manifest"]["left_out"]} == {
        "memory",
        "notes",
    }


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """The memory system of the page's example: a folder, which no code has heard of."""
    folder = tmp_path / "desk"
    (folder / "handbook").mkdir(parents=True)
    (folder / "layout.yaml").write_text(blocks("yaml")[-1])
    (folder / "handbook" / "fire.md").write_text("Call 119 first.\n")
    return folder


def commands() -> list[list[str]]:
    """What the page types for its example, without the name of the program."""
    typed = blocks("sh")[-1]
    return [shlex.split(line)[1:] for line in typed.splitlines()]


def test_a_memory_system_of_ones_own_is_a_folder(run: Run, desk: Path, tmp_path: Path) -> None:
    said = [run(*each) for each in commands()]

    assert [each.code for each in said] == [0] * 5, [each.err for each in said]
    files = tmp_path / "store" / "groups" / "desk"
    assert set(git(files, "ls-files").split()) == {
        "gitmem.yaml",
        "cases.md",
        "customers/telegram%3A123456.md",
        "handbook/fire.md",
        "weeks/2026-W06.md",
    }
    shown = said[-1].out
    assert [
        *re.findall(r'<knowledge layer="(\w+)"', shown),
        "Call 119 first." in shown,
        "Smoke." in shown,
        "Prefers to be called." in shown,
        "Two fires, one flood" in shown,
    ] == ["handbook", "cases", "customer", "weeks", True, True, True, True]
    assert git(files, "fsck", "--strict", "--no-dangling") == ""


def test_the_rules_of_a_layout_of_ones_own_hold(run: Run, desk: Path, tmp_path: Path) -> None:
    run("init", "-g", "desk", "--layout", "./desk")

    def refused(*args: str) -> str:
        said = run("-g", "desk", "--json", "write", *args)
        assert said.code == 5, said.out
        return str(said.error["code"])

    # Nobody writes the handbook, a case has no status of its own making, a shift is only added to.
    assert refused("handbook/fire.md", "Run.") == "policy-refused"
    run("-g", "desk", "write", "cases", "--entry", "Flood", "--set", "Status=open", "Water.")
    assert refused("cases", "--entry", "Flood", "--set", "Status=wet") == "entry-refused"
    assert run("-g", "desk", "write", "shift", "- 14:30 pumps ordered").code == 0
    assert refused("shift/now.md", "nothing happened") == "policy-refused"
    log = tmp_path / "store" / "groups" / "desk" / "shift" / "now.md"
    assert log.read_text().startswith("# Shift of 2026-02-08\n")


def test_the_days_of_a_layout_are_those_of_its_zone(run: Run, desk: Path, tmp_path: Path) -> None:
    run("init", "-g", "desk", "--layout", "./desk")

    # Sunday afternoon in London is Monday in Tokyo, and another week.
    run(
        "-g", "desk", "write", "weeks", "--summary", "quiet", "-", GITMEM_NOW="2026-02-08T15:30:00Z"
    )

    assert (tmp_path / "store" / "groups" / "desk" / "weeks" / "2026-W07.md").is_file()


def test_a_folder_without_a_layout_is_told_apart_from_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    said = run("init", "--layout", "./empty", "--json")

    assert said.code == 2
    assert "layout.yaml" in said.error["hint"]
    assert not (tmp_path / "store" / "repos").exists()


def test_the_page_on_injection_says_where_memory_stands_in_a_prompt() -> None:
    page = (ROOT / "docs" / "injection.md").read_text("utf-8")

    assert "`system_prompt`" in page
    rows = dict(re.findall(r"^\| (conversation|heartbeat) \| (.+) \|$", page, re.MULTILINE))
    begin = "system prompt, **memory**, status board, "
    assert rows["conversation"].startswith(f"{begin}the last messages, ")
    assert rows["heartbeat"].startswith(begin)
    assert rows["heartbeat"].endswith("no conversation")
