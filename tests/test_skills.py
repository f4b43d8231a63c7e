"""The skills: valid by their specification, and every command in them does what the page says."""

from __future__ import annotations

import re
import subprocess
from html import unescape
from pathlib import Path

import pytest
import yaml

from gitmem.integrations.install.parts.permissions import command_rules
from gitmem.integrations.install.parts.sections import section
from gitmem.integrations.install.skills import skill_files, version
from gitmem.memory.layouts import shipped_layout, starter_files
from gitmem.model.secrets import find as secrets
from gitmem.model.skill_rules import KEYS, problems
from gitmem.model.text import frontmatter
from tests.support.cli import run_gitmem
from tests.support.skills import (
    NOW,
    SKILLS,
    Answered,
    Typed,
    commands,
    layouts_of,
    pages,
    run_all,
    run_page,
    run_process,
    scripts,
    used_group,
)

NAMES = ("compact-memories", "diary", "facts", "gitmem-memory", "recall-memories", "users")
SYNC = (SKILLS / "gitmem-memory" / "SKILL.md").read_text("utf-8")
# The nine kinds of file, by the name of their pages: where such a file stands in a group.
FILES = {
    "identity": "identity.md",
    "state": "state.md",
    "references-file": "references.md",
    "user-profile": "users/ada/profile.md",
    "decisions": "reference/decisions.md",
    "projects": "reference/projects.md",
    "preferences": "reference/preferences.md",
    "ideas": "reference/ideas.md",
    "session-log": "sessions/current.md",
}
PENDING = ("transcript", "pending")
ENTRIES = ("decisions", "projects", "preferences", "ideas")
CLAUDE_CODE = {
    "agent",
    "allowed-tools",
    "argument-hint",
    "arguments",
    "background",
    "context",
    "disable-model-invocation",
    "disallowed-tools",
    "effort",
    "hooks",
    "model",
    "paths",
    "shell",
    "user-invocable",
    "when_to_use",
}
SYNC_PAGE = "gitmem-memory-SKILL"
PAGES = [
    pytest.param(page, layout, id=f"{skill}-{page.stem}-{layout}")
    for skill in NAMES
    for page in pages(skill)
    for layout in (layouts_of(skill) if page.name == "SKILL.md" else ("standard", "zylos"))
]

# The page of the sync is run by tests of its own, below.
OTHERS = [each for each in PAGES if SYNC_PAGE not in str(each.id)]


TRIGGERS = {
    "diary": ('"Write a diary entry"', "end of a work session", "before the context is compacted"),
    "compact-memories": ("before the context window is compacted", "weeks and months"),
    "recall-memories": ('"recall"', "a question about the past"),
    "users": ('"update my profile"', "introduces themselves"),
    "facts": ('"Remember this fact"', "a fact on record turns out to be wrong"),
    "gitmem-memory": ("[Action Required]", "Takes no arguments."),
}
# What each step of a sync has to say, beside its commands.
STEPS = {
    "Step 1: begin the day's log": ("gitmem rotate",),
    "Step 2: fetch what is open": (
        "gitmem transcript pending",
        "| `No unsummarized conversations.` | nothing is open: go on with step 5 |",
        "the four values are needed in steps 6 and 7",
        "| exit code 7 | another session has the range: go on with step 5, and leave out step 6 |",
    ),
    "Step 3: read what is known": (
        *("gitmem read identity.md", "gitmem read state.md", "gitmem read references.md"),
        *("gitmem read reference/decisions.md", "gitmem read reference/projects.md"),
        *("gitmem read reference/preferences.md", "gitmem read reference/ideas.md"),
        *("gitmem read sessions/current.md", "gitmem inject --layer user --user"),
    ),
    "Step 4: sort": (
        *('"we should" is an idea', '"Fix that" is a task in `state.md`'),
        *("this one time is an event in the log", "one person belongs to their profile"),
    ),
    "Step 5: write, always": (
        *("in every sync, with or without messages", "gitmem write state", "gitmem write sessions"),
        *("most messages need no memory", "instead of adding a second one"),
        *("below 2 KB", "Only append to the log until its day is over"),
        *("facts about a person into that person's profile", "Do not copy a configured value"),
    ),
    "Step 6: close the range": (
        "only if step 2 gave you a range, and after you have written everything",
        "gitmem transcript checkpoint --token TOKEN --summary",
    ),
    "Step 7: say that it is done": (
        "Memory sync complete. Processed N conversations (id X-Y).",
        "Memory flush complete. State saved.",
    ),
    "Once a week": (
        *("gitmem consolidate --apply", "archives logs older than 30 days"),
        "confirm what is still accurate, change or archive the rest",
        "Do not archive an entry of importance 1 or 2 for its age.",
    ),
}


