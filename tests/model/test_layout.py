"""What a `gitmem.yaml` may say, and what is said of one that is wrong."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.errors import LayoutRefused
from gitmem.model.layout.layout import (
    EMPTY,
    FORMATS,
    KINDS,
    LOADS,
    POLICIES,
    RENDERINGS,
    ROLLUPS,
    VARIABLES,
    Compaction,
    Layer,
    Layout,
    Migration,
    filled,
    is_glob,
    moment_values,
    variables_in,
)
from gitmem.model.layout.parse import _LAYER, _LAYOUT, MAX_BYTES, MAX_LAYERS, parse

FULL = """\
gitmem: 1
layout: all
timezone: Europe/Berlin
format: json
annotate: true
budget: 9000
recognise: [notes/]
compact:
  into: MEMORY.md
  daily: memory/{date}.md
migrate:
  from: OLD.md
  to: NEW.md
  sections: "## Old "
  into: MEMORY.md
layers:
  ideas:
    kind: entries
    path: ideas.md
    load: query
    label: IDEAS
    render: pointer
    budget: 4 KB
    warn: 1.5 KB
    policy: free
    ages: true
    archive: attic
    importance: 4
    global: true
    fields: [Date, Status]
    status: [raw, dropped]
    retired: [dropped]
    types: [strategic]
    strict: true
    exclusive: reference
    lint: [no-secrets, no-config-values]
  sessions:
    kind: log
    path: sessions/current.md
    rotated: sessions/{date}.md
    header: "# Session Log: {date}"
    policy: append-only
  user:
    kind: profile
    path: users/{user}/profile.md
    default: users/default/profile.md
    load: user
  diary:
    kind: journal
    path: diary/{date}.md
    load: recent 14
