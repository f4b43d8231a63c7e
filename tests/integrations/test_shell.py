"""What the text of a command says about the files that it writes to, with a real shell as judge."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.integrations.hooks.shell import writes_of

SHELL = shutil.which("bash") or "/bin/sh"
FILES = ("facts/a.md", "facts/b.md", "other/a.md", "a.md")


@contextmanager
def _place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for each in (*FILES, "new/c.md"):
            (root / each).parent.mkdir(exist_ok=True)
            (root / each).write_text(f"old text of {each}\n")
        (root / "link").symlink_to("facts")
        yield root


def _state(root: Path) -> dict[str, bytes]:
    found = (each for each in root.rglob("*") if each.is_file() and not each.is_symlink())
    return {str(each): each.read_bytes() for each in found}


def _changed(root: Path, command: str) -> set[str]:
    """The files that COMMAND really changes."""
    before = _state(root)
    subprocess.run([SHELL, "-c", command], cwd=root, capture_output=True, timeout=60, check=False)
    after = _state(root)
    return {each for each in before.keys() | after.keys() if before.get(each) != after.get(each)}


def _in(root: Path, command: str) -> str:
    return command.replace("ROOT", str(root))


SHOWN = [
    ("echo x > facts/a.md", "facts/a.md"),
    ("echo x >> 'ROOT/facts/a.md'", "facts/a.md"),
    ("echo x >|facts/a.md", "facts/a.md"),
    ("echo x &> facts/a.md", "facts/a.md"),
    ("echo x 1>facts/a.md 2>/dev/null", "facts/a.md"),
    ("> facts/a.md echo x", "facts/a.md"),
    ("echo x > link/a.md", "facts/a.md"),
    ("echo x > other/../facts/./a.md", "facts/a.md"),
    ('cat <<EOF > "facts/a.md"\nx > other/a.md\nEOF', "facts/a.md"),
    ("cat > facts/a.md <<'END'\n$(rm other/a.md) `x`\nEND\necho y", "facts/a.md"),
    ("cat <<-E >> facts/a.md\n\tx\n\tE\ntrue", "facts/a.md"),
    ("printf x | tee -a facts/a.md", "facts/a.md"),
    ("sed -i s/old/new/ facts/a.md", "facts/a.md"),
    ("cd facts; mv a.md ../z.md", "facts/a.md"),
    ("cd facts && echo x > a.md", "facts/a.md"),
    ("cd ROOT/facts && cd ../other && echo x > a.md", "other/a.md"),
    ("(cd facts; echo x > a.md)", "facts/a.md"),
    ("cp new/c.md facts/a.md", "facts/a.md"),
    ("cp new/c.md facts", "facts/c.md"),
    ("mv other/a.md facts/", "facts/a.md"),
    ("mv other/a.md facts/", "other/a.md"),
    ("rm -f facts/a.md && ls", "facts/a.md"),
    ("rm -r facts", "facts/a.md"),
    ("rm -r link/", "facts/b.md"),
    ("truncate -s 0 facts/a.md", "facts/a.md"),
    ("dd if=/dev/null of=facts/a.md", "facts/a.md"),
    ("bash -c 'echo x > facts/a.md'", "facts/a.md"),
    ("bash -lc \"cd facts && sh -c 'echo x > a.md'\"", "facts/a.md"),
    ("A=1 B=2 command printf x > facts/a.md", "facts/a.md"),
    ("echo 'it''s' \"a \\\" b\" > facts/a.md # > other/a.md", "facts/a.md"),
    ("echo x \\\n > facts/a.md", "facts/a.md"),
    ("python3 -c 'print(1)' > facts/a.md", "facts/a.md"),
    ("echo x > facts/a.md 2>&1", "facts/a.md"),
    ("for i in 1 2; do true && break; done; echo x > facts/a.md", "facts/a.md"),
    ("cd facts && cd ../other &&\n echo x > a.md", "other/a.md"),
    ("true | tee facts/a.md && ls", "facts/a.md"),
]
CONDITIONAL = [
    ("grep -q none facts/a.md || echo x >> facts/a.md", "facts/a.md"),
    ("true && echo x > a.md || echo y > facts/a.md", "a.md"),
    ("true &&\n echo x > facts/a.md", "facts/a.md"),
    ("(cd other && true) && echo x > a.md", "a.md"),
    ("true && (echo x > facts/a.md; true)", "facts/a.md"),
    ("true && bash -c 'echo x > facts/a.md'", "facts/a.md"),
    ("true && echo x | tee facts/a.md", "facts/a.md"),
    ("true && rm -r facts", "facts/a.md"),
    ("true && cp new/c.md facts", "facts/c.md"),
    ("false && cd facts || echo x > a.md", "a.md"),
    ("false && cd facts || echo x | tee a.md", "a.md"),
    ("cd none || echo x > a.md", "a.md"),
    ("true | cd facts && echo x > a.md", "a.md"),
    ("if true; then echo x > facts/a.md; fi", "facts/a.md"),
    ("for i in 1 2; do echo $i >> facts/a.md; done", "facts/a.md"),
    ("while ! rm facts/a.md; do false; done", "facts/a.md"),
    ("case x in x) echo x > facts/a.md;; esac", "facts/a.md"),
    ("f() { echo x > facts/a.md; }; f", "facts/a.md"),
    ("f() ( echo x > facts/a.md ); f", "facts/a.md"),
    ("test -f none && exit; echo x > facts/a.md", "facts/a.md"),
    ("set -e; true; echo x > facts/a.md", "facts/a.md"),
]


@pytest.mark.parametrize(("command", "path"), SHOWN)
def test_a_command_shows_the_file_that_it_really_changes(command: str, path: str) -> None:
    with _place() as root:
        said = writes_of(_in(root, command), str(root))
        changed = _changed(root, _in(root, command))
        # A file that was moved or removed is judged as a hook does it: when that has happened.
        later = writes_of.__wrapped__(_in(root, command), str(root))

    assert str(root / path) in changed
    assert said.surely(str(root / path))
    assert later.surely(str(root / path)) or "link" in command
    assert all(said.maybe(each) and later.maybe(each) for each in changed if "link" not in command)


@pytest.mark.parametrize(("command", "path"), CONDITIONAL)
def test_a_write_under_a_condition_is_named_and_not_sure(command: str, path: str) -> None:
    with _place() as root:
        said = writes_of(_in(root, command), str(root))
        changed = _changed(root, _in(root, command))

    assert str(root / path) in changed
    assert all(said.maybe(each) for each in changed)
    assert not any(said.surely(str(root / each)) for each in (*FILES, "facts/c.md"))


@pytest.mark.parametrize(
    "command",
    [
        "cat facts/a.md",
        "cat facts/a.md > z.md",
        "cp facts/a.md z.md",
        "echo x > facts/a.md.bak",
        "echo x > facts/data.md",
        "echo x > other/a.md",
        "echo x > ROOT/other/a.md",
        "echo x > a.md",
        "cd other && echo x > a.md",
        "cd facts; cd ..; echo x > a.md",
        "(cd facts) ; echo x > a.md",
        "grep a.md facts/a.md > log",
        "sed -n 1p facts/a.md",
        "echo x > facts/b.md; cat facts/a.md",
        "echo '> facts/a.md'",
        'echo "rm facts/a.md"',
        "echo x # > facts/a.md",
        "cat <<EOF\nrm facts/a.md\necho > facts/a.md\nEOF",
        "ls 2>&1 >/dev/null facts/a.md",
        "for i in facts/a.md; do sleep 0; done",
        "find facts -name a.md",
        "rm -r other",
        "test -f facts/a.md && sleep 0",
    ],
)
def test_a_command_that_does_not_write_to_it_is_known_not_to(command: str) -> None:
    with _place() as root:
        said = writes_of(_in(root, command), str(root))
        path = str(root / "facts" / "a.md")

        assert path not in _changed(root, _in(root, command))
    assert not said.surely(path)
    assert not said.maybe(path)


@pytest.mark.parametrize(
    "command",
    [
        "D=facts; echo x > $D/a.md",
        "D=facts/a.md; echo x > $D",
        'D=facts; echo x > "$D/a.md"',
        "cd $(echo facts) && echo x > a.md",
        "echo x > `echo facts`/a.md",
        "echo x > facts/[a].md",
        "sed -i s/old/new/ facts/*.md",
        "rm facts/?.md",
        "cp -r other/. facts",
        "cp -r ROOT/other/* facts/",
        "test -d none && cd other; cd facts; echo x > a.md",
        "if true; then true; cd facts; fi; echo x > a.md",
        "pushd facts; echo x > a.md",
        "cd facts; cd none; echo x > a.md",
        "eval 'echo x > facts/a.md'",
        "echo 'echo x > facts/a.md' | sh",
        "python3 -c \"open('facts/a.md', 'w')\"",
        "find facts -name a.md -delete",
        "find facts -name a.md -exec truncate -s 0 {} +",
        'echo "$(rm facts/a.md)"',
        "cat <<EOF\n$(rm facts/a.md)\nEOF",
        "f() { rm facts/a.md; }; f",
        "echo facts/a.md | xargs rm",
        "cp -t facts other/a.md",
        "sed -n 'w facts/a.md' other/a.md",
        "awk 'BEGIN { print > \"facts/a.md\" }'",
        "echo x | tee >(cat > facts/a.md) >/dev/null; sleep 0.1",
        "case x in x) rm facts/a.md;; esac",
        "env -C facts rm a.md",
        "echo x > ~+/facts/a.md",
        "git init -q . && git add . && rm -f x; git rm -q -f facts/a.md",
    ],
)
def test_a_command_that_cannot_be_followed_is_unsure(command: str) -> None:
    with _place() as root:
        said = writes_of(_in(root, command), str(root))
        path = str(root / "facts" / "a.md")

        assert path in _changed(root, _in(root, command)), "or it shows nothing"
    assert said.maybe(path)
    others = [str(root / each) for each in ("other/a.md", "a.md")]
    assert not any(said.surely(each) for each in others), "what it did not write"


def test_without_a_folder_only_full_names_are_sure() -> None:
    assert not writes_of("echo x > facts/a.md", None).surely("/g/facts/a.md")
    assert writes_of("echo x > facts/a.md", None).maybe("/g/facts/a.md")
    assert not writes_of("echo x > facts/b.md", None).maybe("/g/facts/a.md")
    assert writes_of("echo x > /g/facts/a.md", None).surely("/g/facts/a.md")


@pytest.mark.parametrize(
    "command", ["sleep 9 &", "nohup make", "(sleep 9; rm x) & true", "tmux new -d make"]
)
def test_a_command_that_may_run_on(command: str) -> None:
    assert writes_of(command, "/").lingers


@pytest.mark.parametrize("command", ["a && b", "make 2>&1", "echo 'a & b'", "make &> log"])
def test_a_command_that_ends(command: str) -> None:
    assert not writes_of(command, "/").lingers


_NAMES = st.sampled_from(
    ("facts/a.md", "a.md", "./a.md", "../facts/a.md", "'facts/a.md'", "link/a.md", '"$D/a.md"')
)
_PARTS = st.one_of(
    st.builds("cd {}".format, st.sampled_from(("facts", "other", "..", "none", "link", "$D"))),
    st.builds("echo x > {}".format, _NAMES),
    st.builds("echo x | tee -a {}".format, _NAMES),
    st.builds("rm -f {}".format, _NAMES),
    st.builds("mv {} {}".format, _NAMES, st.sampled_from(("other", "facts", "z.md", "a.md"))),
    st.builds("cp {} {}".format, _NAMES, st.sampled_from(("other", "facts/b.md", ".", "$D"))),
    st.builds("sed -i s/old/new/ {}".format, _NAMES),
    st.builds("( cd {}; echo y >> {} )".format, st.sampled_from(("facts", "other")), _NAMES),
    st.builds("cat <<E > {}\ny\nE\n".format, _NAMES),
    st.sampled_from(("true", "false", "ls", "echo '>' a.md", "if false; then cd other; fi")),
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(_PARTS, st.sampled_from((";", "&&", "||", "\n", "|"))), max_size=6),
    st.sampled_from(("", "D=facts; ", "D=. ; ")),
)
def test_no_command_changes_a_file_that_it_is_known_not_to_write(
    parts: list[tuple[str, str]], head: str
) -> None:
    """The law behind every signature: what is ruled out is really out."""
    text = head + " ".join(
        f"{part}\n" if part.endswith("\n") else f"{part} {join} " for part, join in parts
    )
    command = f"{text} true"
    with _place() as root:
        said = writes_of.__wrapped__(command, str(root))
        changed = _changed(root, command)

        assert {each for each in changed if not said.maybe(each)} == set()


_WRITES = st.builds("echo {} >> {}".format, st.integers(0, 9), st.sampled_from(FILES))
_CHECKS = st.sampled_from(("true", "false", "grep -q none a.md", "cd facts", "cd other", "exit"))
_LISTS = st.recursive(
    _WRITES | _CHECKS,
    lambda inner: st.one_of(
        st.builds("{} {} {}".format, inner, st.sampled_from((";", "&&", "||", "|", "&&\n")), inner),
        st.builds("( {} )".format, inner),
        st.builds("if {}\nthen {}\nfi".format, inner, inner),
        st.builds("for i in; do {}\ndone".format, inner),
        st.builds("f() {{ {}\n}}".format, inner),
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(_LISTS)
def test_a_command_changes_every_file_that_it_surely_writes(command: str) -> None:
    """Whatever conditions its parts stand under, and whether it goes to a folder on its way."""
    with _place() as root:
        said = writes_of.__wrapped__(command, str(root))
        for folder in ("facts", "other"):
            for each in ("facts", "other"):  # a wrong folder must show, too
                (root / folder / each).mkdir()
        changed = _changed(root, command)

        assert {each for each in said.files if each not in changed} == set()
        assert {each for each in changed if not said.maybe(each)} == set()


@given(st.text(alphabet="ab$`'\"\\<>|;&(){}[]*? \n\t/.~#-=cd", max_size=200))
def test_any_text_has_an_answer(text: str) -> None:
    said = writes_of(text, "/nowhere")

    assert said.maybe("/nowhere/x") in (True, False)