def text_of(skill: str) -> str:
    return (SKILLS / skill / "SKILL.md").read_text("utf-8")


def claude_code() -> dict[str, dict[str, str | list[str]]]:
    loaded = yaml.safe_load((SKILLS / "claude-code.yaml").read_text("utf-8"))
    assert isinstance(loaded, dict)
    return loaded


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the agent works, with a store elsewhere and a clock that stands."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GITMEM_HOME", str(tmp_path / "store"))
    monkeypatch.setenv("GITMEM_NOW", NOW)
    return folder


def assert_done(answered: list[Answered]) -> None:
    for words, said in answered:
        assert said.code == 0, (words, said.err)
        assert not (words[0] == "write" and said.err), (words, said.err)


GOOD = "---\nname: tea\ndescription: Makes tea.\n---\n\n# Tea\n"


class TestRules:
    def test_a_small_skill_is_good(self) -> None:
        assert problems(GOOD, "tea") == ()

    @pytest.mark.parametrize(
        ("old", "new", "said"),
        [
            ("---\nname", "name", "no frontmatter"),
            ("name: tea", "name: [", "frontmatter refused"),
            ("name: tea", "name: tea\ncontext: fork", "'context' is not one of the six"),
            ("name: tea", "name: Tea", "small letters"),
            ("name: tea", "name: green--tea", "small letters"),
            ("name: tea", f"name: {'t' * 65}", "more than 64 characters"),
            ("name: tea", "name: coffee", "its folder 'tea'"),
            ("Makes tea.", "''", "1 to 1024 characters"),
            ("Makes tea.", "x" * 1025, "1 to 1024 characters"),
            ("Makes tea.", "Makes <tea>.", "an angle bracket"),
            ("name: tea", "name: tea\nlicense: 1", "its license must be a text"),
            ("name: tea", f"name: tea\ncompatibility: {'x' * 501}", "1 to 500 characters"),
            ("name: tea", "name: tea\nmetadata: {version: 1}", "both must be texts"),
            ("name: tea", "name: tea\nmetadata: one", "must be a mapping"),
            ("name: tea", "name: tea\nallowed-tools: {Read: 1}", "a text or a list"),
            ("# Tea\n", "", "no text below"),
            ("# Tea\n", "tea\n" * 501, "fewer than 500"),
            ("# Tea\n", "x" * 15_001, "about 5,000 tokens"),
        ],
    )
    def test_what_hosts_refuse_is_named(self, old: str, new: str, said: str) -> None:
        (found,) = problems(GOOD.replace(old, new), "tea")

        assert said in found


