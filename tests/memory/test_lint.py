"""Lint says what memory should not say, and never a value that is nobody's business."""

from __future__ import annotations

import pytest

from gitmem.memory.curate.lint import Lint, lint
from gitmem.memory.group import Group
from gitmem.memory.layouts import shipped_layout
from gitmem.memory.write.write import Allowed, Edit, write
from gitmem.model.text.dotenv import copies, values
from tests.support.histories import edit, put
from tests.support.samples import narrow

LAYOUT = """\
gitmem: 1
layers:
  identity:
    kind: document
    path: identity.md
    budget: 100
    warn: 80
    lint: [no-secrets]
  references:
    kind: document
    path: references.md
    lint: [no-config-values]
  user:
    kind: profile
    path: users/{user}/profile.md
    budget: 1 KB
  decisions:
    kind: entries
    path: reference/decisions.md
    exclusive: reference
    fields: [Date, Decision, Status, Importance, Type]
    status: [active, superseded]
    retired: [superseded]
    types: [strategic]
  ideas:
    kind: entries
    path: reference/ideas.md
    exclusive: reference
    fields: [Date, Status, Importance, Description]
    status: [raw]
  other:
    kind: entries
    path: other.md
    fields: [Mood]
"""
HEAD = "- **Date:** 2026-01-02\n- **Importance:** 2\n"


@pytest.fixture
def memory(group: Group) -> Group:
    put(group, "gitmem.yaml", LAYOUT)
    return group


def rules(group: Group) -> list[str]:
    return [each.rule for each in lint(group).findings]


def only(group: Group) -> Lint:
    (found,) = lint(group).findings
    return found


def test_a_group_with_nothing_wrong_is_clean(memory: Group) -> None:
    put(memory, "identity.md", "# Me\n")
    put(memory, "reference/decisions.md", f"### A\n{HEAD}- **Status:** active\n")

    found = lint(memory)

    assert found.clean
    assert found.checked == 2
    assert found.commit == memory.repository.tip()


def test_a_credential_in_a_layer_that_wants_none_is_found_without_its_value(memory: Group) -> None:
    token = narrow()["github-token"][0]
    allowed = Allowed(secrets=("github-token",))
    write(memory, [Edit("identity.md", f"# Me\n\nUse {token}\n")], allowed=allowed)
    write(memory, [Edit("users/ada/profile.md", f"Use {token}\n")], allowed=allowed)

    found = only(memory)

    assert (found.rule, found.path, found.line) == ("secret", "identity.md", 3)
    assert "github-token" in found.message
    assert token not in repr(found)
    assert ".env" in found.hint


@pytest.mark.parametrize(
    "line",
    [
        "Password: x",
        "- **Password:** hunter",
        "password = swordfish",
        "PIN: 4711",
        "Private key: 0xabcdef0123",
        "- Private key: `5Kb8kLf9`",
        "Seed phrase: one two three four five six seven",
        "API key: abc123def (old)",
        "token: tok3n7",
    ],
)
def test_a_value_after_the_name_of_a_credential_is_found(memory: Group, line: str) -> None:
    allowed = Allowed(secrets=("password-assignment", "secret-assignment"))
    write(memory, [Edit("identity.md", f"# Me\n{line}\n")], allowed=allowed)

    found = only(memory)

    assert (found.rule, found.line) == ("secret", 2)
    assert (
        line.rsplit(":", maxsplit=1)[-1].rsplit("=", maxsplit=1)[-1].strip(" *`")
        not in found.message
    )


@pytest.mark.parametrize(
    "line",
    [
        "Password: see .env MAIL_PASSWORD",
        "Private key: stored in the vault",
        "- **API keys:** see .env (TELEGRAM_TOKEN, LARK_KEY)",
        "Token: TELEGRAM_BOT_TOKEN",
        "API key: $OPENAI_KEY",
        "PIN: ask Ada",
        "Password: none",
        "Secret: `MAIL_PASSWORD`",
        "Token: for deploys only",
        "Public key: 0xabcdef0123",
        "Password policy: long ones",
        "Seed phrase: kept offline",
    ],
)
def test_where_a_credential_is_kept_may_be_said(memory: Group, line: str) -> None:
    put(memory, "identity.md", f"{line}\n")

    assert rules(memory) == []


def test_a_value_copied_from_the_stores_env_is_found_and_not_printed(memory: Group) -> None:
    (memory.store.root / ".env").write_text(
        "TZ='Europe/Berlin'\nPROXY=http://10.0.0.1:3128 # office\nMAIL_PASSWORD=hunter22\n"
        "LEVEL=info\nPORT=80\n"
    )
    put(
        memory,
        "references.md",
        "# References\n\nTime zone is Europe/Berlin.\nProxy: see .env PROXY\nlevel info, port 80\n"
        "mail: hunter22\nhttp://10.0.0.1:3128\n",
    )
    put(memory, "identity.md", "In Europe/Berlin.\n")

    found = lint(memory).findings

    assert [(each.rule, each.line) for each in found] == [
        ("config-value", 3),
        ("config-value", 6),
        ("config-value", 7),
    ]
    assert "TZ: see .env TZ" in found[0].hint
    assert "hunter22" not in repr(found)
    assert "Europe/Berlin" not in repr(found)