"""


def layered(*lines: str, kind: str = "document", path: str = "a.md") -> str:
    """A layout with one layer; what LINES add to it begins on line 6."""
    more = "".join(f"    {line}\n" for line in lines)
    return f"gitmem: 1\nlayers:\n  one:\n    kind: {kind}\n    path: {path}\n{more}"


def refusal(text: str) -> LayoutRefused:
    with pytest.raises(LayoutRefused) as caught:
        parse(text)
    return caught.value


def answered(text: str) -> Layout | LayoutRefused:
    try:
        return parse(text)
    except LayoutRefused as error:
        return error


def test_every_key_is_read_into_its_field() -> None:
    layout = parse(FULL)

    first = (layout.name, layout.timezone, layout.format, layout.annotate, layout.budget)
    assert first == ("all", "Europe/Berlin", "json", True, 9000)
    assert layout.recognise == ("notes/",)
    assert layout.compact == Compaction("MEMORY.md", "memory/{date}.md")
    assert layout.migrate == Migration("OLD.md", "NEW.md", "## Old ", "MEMORY.md")
    assert layout.layer("ideas") == Layer(
        name="ideas",
        kind="entries",
        path="ideas.md",
        load="query",
        label="IDEAS",
        render="pointer",
        budget=4096,
        warn=1536,
        ages=True,
        archive="attic",
        importance=4,
        shared=True,
        fields=("Date", "Status"),
        statuses=("raw", "dropped"),
        retired=("dropped",),
        types=("strategic",),
        strict=True,
        exclusive="reference",
        lint=("no-secrets", "no-config-values"),
    )
    assert layout.layer("diary") == Layer("diary", "journal", "diary/{date}.md", "recent", 14)
    assert [each.name for each in layout.layers] == ["ideas", "sessions", "user", "diary"]


def test_a_key_for_every_field_and_no_field_without_a_key() -> None:
    assert {each.field for each in _LAYOUT.values()} == set(Layout._fields) - {"unknown"}
    # `name` is the key under which a layer stands; `recent` is part of its load rule.
    assert {each.field for each in _LAYER.values()} == set(Layer._fields) - {"name", "recent"}


@pytest.mark.parametrize("path", ["d/{date}.md", "d/{datetime}.md", "d/{week}.md"])
@pytest.mark.parametrize("word", ROLLUPS)
def test_a_journal_with_one_variable_may_be_rolled_up(word: str, path: str) -> None:
    text = layered(f"rollup: {word}", kind="journal", path=path)

    assert parse(text).layers[0].rollup == word


def test_the_shortest_layout_has_no_layers() -> None:
    assert parse("gitmem: 1\n") == EMPTY


def test_a_layer_says_no_more_than_it_must() -> None:
    (layer,) = parse(layered()).layers

    assert layer == Layer("one", "document", "a.md")
    assert (layer.load, layer.policy, layer.archive, layer.importance) == (
        "never",
        "free",
        "archive",
        3,
    )


@pytest.mark.parametrize("text", ["\ufeff" + FULL, FULL.replace("\n", "\r\n")])
def test_a_byte_order_mark_and_other_line_ends_change_nothing(text: str) -> None:
    assert parse(text) == parse(FULL)


@pytest.mark.parametrize(
    ("given_size", "size"),
    [("0", 0), ("512", 512), ("512 B", 512), ("4KB", 4096), ("4 KiB", 4096), ("1.5 kB", 1536)],
)
def test_sizes_are_bytes_or_kilobytes(given_size: str, size: int) -> None:
    (layer,) = parse(layered(f"budget: {given_size}")).layers

    assert layer.budget == size


@pytest.mark.parametrize(
    ("key", "words"),
    [("policy", POLICIES), ("render", RENDERINGS), ("load", ("always", "query", "never"))],
)
def test_every_word_of_the_model_is_read(key: str, words: tuple[str, ...]) -> None:
    for word in words:
        (layer,) = parse(layered(f"{key}: {word}")).layers
        assert getattr(layer, key) == word


def test_every_kind_load_and_format_can_be_written() -> None:
    samples = {
        "document": layered(),
        "entries": layered(kind="entries"),
        "log": layered("rotated: old/{date}.md", kind="log"),
        "journal": layered("load: recent 3", kind="journal", path="d/{week}.md"),
        "notes": layered(kind="notes", path="facts/**"),
        "profile": layered("load: user", kind="profile", path="u/{user}.md"),
    }
    assert tuple(samples) == KINDS
    for kind, text in samples.items():
        assert parse(text).layers[0].kind == kind
    for word in FORMATS:
        assert parse(f"gitmem: 1\nformat: {word}\n").format == word
    assert set(LOADS) == {"always", "recent", "user", "query", "never"}


LAYOUT_MISTAKES = [
    ("gitmem: 2\n", 1, "gitmem"),
    ("gitmem: true\n", 1, "gitmem"),
    ("gitmem: 1.0\n", 1, "gitmem"),
    ("gitmem: one\n", 1, "gitmem"),
    ("layout: x\n", 1, ""),
    ("gitmem: 1\nlayot: x\n", 2, "layot"),
    ("gitmem: 1\nlayout: [x]\n", 2, "layout"),
    ("gitmem: 1\nlayout: 7\n", 2, "layout"),
    ('gitmem: 1\nlayout: "a\\nb"\n', 2, "layout"),
    ("gitmem: 1\ntimezone: Berlin time\n", 2, "timezone"),
    ("gitmem: 1\ntimezone: ../etc/passwd\n", 2, "timezone"),
    ("gitmem: 1\ntimezone: /etc/localtime\n", 2, "timezone"),
    ("gitmem: 1\ntimezone: 2026-01-01\n", 2, "timezone"),
    ("gitmem: 1\nformat: html\n", 2, "format"),
    ("gitmem: 1\nformat: [xml]\n", 2, "format"),
    ("gitmem: 1\nannotate: 1\n", 2, "annotate"),
    ("gitmem: 1\nannotate: maybe\n", 2, "annotate"),
    ("gitmem: 1\nbudget: -1\n", 2, "budget"),
    ("gitmem: 1\nbudget: 4 KB\n", 2, "budget"),
    ("gitmem: 1\nbudget: true\n", 2, "budget"),
    ("gitmem: 1\nbudget: 10000001\n", 2, "budget"),
    ("gitmem: 1\nbudget: .inf\n", 2, "budget"),
    ("gitmem: 1\nlayers: [a]\n", 2, "layers"),
    ("gitmem: 1\nlayers:\n", 2, "layers"),
    ("gitmem: 1\nlayers: !!set {a}\n", 2, "layers"),
    ("gitmem: 1\nlayers:\n  one: 1\n", 3, "layers.one"),
    ("gitmem: 1\nlayers:\n  One:\n    kind: notes\n", 3, "layers.One"),
    ("gitmem: 1\nlayers:\n  1:\n    kind: notes\n", 2, "layers"),
    ("gitmem: 1\nlayers:\n  one:\n    kind: notes\n", 3, "layers.one"),
    ("gitmem: 1\nlayers:\n  one:\n    path: a.md\n", 3, "layers.one"),
    ("gitmem: 1\nrecognise: MEMORY.md\n", 2, "recognise"),
    ("gitmem: 1\nrecognise:\n  - a\n  - 1\n", 4, "recognise.1"),
    ("gitmem: 1\ncompact: MEMORY.md\n", 2, "compact"),
    ("gitmem: 1\ncompact:\n  into: ../a.md\n", 3, "compact.into"),
    ("gitmem: 1\ncompact:\n  weekly: a.md\n", 3, "compact.weekly"),
    ("gitmem: 1\nmigrate:\n  from: .git/a\n", 3, "migrate.from"),
    ("gitmem: 1\nmigrate:\n  old: a.md\n", 3, "migrate.old"),
    ("gitmem: 1\nmigrate:\n  sections: [a]\n", 3, "migrate.sections"),
    ("", 1, ""),
    ("- a\n", 1, ""),
    ("just words\n", 1, ""),
    ("true: 1\n", 1, ""),
]

LAYER_MISTAKES = [
    ("load: sometimes", "load"),
    ("load: recent", "load"),
    ("load: recent 0", "load"),
    ("load: recent 1001", "load"),
    ("load: recent -1", "load"),
    ("load: recent 1 2", "load"),
    ("load: user", "load"),
    ("load: true", "load"),
    ("label: [a]", "label"),
    ("label: 3", "label"),
    ("render: full", "render"),
    ("budget: 4 MB", "budget"),
    ("budget: -4", "budget"),
    ("budget: lots", "budget"),
    ("budget: true", "budget"),
    ("budget: .nan", "budget"),
    ("warn: big", "warn"),
    ("policy: append", "policy"),
    ("policy: no", "policy"),
    ("ages: 1", "ages"),
    ("archive: /archive", "archive"),
    ("archive: a/../b", "archive"),
    ("importance: 0", "importance"),
    ("importance: 6", "importance"),
    ("importance: true", "importance"),
    ("importance: 1.0", "importance"),
    ("importance: high", "importance"),
    ("importance: [1]", "importance"),
    ("global: 1", "global"),
    ("rotated: x/{day}.md", "rotated"),
    ("header: {a: b}", "header"),
    ("header: '# {day}'", "header"),
    ("header: '# {user}'", "header"),
    ("default: .hidden.md", "default"),
    ("fields: Date", "fields"),
    ("status: {a: b}", "status"),
    ("retired: 1", "retired"),
    ("types: yes", "types"),
    ("strict: often", "strict"),
    ("exclusive: [a]", "exclusive"),
    ("lint: no-secrets", "lint"),
    ("pth: b.md", "pth"),
    ("shared: true", "shared"),
    ("statuses: [a]", "statuses"),
    ("recent: 3", "recent"),
]


def test_two_layers_do_not_share_a_path() -> None:
    text = (
        "gitmem: 1\nlayers:\n  a: {kind: document, path: a.md}\n"
        "  b:\n    kind: entries\n    path: a.md\n"
    )
    error = refusal(text)

    assert (error.facts["line"], error.facts["key"]) == (6, "layers.b.path")
    assert "`a`" in error.message


@pytest.mark.parametrize("path", ["a/?.md", "a/[ab].md"])
def test_other_globs_are_not_taken_for_names(path: str) -> None:
    assert "globs are" in refusal(layered(kind="notes", path=f'"{path}"')).message


def test_a_status_of_the_past_is_a_status() -> None:
    text = "gitmem: 1\nlayers:\n  a: {kind: entries, path: a.md, status: [x], retired: [y]}\n"

    assert refusal(text).facts["key"] == "layers.a.retired"


@pytest.mark.parametrize(("text", "line", "key"), LAYOUT_MISTAKES)
def test_a_mistake_is_told_with_its_line_and_its_key(text: str, line: int, key: str) -> None:
    error = refusal(text)

    assert (error.facts["line"], error.facts["key"]) == (line, key)
    assert error.message.startswith(f"gitmem.yaml line {line}{f', {key}' if key else ''}: ")
    assert error.hint


@pytest.mark.parametrize(("mistake", "key"), LAYER_MISTAKES)
def test_a_mistake_in_a_layer_is_told_with_its_line_and_its_key(mistake: str, key: str) -> None:
    error = refusal(layered("# why", mistake))

    assert (error.facts["line"], error.facts["key"]) == (7, f"layers.one.{key}")


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        (layered(path="a/{user}.md"), 5, "layers.one.path"),
        (layered(path="a/*.md", kind="entries"), 5, "layers.one.path"),
        (layered(path="a/{date}.md", kind="log"), 5, "layers.one.path"),
        (layered(kind="log"), 3, "layers.one"),
        (layered("rotated: old.md", kind="log"), 6, "layers.one.rotated"),
        (layered("rotated: '{date}/{date}.md'", kind="log"), 6, "layers.one.rotated"),
        (layered("rotated: 'l/*-{date}.md'", kind="log"), 6, "layers.one.rotated"),
        (layered("rotated: 's/{user}/{date}.md'", kind="log"), 6, "layers.one.rotated"),
        (layered("rotated: '{week}/{date}.md'", kind="log"), 6, "layers.one.rotated"),
        (layered(kind="journal", path="j/{date}/{date}.md"), 5, "layers.one.path"),
        (layered(kind="journal", path="'{week}/{month}.md'"), 5, "layers.one.path"),
        (layered(kind="journal", path="d/{date}-{week}.md"), 5, "layers.one.path"),
        (layered(kind="journal", path="d/{user}-{date}.md"), 5, "layers.one.path"),
        (layered(kind="journal", path="'{user}/{user}/{date}.md'"), 5, "layers.one.path"),
        (layered(kind="journal", path="d/*/{date}.md"), 5, "layers.one.path"),
        (layered("load: user", kind="profile", path="u/{user}/*.md"), 5, "layers.one.path"),
        (layered("load: user", kind="profile", path="u/{user}/{user}.md"), 5, "layers.one.path"),
        (layered("load: user", kind="profile", path="u/{user}/{date}.md"), 5, "layers.one.path"),
        (layered(kind="notes", path="n/{date}.md"), 5, "layers.one.path"),
        (layered(kind="notes", path="n/{user}/*.md"), 5, "layers.one.path"),
        (layered(kind="journal"), 5, "layers.one.path"),
        (layered(kind="journal", path="d/{user}.md"), 5, "layers.one.path"),
        (layered(kind="profile"), 5, "layers.one.path"),
        (layered("warn: 2 KB", "budget: 1 KB"), 6, "layers.one.warn"),
        (layered("rollup: keep"), 6, "layers.one.rollup"),
        (layered("rollup: drop", kind="journal", path="d/{date}.md"), 6, "layers.one.rollup"),
        (layered("rollup: true", kind="journal", path="d/{date}.md"), 6, "layers.one.rollup"),
        (layered("rollup: keep", kind="journal", path="d/{month}.md"), 6, "layers.one.rollup"),
        (
            layered("rollup: move", kind="journal", path="d/{user}/{date}.md"),
            6,
            "layers.one.rollup",
        ),
        (
            layered("rollup: move", kind="journal", path="d/{month}/{date}.md"),
            6,
            "layers.one.rollup",
        ),
        (layered(kind="folder"), 4, "layers.one.kind"),
        (layered(path="a/{hour}.md", kind="notes"), 5, "layers.one.path"),
        (layered(path="../a.md"), 5, "layers.one.path"),
        (layered(path="'a//b.md'"), 5, "layers.one.path"),
        (layered(path="''"), 5, "layers.one.path"),
        (layered("lint: [no-secrets, no-fun]"), 6, "layers.one.lint.1"),
    ],
)
def test_keys_that_contradict_each_other_are_refused(text: str, line: int, key: str) -> None:
    error = refusal(text)

    assert (error.facts["line"], error.facts["key"]) == (line, key)


@pytest.mark.parametrize("pattern", ["a/{date}.md", "a/{user}.md", "a/*.md", "**", "a/{b c}.md"])
@pytest.mark.parametrize("key", ["from", "to", "into"])
def test_what_migrates_is_one_file(key: str, pattern: str) -> None:
    error = refusal(f'gitmem: 1\nmigrate:\n  {key}: "{pattern}"\n')

    assert (error.facts["line"], error.facts["key"]) == (3, f"migrate.{key}")


@pytest.mark.parametrize("pattern", ["a/{date}.md", "a/{user}.md", "a/*", "{a", "a}.md"])
@pytest.mark.parametrize("key", ["archive", "default"])
def test_an_archive_and_a_default_are_one_place(key: str, pattern: str) -> None:
    error = refusal(layered(f'{key}: "{pattern}"'))

    assert (error.facts["line"], error.facts["key"]) == (6, f"layers.one.{key}")


@pytest.mark.parametrize("key", ["into", "daily"])
def test_a_summary_goes_to_one_file_of_its_time(key: str) -> None:
    for pattern in ("m/{user}.md", "m/*.md", "m/{date}/*.md"):
        error = refusal(f'gitmem: 1\ncompact:\n  {key}: "{pattern}"\n')
        assert (error.facts["line"], error.facts["key"]) == (3, f"compact.{key}")
    for pattern in ("m.md", "m/{week}.md", "{month}/{date}.md"):
        found = parse(f'gitmem: 1\ncompact:\n  {key}: "{pattern}"\n').compact
        assert getattr(found, key) == pattern


@pytest.mark.parametrize("name", ["gitmem.yaml", "Gitmem.YAML"])
@pytest.mark.parametrize(
    "text",
    [
        layered(path="{name}"),
        layered(path="{name}", kind="notes"),
        layered("archive: {name}"),
        layered("default: {name}"),
        "gitmem: 1\ncompact:\n  into: {name}\n",
        "gitmem: 1\ncompact:\n  daily: {name}\n",
        "gitmem: 1\nmigrate:\n  from: {name}\n",
        "gitmem: 1\nmigrate:\n  to: {name}\n",
        "gitmem: 1\nmigrate:\n  into: {name}\n",
        layered("rotated: {name}/{{date}}.md", kind="log"),
    ],
)
def test_nothing_is_kept_in_the_layout_itself(text: str, name: str) -> None:
    error = refusal(text.replace("{name}", name).replace("{{date}}", "{date}"))

    assert "is the layout itself" in error.message
    assert error.facts["line"]


@pytest.mark.parametrize("pattern", ["*", "**", "*.yaml", "gitmem.*", "{user}.yaml", "gitmem.yaml"])
def test_no_pattern_covers_the_layout_itself(pattern: str) -> None:
    layer = Layer("one", "notes", pattern, rotated=pattern)

    assert not layer.holds("gitmem.yaml")
    assert not layer.covers("gitmem.yaml")
    assert Layout(layers=(layer._replace(policy="protected"),)).policy_of("gitmem.yaml") == "free"


@pytest.mark.parametrize(
    "path", ["{month}/{date}.md", "d/log-{date}.md", "d/{user}/{date}.md", "{week}/{datetime}.md"]
)
def test_a_journal_may_be_sorted_into_folders(path: str) -> None:
    (layer,) = parse(layered(kind="journal", path=f"'{path}'")).layers

    assert layer.path == path


def test_a_slip_of_the_pen_is_answered_with_the_right_word() -> None:
    assert "did you mean `timezone`?" in refusal("gitmem: 1\ntimezon: UTC\n").message
    assert "did you mean `policy`?" in refusal(layered("polcy: free")).message


def test_a_key_that_stands_twice_is_refused_and_not_half_forgotten() -> None:
    error = refusal(layered("load: always", "load: never"))
    assert (error.facts["line"], error.facts["key"]) == (7, "layers.one.load")
    error = refusal(layered() + "  one:\n    kind: document\n    path: b.md\n")
    assert (error.facts["line"], error.facts["key"]) == (6, "layers.one")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("gitmem: 1\nlayout: *a\n", 2),
        ("gitmem: &a 1\nbudget: *a\n", 2),
        ("gitmem: 1\nlayers:\n  one: &l {kind: document, path: a.md}\n  two: *l\n", 4),
    ],
)
def test_aliases_are_refused(text: str, line: int) -> None:
    error = refusal(text)

    assert error.facts["line"] == line
    assert "alias" in error.message or "YAML" in error.message


@pytest.mark.parametrize(
    "text",
    [
        "gitmem: 1\n\tlayout: x\n",
        "gitmem: [1\n",
        "gitmem: 1\n---\ngitmem: 1\n",
        "gitmem: 1\nlayout: !!python/object:os.system x\n",
        "gitmem: 1\nlayout: !!binary a\n",
        "gitmem: 1\x00\n",
        "gitmem: 1\nlayout: \ud800\n",
        "gitmem: 1\nlayout: 2026-99-99\n",
        f"gitmem: {'9' * 5000}\n",
    ],
)
def test_what_is_no_yaml_is_refused(text: str) -> None:
    assert refusal(text).code == "layout-refused"


def test_a_file_may_be_as_large_as_the_limit_and_no_larger() -> None:
    head = "gitmem: 1\n# "
    assert parse(head + "x" * (MAX_BYTES - len(head))) == EMPTY

    assert f"{MAX_BYTES:,} bytes" in refusal(head + "x" * (MAX_BYTES - len(head) + 1)).message
    # Bytes, not characters.
    assert refusal(head + "é" * (MAX_BYTES // 2)).facts["line"] == 0


def test_there_are_only_so_many_layers() -> None:
    def many(count: int) -> str:
        rows = (f"  l{each}: {{kind: document, path: p{each}.md}}\n" for each in range(count))
        return "gitmem: 1\nlayers:\n" + "".join(rows)

    assert len(parse(many(MAX_LAYERS)).layers) == MAX_LAYERS
    assert refusal(many(MAX_LAYERS + 1)).facts["key"] == "layers"


@pytest.mark.parametrize("deep", ["- ", "? ", "["])
def test_a_file_that_only_goes_deeper_is_refused_and_crashes_nothing(deep: str) -> None:
    code = (
        "from gitmem.model.layout.parse import parse\n"
        "from gitmem.errors import LayoutRefused\n"
        f"text = {deep!r} * {60_000 // len(deep)}\n"
        f"text += ']' * {2_000 if deep == '[' else 0}\n"
        "try:\n    parse(text)\nexcept LayoutRefused:\n    raise SystemExit(7)\n"
    )
    # In a process of its own: what overflows is the stack of the YAML library.
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)

    assert done.returncode == 7, done.stderr.decode()[-300:]


MARKS = [*"~[]{}:-|>#?'é", '"', "*x", "&x", "<<", "---", "!!set", "true", "null", ".nan", "1.0"]
words = st.sampled_from(
    [*_LAYOUT, *_LAYER, *KINDS, *LOADS, *POLICIES, *FORMATS, *MARKS, "4 KB", "a.md", "2026-01-01"]
)
lines = st.lists(st.tuples(st.integers(0, 3), st.lists(words, max_size=4)), max_size=8)
near_misses = lines.map(
    lambda rows: "gitmem: 1\n" + "".join("  " * deep + " ".join(row) + "\n" for deep, row in rows)
)


@given(st.one_of(st.text(), near_misses))
@example(layered("importance: 1.0"))
@example("gitmem: 1\nlayers: {a: {kind: [], path: {}}}\n")
@example("gitmem: 1\n? [a]\n: b\n")
def test_whatever_stands_there_is_a_layout_or_is_refused(text: str) -> None:
    answer = answered(text)

    if isinstance(answer, LayoutRefused):
        assert int(str(answer.facts["line"])) <= len(text.splitlines()) + 1


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(sorted(_LAYER)), values)
def test_whatever_a_key_is_given_the_answer_names_the_key(key: str, value: object) -> None:
    import yaml

    layer = {"kind": "notes", "path": "a/*.md"} | {key: value}
    text = yaml.safe_dump({"gitmem": 1, "layers": {"one": layer}}, allow_unicode=True)
    answer = answered(text)

    if isinstance(answer, LayoutRefused) and not any(
        each in answer.message for each in ("YAML", "duplicate key", "unreadable value")
    ):
        # What kind and path must have of each other is told of the one or of the other.
        near = f"layers.one.{key}" if key != "kind" else "layers.one"
        assert str(answer.facts["key"]).startswith(near)


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("state.md", ["state.md"], ["State.md", "a/state.md", "state.md/a", "state-md"]),
        ("facts/*.md", ["facts/a.md", "facts/.md"], ["facts/a/b.md", "facts/a.txt", "xfacts/a.md"]),
        ("facts/**", ["facts/a.md", "facts/a/b.md"], ["facts", "fact/a.md"]),
        ("diary/{date}.md", ["diary/2026-01-31.md", "diary/20260131-2.md"], ["diary/a/b.md"]),
        ("users/{user}/profile.md", ["users/a/profile.md"], ["users/profile.md", "users/a/b/c.md"]),
        ("n.[x]/{user}+.md", ["n.[x]/a+.md"], ["n.x/a+.md", "n-[x]/a+.md", "n.[x]/aa.md"]),
    ],
)
def test_a_layer_covers_what_its_pattern_says(
    pattern: str, inside: list[str], outside: list[str]
) -> None:
    layer = Layer("one", "notes", pattern)

    assert all(layer.covers(path) and layer.holds(path) for path in inside)
    assert not any(layer.covers(path) or layer.holds(path) for path in outside)


def test_a_line_end_in_a_name_fools_no_pattern() -> None:
    assert not Layer("one", "notes", "facts/*.md").covers("facts/a.md\n")


def test_yesterdays_log_belongs_to_the_log_but_is_not_written_as_one() -> None:
    layout = parse(FULL)
    log = layout.layer("sessions")
    assert log is not None

    assert log.covers("sessions/2026-02-07.md")
    assert not log.holds("sessions/2026-02-07.md")
    assert layout.layer_of("sessions/2026-02-07.md") == log
    assert layout.policy_of("sessions/current.md") == "append-only"
    assert layout.policy_of("sessions/2026-02-07.md") == "free"


def test_the_first_layer_that_covers_a_file_has_it() -> None:
    text = layered("policy: protected") + "  two:\n    kind: notes\n    path: '*.md'\n"
    text += "    policy: write-once\n"
    layout = parse(text)

    assert [layout.policy_of(path) for path in ("a.md", "b.md", "c/b.md")] == [
        "protected",
        "write-once",
        "free",
    ]
    assert (layout.layer("two") or EMPTY) != EMPTY
    assert layout.layer("three") is None
    assert EMPTY.policy_of("a.md") == "free"
    assert EMPTY.layer_of("a.md") is None


def test_a_label_stands_above_a_layer_or_else_its_name() -> None:
    assert Layer("facts", "notes", "f/*").heading == "facts"
    assert Layer("facts", "notes", "f/*", label="FACTS").heading == "FACTS"


def test_variables_are_found_and_filled() -> None:
    assert variables_in("a/{date}-{user}.md") == ("date", "user")
    assert filled("a/{date}-{date}.md", {"date": "x"}) == "a/x-x.md"
    assert is_glob("a/*.md")
    assert not is_glob("a/{date}.md")


@pytest.mark.parametrize(
    ("day", "week"),
    [
        ("2026-02-08", "2026-W06"),
        ("2024-12-30", "2025-W01"),
        ("2021-01-03", "2020-W53"),
        ("2020-12-31", "2020-W53"),
        ("2023-01-01", "2022-W52"),
        ("2018-12-31", "2019-W01"),
    ],
)
def test_the_week_of_a_day_is_the_iso_week_also_at_the_turn_of_the_year(
    day: str, week: str
) -> None:
    values = moment_values(datetime.fromisoformat(day).replace(tzinfo=UTC))

    assert values["week"] == week
    assert values["month"] == day[:7]


def test_a_moment_gives_every_variable_of_time() -> None:
    values = moment_values(datetime(2026, 2, 8, 9, 5, 7, tzinfo=UTC))

    assert values == {
        "date": "2026-02-08",
        "datetime": "2026-02-08T09-05-07",
        "week": "2026-W06",
        "month": "2026-02",
    }
    assert set(VARIABLES) == {*values, "user"}


def test_the_day_is_that_of_the_zone() -> None:
    moment = datetime(2026, 1, 1, 11, 30, tzinfo=UTC)
    first, last = timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))

    assert moment_values(moment.astimezone(first))["date"] == "2026-01-02"
    assert moment_values(moment.astimezone(last))["month"] == "2025-12"


@given(st.dates(min_value=date(1000, 1, 4)))
def test_every_week_has_one_monday_in_its_name(day: date) -> None:
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)

    year, week = moment_values(noon)["week"].split("-W")

    assert 0 <= (day - date.fromisocalendar(int(year), int(week), 1)).days < 7