class TestForm:
    def test_there_are_six(self) -> None:
        assert sorted(path.parent.name for path in SKILLS.glob("*/SKILL.md")) == list(NAMES)

    @pytest.mark.parametrize("skill", NAMES)
    def test_each_is_valid_by_the_specification(self, skill: str) -> None:
        assert problems(text_of(skill), skill) == ()
        # In the form of the specification a rule has no spaces: it could only allow all of gitmem.
        assert set(frontmatter.read(text_of(skill))) == {*KEYS} - {"allowed-tools"}

    @pytest.mark.parametrize("skill", NAMES)
    def test_a_description_begins_with_what_a_user_would_say(self, skill: str) -> None:
        description = str(frontmatter.read(text_of(skill))["description"])

        assert re.match(r'"[A-Z][^"]+"(, "[^"]+")+', description)

    @pytest.mark.parametrize(("skill", "words"), TRIGGERS.items())
    def test_a_description_names_what_calls_for_the_skill(
        self, skill: str, words: tuple[str, ...]
    ) -> None:
        description = " ".join(str(frontmatter.read(text_of(skill))["description"]).split())

        assert [each for each in words if each not in description] == []

    @pytest.mark.parametrize("path", sorted(SKILLS.rglob("*.md")), ids=lambda path: path.stem)
    def test_no_page_has_what_a_host_would_replace_or_obey(self, path: Path) -> None:
        text = path.read_text("utf-8")

        assert "!`" not in text
        assert not re.search(r"\$(?:\w|\{)", text)
        assert not re.search(r"\b(?:MUST|CRITICAL|IMPORTANT|SYSTEM|ALWAYS|NEVER)\b", text)
        assert not secrets.find(text)

    @pytest.mark.parametrize("path", sorted(SKILLS.rglob("*.md")), ids=lambda path: path.stem)
    def test_no_page_names_a_group(self, path: Path) -> None:
        assert not re.search(r"gitmem .*(?: -g | --group| --store)", path.read_text("utf-8"))

    def test_claude_codes_own_keys_stand_apart(self) -> None:
        own = claude_code()

        assert set(own) <= set(NAMES)
        assert own["gitmem-memory"]["context"] == "fork"
        assert [skill for skill, keys in own.items() if "context" in keys] == ["gitmem-memory"]
        for skill, keys in own.items():
            more = command_rules(keys.pop("verbs", ())), tuple(keys.pop("tools", ()))
            assert set(keys) <= CLAUDE_CODE
            copy = skill_files(SKILLS, "claude-code")[f"{skill}/SKILL.md"].decode()
            assert frontmatter.read(copy).items() >= keys.items()
            assert frontmatter.read(copy)["allowed-tools"] == [each for x in more for each in x]
            assert problems(copy, skill, also=CLAUDE_CODE) == ()

    @pytest.mark.parametrize("skill", NAMES)
    def test_every_other_host_gets_them_as_they_are(self, skill: str) -> None:
        given = skill_files(SKILLS, "codex")

        for path in (SKILLS / skill).rglob("*.md"):
            assert given[path.relative_to(SKILLS).as_posix()] == path.read_bytes()

    @pytest.mark.parametrize("skill", NAMES)
    def test_its_version_is_the_number_of_a_migration(self, skill: str) -> None:
        metadata = frontmatter.read(text_of(skill))["metadata"]

        assert isinstance(metadata, dict)
        assert metadata["version"] in {str(number) for number in range(1, version(SKILLS) + 1)}


class TestCommands:
    @pytest.mark.parametrize(("page", "layout"), OTHERS)
    def test_all_that_a_page_says_works(
        self, page: Path, layout: str, project: Path, sealed_machine: Path
    ) -> None:
        if page.name == "SKILL.md":
            used_group(layout, sealed_machine, project)
        else:
            assert run_gitmem("init", "--layout", layout).code == 0

        answered = run_page(page.read_text("utf-8"), layout)

        assert len(answered) > 2
        assert_done(answered)
        assert run_gitmem("lint").code == 0

    @pytest.mark.parametrize(("page", "layout"), PAGES)
    def test_a_shell_reads_a_page_as_we_do(self, page: Path, layout: str) -> None:
        text = page.read_text("utf-8")
        stub = "gitmem() { printf '%s\\0' \"$@\"; cat; printf '\\1'; }\n"

        done = subprocess.run(
            ["bash", "-c", stub + "".join(scripts(text, layout))],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )

        assert [as_typed(each) for each in done.stdout.split("\1")[:-1]] == [
            Typed(typed.words, typed.text or "") for typed in commands(text, layout)
        ]

    def test_every_layout_that_a_skill_names_has_a_way_to_write(self) -> None:
        for skill in set(NAMES) - {"recall-memories"}:
            for layout in layouts_of(skill):
                verbs = {typed.words[0] for typed in commands(text_of(skill), layout)}
                assert verbs & {"write", "compact"}, (skill, layout)

    def test_recalling_changes_nothing(self, project: Path, sealed_machine: Path) -> None:
        used_group("standard", sealed_machine, project)
        before = run_gitmem("log").out

        run_page(text_of("recall-memories"), "standard")

        assert run_gitmem("log").out == before

    @pytest.mark.parametrize("skill", sorted(set(NAMES) - {"recall-memories"}))
    def test_a_layout_without_its_layers_is_not_left_out(self, skill: str) -> None:
        assert "`claude-code`" in text_of(skill)
        assert "a line in `MEMORY.md`" in " ".join(text_of(skill).split())

    @pytest.mark.parametrize(
        "layout", ["standard", "zylos", "arizuko", "soul", "nano", "claude-code"]
    )
    def test_all_that_the_section_on_memory_says_works(self, layout: str, project: Path) -> None:
        assert run_gitmem("init", "--layout", layout).code == 0
        page = section(shipped_layout(layout), "main")
        stands_for = {"WORDS": "Bookings", "TEXT": "Bookings close at six.", "WHY": "Ada said so"}
        stands_for["ID"] = "telegram:1"
        named = [each.words for each in commands(page, layout)]

        answered = [
            (words, run_gitmem(*_whole([stands_for.get(each, each) for each in words])))
            for words in sorted(named, key=lambda words: words[0] != "write")
        ]

        assert {words[0] for words in named} >= {"read", "search", "write", "archive", "restore"}
        assert [(words, said.err) for words, said in answered if said.code] == []


