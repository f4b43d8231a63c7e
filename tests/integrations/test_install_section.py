"""The section on memory in CLAUDE.md: what it tells an agent, made from the layers of a layout."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gitmem.integrations.install.parts.sections import section
from gitmem.integrations.install.skills import shipped_folder, skill_files
from gitmem.memory.admin.init import init
from gitmem.memory.group import Store
from gitmem.memory.layouts import shipped, shipped_layout
from gitmem.model.layout.layout import Layer, Layout
from gitmem.model.transcripts.batches import sync_skill
from tests.support.cli import run_gitmem

SHIPPED = shipped()


def check_sync_comes_first(text: str, skill: str = "gitmem-memory") -> None:
    """That an agent is told to sync before it answers what waits, and not to wait for it."""
    said = " ".join(text.partition("**`[Action Required]`")[2].partition("\n\n")[0].split())
    assert "comes before everything else, also before messages that wait in a queue:" in said
    assert f"finish only a write that must not stop halfway, call `/{skill}`" in said
    assert "then go on at once with what you were doing" in said
    assert not re.search(r"can wait|end of the day|later|after (?:the|your) answer|if you", said)


@pytest.mark.parametrize("layout", SHIPPED)
def test_the_section_lets_a_sync_come_before_queued_messages(layout: str) -> None:
    check_sync_comes_first(section(shipped_layout(layout), "main"), sync_skill(layout))


def test_the_section_calls_the_sync_by_the_name_that_the_layout_has_for_it() -> None:
    text = section(shipped_layout("zylos"), "main")

    assert "**`[Action Required]` with `/zylos-memory`.**" in text
    assert "/gitmem-memory" not in text
    assert "(`/gitmem:gitmem-memory`\nin the plugin" in text


@pytest.mark.parametrize("layout", SHIPPED)
def test_another_name_of_the_sync_is_a_skill_that_is_installed(layout: str) -> None:
    assert f"{sync_skill(layout)}/SKILL.md" in skill_files(shipped_folder(), "codex", layout)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("comes before everything else, also before", "can wait until the end of the day, after"),
        ("have not been summarised.", "have not been summarised. It can wait until the evening."),
        ("also before messages", "but after messages"),
        ("call `/gitmem-memory`", "answer first"),
        ("then go on at once", "then stop"),
    ],
)
def test_a_section_that_lets_a_sync_wait_is_found_out(old: str, new: str) -> None:
    text = section(shipped_layout("standard"), "main")
    assert old in text

    with pytest.raises(AssertionError):
        check_sync_comes_first(text.replace(old, new))


class TestClassification:
    """Which layer holds what, by the layers that a layout has."""

    @pytest.mark.parametrize("layout", ["zylos", "standard"])
    def test_the_reference_files_have_their_rules(self, layout: str) -> None:
        text = section(shipped_layout(layout), "main")

        for file, rule in (
            ("reference/decisions.md", "a choice that closes its alternatives"),
            ("reference/projects.md", "work with a scope and a status"),
            ("reference/preferences.md", "how everybody wants it done, until further notice"),
            ("reference/ideas.md", "what nobody has promised yet"),
            ("references.md", "where a service, path or setting is found, never its value"),
            ("state.md", "what is being done now; a single task"),
            ("identity.md", "who you are; accounts, addresses and ids that you own"),
        ):
            assert f"| `{file}` | {rule}" in text
        assert "Decisions, projects, preferences and ideas never hold the same thing twice" in text

    @pytest.mark.parametrize(
        ("layout", "place"),
        [
            ("zylos", "sessions"),
            ("standard", "sessions"),
            ("arizuko", "diary"),
            ("soul", "diary"),
            ("nano", ""),
            ("claude-code", ""),
        ],
    )
    def test_in_doubt_it_goes_to_the_log_of_the_day(self, layout: str, place: str) -> None:
        text = section(shipped_layout(layout), "main")

        found = re.findall(r"When in doubt, write to `(\w+)`", text)
        assert found == ([place] if place else [])

    @pytest.mark.parametrize("layout", ["zylos", "standard", "arizuko", "soul"])
    def test_what_is_written_in_doubt_can_be_shown(self, layout: str, tmp_path: Path) -> None:
        """A page without a summary is never shown where a prompt has summaries only."""
        init(Store(tmp_path), "main", layout=layout)
        text = section(shipped_layout(layout), "main")
        found = re.search(r"When in doubt, write to `\w+`: `gitmem (write .*?)`", text)
        assert found

        done = run_gitmem(*found[1].split(), GITMEM_HOME=str(tmp_path))

        assert (done.code, "will not show it" in done.err) == (0, False)

    @pytest.mark.parametrize("layout", SHIPPED)
    def test_what_concerns_a_person_goes_to_their_own_profile(self, layout: str) -> None:
        made = shipped_layout(layout)
        text = section(made, "main")

        has_profiles = any(each.kind == "profile" for each in made.layers)
        assert ("goes to that person's own profile" in text) == has_profiles
        assert ("`gitmem write user --user ID --append TEXT`" in text) == has_profiles
        assert ("`gitmem inject --layer user --user ID` shows it" in text) == has_profiles
        assert "while that person speaks" not in text, "no hook knows who speaks"

    def test_a_layout_that_nobody_knows_gets_rules_of_its_kinds(self) -> None:
        layers = (
            Layer("people", "profile", "people/{user}.md"),
            Layer("events", "log", "events.md"),
            Layer("recipes", "notes", "recipes/*.md"),
        )

        text = section(Layout("mine", layers=layers), "main")

        assert "`gitmem write people --user ID" in text
        assert "When in doubt, write to `events`" in text
        assert "| recipes | `recipes/*.md` | one subject for each file |" in text

    @pytest.mark.parametrize("layout", SHIPPED)
    def test_it_stays_short_because_it_is_in_every_prompt(self, layout: str) -> None:
        text = section(shipped_layout(layout), "main")

        assert len(text) < 3500
        assert "{" not in text

    def test_a_group_without_layers_has_no_rules(self) -> None:
        text = section(Layout(), "main")

        assert "has no layers" in text
        assert "One place" not in text
        assert "{" not in text