def test_the_env_of_a_work_tree_is_not_read(memory: Group) -> None:
    (memory.worktree / ".env").write_text("PROXY=http://10.0.0.1:3128\n")
    put(memory, "references.md", "http://10.0.0.1:3128\n")

    assert rules(memory) == []


@pytest.mark.parametrize(
    ("size", "wanted"),
    [(80, []), (81, ["near-budget"]), (100, ["near-budget"]), (101, ["over-budget"])],
)
def test_at_the_budget_is_inside(memory: Group, size: int, wanted: list[str]) -> None:
    put(memory, "identity.md", "x" * (size - 1) + "\n")

    assert rules(memory) == wanted


def test_a_budget_counts_bytes_and_says_how_much(memory: Group) -> None:
    put(memory, "identity.md", "ä" * 60)
    put(memory, "users/ada/profile.md", "x" * 2048)

    first, second = lint(memory).findings

    assert (first.path, first.line) == ("identity.md", 0)
    assert "120 bytes (120B of 100B, 120 %)" in first.message
    assert "2,048 bytes (2.0KB of 1.0KB, 200 %)" in second.message


def test_the_same_title_in_two_exclusive_files_is_a_duplicate(memory: Group) -> None:
    put(memory, "reference/decisions.md", f"### Use ESM only\n{HEAD}")
    put(memory, "reference/ideas.md", f"# Ideas\n\n### use esm  only.\n{HEAD}")
    put(memory, "other.md", "### Use ESM only\n")

    found = only(memory)

    assert (found.rule, found.address) == ("duplicate", "reference/ideas.md#use-esm-only")
    assert "reference/decisions.md#use-esm-only" in found.message
    assert found.line == 3


def test_the_same_text_under_another_title_is_a_duplicate(memory: Group) -> None:
    said = "All modules of the new code are ESM."
    put(memory, "reference/decisions.md", f"### A\n{HEAD}- **Decision:** {said}\n")
    put(memory, "reference/ideas.md", f"### B\n- **Status:** raw\n{HEAD}\n{said.upper()}\n")

    assert rules(memory) == ["duplicate"]


def test_titles_that_differ_only_in_signs_are_no_duplicates(memory: Group) -> None:
    put(memory, "reference/decisions.md", f"### C++\n{HEAD}Same.\n### C#\n{HEAD}Same.\n")

    assert rules(memory) == []


def test_what_had_its_time_may_be_taken_up_again_in_its_file(memory: Group) -> None:
    old = f"### Plan\n{HEAD}- **Status:** superseded\n"
    put(memory, "reference/decisions.md", f"{old}### Plan\n{HEAD}- **Status:** active\n")

    assert rules(memory) == []
    put(memory, "reference/decisions.md", f"### Plan\n{HEAD}### Plan\n{HEAD}")
    assert rules(memory) == ["duplicate"]
    put(memory, "reference/decisions.md", old)
    put(memory, "reference/ideas.md", f"### Plan\n{HEAD}")
    assert rules(memory) == ["duplicate"]


def test_entries_without_date_or_importance_or_with_unknown_words_are_found(memory: Group) -> None:
    put(
        memory,
        "reference/decisions.md",
        "### A\n- **Status:** maybe\n- **Type:** odd\n### B\n- **Date:** 2026-01-02\n"
        "- **Importance:** 7\n",
    )

    found = lint(memory).findings

    assert [(each.rule, each.address.partition("#")[2]) for each in found] == [
        ("no-date", "a"),
        ("no-importance", "a"),
        ("unknown-status", "a"),
        ("unknown-type", "a"),
        ("bad-importance", "b"),
    ]
    assert "entry='a', set='Date=YYYY-MM-DD'" in found[0].hint
    assert "set='Status=active'" in found[2].hint


def test_a_layer_without_such_fields_is_not_asked_for_them(memory: Group) -> None:
    put(memory, "other.md", "### Bare\n")

    assert rules(memory) == []


def test_the_work_tree_and_files_of_no_layer_are_not_looked_at(memory: Group) -> None:
    edit(memory, "reference/decisions.md", "### Draft\n")
    put(memory, "notes.md", "### Bare\n")

    found = lint(memory)

    assert found.clean
    assert found.checked == 0


@pytest.mark.parametrize("name", ["zylos", "standard"])
def test_the_layouts_that_ship_ask_for_what_their_formats_say(name: str) -> None:
    layout = shipped_layout(name)
    words = {each.name: each for each in layout.layers}

    assert words["identity"].lint == ("no-secrets",)
    assert words["references"].lint == ("no-config-values",)
    assert len({words[x].exclusive for x in ("decisions", "projects", "preferences", "ideas")}) == 1


def test_values_of_an_env_file() -> None:
    text = "\ufeffA=1\n# B=2\nexport C = 'x # y' # z\nD=\"q\nE=a b # c\nF\nG=\nA=3\r\n"

    assert values(text) == {"A": "3", "C": "x # y", "D": "q", "E": "a b", "G": ""}


def test_a_value_inside_a_longer_word_is_no_copy() -> None:
    assert list(copies("abcdef\nx abcd y\nabcd.\n", {"K": "abcd"})) == [(2, "K"), (3, "K")]