NOTE = "bookings.md"


def _whole(words: list[str]) -> list[str]:
    """A command of which the section names no more than its verb, with what it needs."""
    needs = {"archive": [NOTE], "restore": [NOTE]}
    return [NOTE if each == "PATH" else each for each in words] + needs.get(" ".join(words), [])


def as_typed(printed: str) -> Typed:
    *words, text = printed.split("\0")
    return Typed(tuple(words), text)


class TestDiary:
    @pytest.mark.parametrize("layout", ["standard", "arizuko"])
    def test_later_prompts_have_the_summary(
        self, layout: str, project: Path, sealed_machine: Path
    ) -> None:
        used_group(layout, sealed_machine, project)
        written = next(each for each in commands(text_of("diary"), layout) if each.text)

        assert run_gitmem(*written.words, input=written.text).code == 0

        shown = unescape(run_gitmem("inject", "--layer", "diary").out)
        assert "open: the bank's test account" in shown
        assert "names its zone only once" not in shown


class TestEpisodes:
    @pytest.mark.parametrize("layout", ["standard", "arizuko"])
    def test_a_session_is_kept_and_a_week_rolled_up(
        self, layout: str, project: Path, sealed_machine: Path
    ) -> None:
        used_group(layout, sealed_machine, project)

        run_page(text_of("compact-memories").replace("`gitmem undo`", ""), layout)

        assert run_gitmem("list", "episodes").out.split() == [
            "episodes/2026-02-08.md",
            "episodes/2026-W04.md",
        ]
        assert run_gitmem("list", "archive").out.split() == ["archive/episodes/2026-01-20.md"]


def check_steps(page: str) -> None:
    """That the page has all steps of a sync, and that the last one confirms it."""
    steps = re.findall(r"^## Step (\d): (.*)$", page, re.MULTILINE)
    assert [int(number) for number, _ in steps] == [1, 2, 3, 4, 5, 6, 7]
    last = page.partition("## Step 7: say that it is done\n")[2].partition("\n## ")[0]
    assert "End your answer with one of these two lines." in last
    assert last.partition("```text\n")[2].partition("```")[0].splitlines() == [
        "Memory sync complete. Processed N conversations (id X-Y).",
        "Memory flush complete. State saved.",
    ]


class TestSync:
    @pytest.mark.parametrize("layout", layouts_of("gitmem-memory"))
    def test_the_whole_workflow(self, layout: str, project: Path, sealed_machine: Path) -> None:
        used_group(layout, sealed_machine, project)

        answered = run_page(SYNC, layout)

        assert_done(answered)
        assert run_gitmem("lint").code == 0
        first, last = [each.said.out for each in answered if each.words == PENDING]
        assert first.startswith("[Unsummarized Range] begin=1 end=4 count=4 token=")
        for said in ("the old calendar", "at six", "Recurring bookings", "the invoices"):
            assert said in first
        assert last == "No unsummarized conversations.\n"
        order = order_of(answered, "rotate", "pending", "write", "checkpoint")
        assert order == sorted(order)
        closing = run_gitmem("log", "--op", "checkpoint").out
        assert "The calendar import is done. Ada decided that bookings close at six." in closing

    def test_the_workflow_in_processes_of_its_own(
        self, project: Path, sealed_machine: Path
    ) -> None:
        used_group("zylos", sealed_machine, project)
        steps = ({"rotate"}, {"list", "--long"}, {*PENDING}, {"transcript", "checkpoint"})
        wanted = (*steps, {"write", "state"}, {"write", "sessions"})

        answered = run_all(
            (each for each in commands(SYNC, "zylos") if set(each.words[:2]) in wanted), run_process
        )

        assert_done(answered)
        assert [each.said.out for each in answered if each.words == PENDING][-1] == (
            "No unsummarized conversations.\n"
        )
        shown = run_gitmem("show", last_checkpoint()).out
        assert "closes   1-2" in shown

    @pytest.mark.parametrize("layout", ["standard", "zylos"])
    def test_without_messages_the_state_and_the_log_are_written(
        self, layout: str, project: Path
    ) -> None:
        assert run_gitmem("init", "--layout", layout).code == 0
        not_done = r"```sh\ngitmem transcript (?:import|checkpoint).*?```"

        answered = run_page(re.sub(not_done, "", SYNC, flags=re.S), layout)

        assert_done(answered)
        assert {each.said.out for each in answered if each.words == PENDING} == {
            "No unsummarized conversations.\n"
        }
        assert "payment comes next" in run_gitmem("read", "state.md").out
        assert "- 14:30 Memory sync" in run_gitmem("read", "sessions/current.md").out
        assert run_gitmem("log", "--op", "checkpoint").out == ""

    def test_a_sync_that_breaks_off_gets_the_same_messages_again(
        self, project: Path, sealed_machine: Path
    ) -> None:
        used_group("zylos", sealed_machine, project)
        broken = re.sub(r"```sh\ngitmem transcript checkpoint.*", "", SYNC, flags=re.S)
        first = [each.said.out for each in run_page(broken, "zylos") if each.words == PENDING]

        again = run_gitmem(*PENDING).out

        assert without_token(again) == without_token(first[0])

    def test_the_page_has_the_literal_lines(self) -> None:
        flat = " ".join(SYNC.split())

        for line in (
            "`No unsummarized conversations.`",
            "[Unsummarized Range]",
            "`[Action Required] There are N unsummarized conversations. Please invoke",
            "/gitmem-memory to process them.`",
            "`Context OK: X%`",
            "Memory sync complete. Processed N conversations (id X-Y). ",
            "Memory flush complete. State saved. ",
            "30 to 60 seconds",
        ):
            assert line in flat

    def test_seven_steps_and_the_last_confirms(self) -> None:
        check_steps(SYNC)

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (r"## Step 7.*?(?=^## )", ""),
            (r"^```text\nMemory sync complete.*?^```$", ""),
            (r"Memory flush complete. State saved.\n", ""),
            (r"End your answer with one of", "There may be one of"),
            (r"## Step 6", "## Step 8"),
        ],
    )
    def test_a_page_without_its_last_step_is_found_out(self, old: str, new: str) -> None:
        changed = re.sub(old, new, SYNC, count=1, flags=re.MULTILINE | re.DOTALL)
        assert changed != SYNC

        with pytest.raises(AssertionError):
            check_steps(changed)

    def test_the_table_sorts_in_the_order_of_the_tree(self) -> None:
        table = SYNC.partition("| what it is |")[2].partition("\n\n")[0]
        places = [row.split("|")[2].strip() for row in table.splitlines()[2:]]

        assert places == [
            "`identity.md`",
            "`identity.md`, Digital Assets",
            "`users/<id>/profile.md`",
            "`references.md`, as a pointer",
            "the configuration itself (`.env`), not memory",
            "`reference/decisions.md`",
            "`reference/projects.md`",
            "`reference/preferences.md`",
            "`reference/ideas.md`",
            "`facts/<subject>.md`",
            "`state.md`",
            "`sessions/current.md`",
            "nowhere",
        ]


def last_checkpoint() -> str:
    return run_gitmem("log", "--op", "checkpoint").out.split()[0]


def order_of(answered: list[Answered], *verbs: str) -> list[int]:
    """Where the first command with each of these verbs stands."""
    return [
        next(at for at, each in enumerate(answered) if verb in each.words[:2]) for verb in verbs
    ]


def without_token(said: str) -> str:
    return re.sub(r"token=\w+", "", said)


def example(name: str) -> str:
    return (SKILLS / "gitmem-memory" / "examples" / f"{name}.md").read_text("utf-8")


class TestSteps:
    def test_the_steps_come_in_order(self) -> None:
        headings = re.findall(r"^## (Step .+)$", SYNC, re.MULTILINE)

        assert headings == [each for each in STEPS if each.startswith("Step")]

    @pytest.mark.parametrize(("heading", "words"), STEPS.items())
    def test_a_step_says_what_it_must(self, heading: str, words: tuple[str, ...]) -> None:
        _, _, rest = SYNC.partition(f"\n## {heading}\n")
        # The text of state.md, which step 5 writes, has headings of its own.
        told = " ".join(re.split(r"\n## (?:Step|When|Once)", rest)[0].split())

        assert [each for each in words if each not in told] == []

    def test_it_takes_no_arguments(self) -> None:
        told = " ".join(SYNC.split())

        assert "Takes no arguments." in told
        assert "There are no arguments, because gitmem knows which messages are open." in told
        assert "argument-hint" not in claude_code()["gitmem-memory"]


class TestNineForms:
    @pytest.mark.parametrize("folder", ["references", "examples"])
    def test_there_are_nine_and_the_skill_links_to_each(self, folder: str) -> None:
        found = {path.stem for path in (SKILLS / "gitmem-memory" / folder).iterdir()}

        assert found == set(FILES)
        assert set(re.findall(rf"\]\({folder}/(.+?)\.md\)", SYNC)) == set(FILES)

    @pytest.mark.parametrize("layout", ["standard", "zylos"])
    def test_the_examples_are_written_without_a_remark(self, layout: str, project: Path) -> None:
        assert run_gitmem("init", "--layout", layout).code == 0

        for name, path in FILES.items():
            said = run_gitmem("write", path, "-", input=example(name))
            assert (said.code, said.err) == (0, ""), name
            assert run_gitmem("read", path).out == example(name)

        assert run_gitmem("lint").code == 0

    @pytest.mark.parametrize("kind", ENTRIES)
    def test_examples_and_forms_of_entries_have_all_fields(self, kind: str) -> None:
        layer = shipped_layout("zylos").layer(kind)
        assert layer is not None
        form = (SKILLS / "gitmem-memory" / "references" / f"{kind}.md").read_text("utf-8")

        for block in example(kind).split("\n### ")[1:]:
            assert tuple(re.findall(r"^- \*\*(.+?):\*\*", block, re.M)) == layer.fields
        rows = re.findall(r"^\| ([A-Z][\w ]+?) \| (.+) \|$", form, re.M)
        assert tuple(name for name, _ in rows) == layer.fields
        said = dict(rows)
        for name, known in (("Status", layer.statuses), ("Type", layer.types)):
            assert re.findall(r"`([\w-]+)`", said.get(name, "")) == list(known)

    @pytest.mark.parametrize("name", sorted(set(FILES) - set(ENTRIES)))
    def test_examples_and_forms_of_documents_have_all_sections(self, name: str) -> None:
        form = (SKILLS / "gitmem-memory" / "references" / f"{name}.md").read_text("utf-8")
        starter = starter_files("zylos").get(FILES[name].replace("/ada/", "/default/"), b"")
        sections = re.findall(r"^##+ (.+)$", starter.decode(), re.MULTILINE)

        for title in sections:
            assert title in form, title
            assert re.search(rf"^##+ {title}", example(name), re.MULTILINE), title
        assert sections or re.search(r"^# Session Log: \d{4}-\d\d-\d\d$", form, re.MULTILINE)

    @pytest.mark.parametrize("kind", ENTRIES)
    def test_an_example_of_entries_has_several(self, kind: str) -> None:
        assert len(example(kind).split("\n### ")) > 2

    def test_the_addresses_in_the_examples_exist(self, project: Path) -> None:
        assert run_gitmem("init", "--layout", "zylos").code == 0
        named = set()
        for name, path in FILES.items():
            run_gitmem("write", path, "-", input=example(name))
            named |= set(re.findall(rf"\b(?:{'|'.join(ENTRIES)})#[\w-]+", example(name)))

        assert len(named) > 3
        for address in named:
            assert run_gitmem("entries", address).out, address
