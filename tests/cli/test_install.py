"""`gitmem install`, `gitmem doctor` and the git hook, as people call them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

import gitmem as package
from tests.support.cli import Run
from tests.support.git import GitFailed, git

ROOT = Path(package.__file__).parents[1]
SECRET = "AKIA" + "IOSFODNN7ABCDEFG"
LISTS_MODULES = (
    "import atexit, sys\n"
    "atexit.register(lambda: print('\\n'.join(sys.modules), file=sys.stderr))\n"
    "from gitmem.cli import main\n"
    "main()\n"
)


@pytest.fixture
def host(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with Claude Code in it; we stand in a project."""
    folder = tmp_path / "home"
    (folder / ".claude").mkdir(parents=True)
    (folder / ".claude" / "settings.json").write_text('{\n  "model": "opus"\n}\n')
    (tmp_path / "project").mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path / "project")
    return folder


@pytest.fixture
def on_path(host: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on PATH whose `gitmem` is the one that runs, as an installed script would be."""
    (host / ".profile").write_text(f"export PATH='{tmp_path}/bin:{os.environ['PATH']}'\n")
    monkeypatch.setenv("SHELL", "/bin/sh")
    tools = tmp_path / "bin"
    tools.mkdir()
    script = tools / "gitmem"
    script.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from gitmem.cli import main\nmain()\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    return tools


def process(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(words),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def commands(settings: Path) -> set[str]:
    hooks = json.loads(settings.read_text())["hooks"]
    return {each["command"] for groups in hooks.values() for each in groups[0]["hooks"]}


def test_a_process_installs_shows_the_diff_and_takes_it_out(host: Path, on_path: Path) -> None:
    settings = host / ".claude" / "settings.json"

    done = process("gitmem", "install", "claude-code")

    assert done.returncode == 0, done.stderr
    assert f"--- {settings}\n+++ {settings}\n" in done.stdout
    assert '\n-  "model": "opus"\n+  "model": "opus",\n+  "hooks": {\n' in done.stdout
    assert f"created  {host}/.claude/skills/diary" in done.stdout
    assert "created group main" in done.stdout
    assert "next: start a new session" in done.stdout
    store = os.environ["GITMEM_HOME"]
    assert f"gitmem --store {store} hook session-start --host claude-code" in commands(settings)
    assert process("gitmem", "doctor").stdout.endswith("no findings\n")

    again = process("gitmem", "install", "claude-code")
    assert again.stdout.startswith("nothing to do: claude-code is up to date")
    gone = process("gitmem", "install", "claude-code", "--uninstall")
    assert gone.returncode == 0
    assert settings.read_text() == '{\n  "model": "opus"\n}\n'
    assert process("gitmem", "doctor").returncode == 6


@pytest.mark.parametrize(
    ("name", "file"),
    [("claude-code", ".claude/settings.json"), ("codex", ".codex/hooks.json")],
)
def test_the_lines_that_are_installed_are_answered(
    host: Path, on_path: Path, name: str, file: str
) -> None:
    process("gitmem", "install", name, "--on-prompt")
    hooks = json.loads((host / file).read_text())["hooks"]

    for event in ("SessionStart", "PostToolUse", "UserPromptSubmit"):
        said = {"hook_event_name": event, "session_id": "s", "cwd": str(Path.cwd())}
        done = subprocess.run(
            ["sh", "-c", hooks[event][0]["hooks"][0]["command"]],
            input=json.dumps({**said, "source": "startup"}),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, (event, done.stderr)
        assert not done.stdout or isinstance(json.loads(done.stdout), dict)
        if event == "SessionStart":
            assert "additionalContext" in done.stdout


def test_a_store_that_was_named_is_named_to_the_host(
    host: Path, on_path: Path, tmp_path: Path
) -> None:
    store = tmp_path / "my memory"

    process("gitmem", "--store", str(store), "install", "claude-code", "--on-prompt")

    wanted = f"gitmem --store '{store}' hook user-prompt-submit --host claude-code"
    assert wanted in commands(host / ".claude" / "settings.json")
    process("gitmem", "install", "claude-code", "--store", str(store), "--no-on-prompt")
    assert wanted not in commands(host / ".claude" / "settings.json")


def test_a_program_that_is_not_on_path_is_named_by_its_place(host: Path, on_path: Path) -> None:
    other = on_path.parent / "elsewhere" / "gitmem"
    other.parent.mkdir()
    other.write_bytes((on_path / "gitmem").read_bytes())
    other.chmod(0o755)

    process(str(other), "install", "claude-code")

    found = commands(host / ".claude" / "settings.json")
    store = os.environ["GITMEM_HOME"]
    assert f"{other} --store {store} hook stop --host claude-code" in found


def test_the_answer_is_also_a_document(host: Path, run: Run) -> None:
    said = run("install", "codex", "--mcp", "--scope", "project", "--dry-run", "--json").document

    assert (said["host"], said["scope"], said["action"]) == ("codex", "project", "installed")
    assert said["dry_run"] is True
    files = {Path(each["path"]).name: each for each in said["files"]}
    assert files["hooks.json"]["action"] == "created"
    assert files["config.toml"]["diff"].startswith("--- /dev/null\n")
    assert not (Path.cwd() / ".codex").exists()

    found = run("doctor", "--json")
    assert found.code == 6
    assert found.document["well"] is False
    assert {"code", "message", "hint"} == found.document["findings"][0].keys()


def test_a_dry_run_says_so(host: Path, run: Run) -> None:
    said = run("install", "claude-code", "--dry-run")

    assert "files would change; nothing was written" in said.out
    assert "next:" not in said.out
    assert not (host / ".claude" / "skills").exists()


def test_broken_settings_are_refused_and_named(host: Path, run: Run) -> None:
    (host / ".claude" / "settings.json").write_text("{")

    said = run("install", "claude-code")

    assert said.code == 5
    assert "settings.json: not valid JSON" in said.err
    assert "nothing was changed" in said.err
    assert run("install", "claude-code", "--json").error["code"] == "json-refused"


def test_what_cannot_be_taken_out_is_named(host: Path, run: Run) -> None:
    run("install", "claude-code")
    memory = host / ".claude" / "CLAUDE.md"
    memory.write_text(memory.read_text().replace("<!-- gitmem:end -->", ""))

    said = run("install", "claude-code", "--uninstall", "--quiet")

    assert said.code == 6
    assert f"left: {memory}: the markers" in said.out
    assert (host / ".claude" / "settings.json").read_text() == '{\n  "model": "opus"\n}\n'


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "Missing argument"),
        (("emacs",), "'emacs' is not one of"),
        (("codex", "--scope", "world"), "'world' is not one of"),
        (("codex", "--uninstall", "--mcp"), "only when installing into a host"),
        (("codex", "--uninstall", "--replace"), "only when installing into a host"),
        (("git-hook", "--replace"), "only when installing into a host"),
        (("git-hook", "--scope", "user"), "takes no --scope"),
    ],
)
def test_mistakes_are_told_with_the_way_on(
    host: Path, run: Run, args: tuple[str, ...], said: str
) -> None:
    done = run("install", *args)

    assert done.code == 2
    assert said in done.err
    assert "hint:" in done.err


def test_the_doctor_addresses_its_advice(host: Path, run: Run, tmp_path: Path) -> None:
    said = run("doctor", "--store", str(tmp_path / "other"))

    assert said.code == 6
    assert f"`gitmem --store {tmp_path}/other init`" in said.out


def test_the_server_addresses_its_advice(host: Path, run: Run, tmp_path: Path) -> None:
    said = run("mcp", "--store", str(tmp_path / "other"))

    assert f"`gitmem --store {tmp_path}/other init`" in said.err


def test_a_group_is_named_in_commands_and_nowhere_else(
    host: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shop"
    skill = folder / ".claude" / "skills" / "diary" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("theirs\n")
    monkeypatch.chdir(folder)
    run("init", "-g", "shop")
    project = ("install", "claude-code", "--scope", "project", "-g", "shop")

    first = run(*project)
    run("link", ".", "-g", "shop")
    again = run(*project)

    assert "1 skill of gitmem does not load: diary; `gitmem -g shop install" in first.out
    assert f"next: `gitmem -g shop link {folder}`\n" in first.out
    assert f"link {folder}" not in again.out


def test_the_settings_of_the_user_are_for_folders_without_a_link(
    host: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.chdir(folder)
    run("init", "-g", "shop")
    run("link", ".", "-g", "shop")

    done = run("install", "claude-code")

    page = (host / ".claude" / "CLAUDE.md").read_text()
    assert "| layer of `main` |" in page
    assert "`shop`" not in page
    assert "In a linked folder" in " ".join(page.split())
    assert f"link {folder}" not in done.out
    refused = run("install", "claude-code", "-g", "shop")
    assert refused.code == 2
    assert "gitmem -g shop link DIR" in refused.err
    assert (host / ".claude" / "CLAUDE.md").read_text() == page


def test_a_link_names_the_files_that_change(host: Path, run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    run("install", "claude-code")
    run("init", "-g", "shop")

    done = run("link", str(folder), "-g", "shop")
    local = folder / ".claude" / "settings.local.json"
    assert f"  created {local}\n" in done.out
    again = run("link", str(folder), "-g", "shop", "--json")
    assert (again.code, again.document["rewired"]) == (0, [])
    renamed = run("groups", "rename", "shop", "store", "--json")
    assert [each["path"] for each in renamed.document["rewired"]] == [str(local)]
    removed = run("link", str(folder), "--remove", "--json")
    assert [each["action"] for each in removed.document["rewired"]] == ["removed"]


def test_the_doctor_looks_at_the_group_of_the_folder(
    host: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    run("init", "-g", "shop")
    run("link", str(folder), "-g", "shop")
    monkeypatch.chdir(folder)

    found = {each["code"]: each["hint"] for each in run("doctor", "--json").document["findings"]}

    assert "group-missing" not in found
    assert found["not-wired"].startswith("`gitmem install claude-code`")


def make_old(host: Path, store: Path) -> Path:
    """Let an installed skill be of an earlier version, which nobody has edited."""
    skill = host / ".claude" / "skills" / "diary" / "SKILL.md"
    skill.write_text("as it was")
    record = json.loads((store / "installs.json").read_text())
    row = record["installs"][0]
    row["gitmem"], row["skills_version"] = "0.0.1", 0
    row["skills"]["diary/SKILL.md"] = sha256(b"as it was").hexdigest()
    (store / "installs.json").write_text(json.dumps(record))
    return skill


def test_another_memory_system_gives_way_and_comes_back(
    host: Path, on_path: Path, run: Run
) -> None:
    skill = host / ".claude" / "skills" / "zylos-memory" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("old\n")
    settings = host / ".claude" / "settings.json"
    hook = {"type": "command", "command": "node scripts/session-start-inject.js"}
    settings.write_text(json.dumps({"hooks": {"SessionStart": [{"hooks": [hook]}]}}))
    page = host / ".claude" / "CLAUDE.md"
    page.write_text("## Memory System\n\nInvoke /zylos-memory.\n")
    before = [each.read_bytes() for each in (skill, settings, page)]
    run("init", "--layout", "zylos")

    said = run("install", "claude-code")
    assert "1 skill of gitmem does not load: zylos-memory" in said.out
    assert "session-start-inject.js at SessionStart: memory is shown twice" in said.out
    looked = run("doctor", "--json")
    codes = {each["code"] for each in looked.document["findings"]}
    assert looked.code == 6
    assert {"memory-twice", "section-old", "skill-shadowed"} <= codes
    assert "no findings" not in run("doctor").out

    shown = run("install", "claude-code", "--replace", "--dry-run").out
    assert "node scripts/session-start-inject.js" in shown
    assert "-old" in shown.splitlines()
    assert "nothing was written" in shown
    done = run("install", "claude-code", "--replace", "--json").document
    assert any("--uninstall" in each for each in done["remarks"])
    codes = {each["code"] for each in run("doctor", "--json").document["findings"]}
    assert not codes & {"memory-twice", "section-old", "skill-shadowed", "skill-old"}

    run("install", "claude-code", "--uninstall")
    assert [each.read_bytes() for each in (skill, settings, page)] == before


def test_maintenance_brings_skills_up_to_date(host: Path, run: Run, home: Path) -> None:
    run("install", "claude-code")
    skill = make_old(host, home)
    assert run("maintain", "--dry-run").code == 0
    assert skill.read_text() == "as it was"

    said = run("maintain", "--json").document

    assert said["skills"][0]["files"] == [str(skill)]
    assert skill.read_text().startswith("---\nname: diary\n")
    assert "skills" not in run("maintain", "--json").document
    make_old(host, home)
    assert "skills of claude-code: 1 file brought up to date" in run("maintain", "--all").out


def test_maintenance_without_installations_knows_no_hosts(gitmem: Run) -> None:
    done = process(sys.executable, "-c", LISTS_MODULES, "maintain", cwd=ROOT)

    assert done.returncode == 0
    assert "gitmem.cli.commands.curate.maintain" in done.stderr.split()
    hosts = {each for each in done.stderr.split() if each.startswith("gitmem.integrations.hosts.")}
    assert hosts == {"gitmem.integrations.hosts.table"}, "who calls is told by the table alone"
    others = {each for each in done.stderr.split() if each.startswith("gitmem.integrations.")}
    assert others - hosts <= {"gitmem.integrations.hosts"}, "the folder of the table"


def commit(files: Path, *args: str) -> str:
    return git(files, "commit", *args, env={"PATH": os.environ["PATH"]})


def test_a_commit_by_hand_obeys_the_rules_of_a_write(
    gitmem: Run, files: Path, on_path: Path
) -> None:
    assert gitmem("install", "git-hook").code == 0
    (files / "notes.md").write_text("plain\n")
    git(files, "add", "notes.md")
    commit(files, "-m", "fine")

    (files / "notes.md").write_text(f"plain\nkey {SECRET}\n")
    with pytest.raises(GitFailed, match=r"refused notes.md: secret: [\w-]+, line 2") as caught:
        commit(files, "-am", "not fine")  # git has an index of its own for this one

    assert SECRET not in str(caught.value)
    assert "git commit --no-verify" in str(caught.value)
    assert git(files, "log", "-1", "--format=%s") == "fine\n"
    commit(files, "--no-verify", "-am", "all the same")
    checked = gitmem("check")
    assert checked.code == 6
    assert "notes.md" in checked.out
    assert SECRET not in checked.out


def test_links_and_names_that_may_not_be_are_refused(
    gitmem: Run, files: Path, on_path: Path
) -> None:
    gitmem("install", "git-hook")
    (files / "Notes.md").write_text("one\n")
    gitmem("capture")
    (files / "link.md").symlink_to("/etc/passwd")
    (files / ".hidden").write_text("x\n")
    (files / "notes.md").write_text("two\n")
    git(files, "add", "-f", ".")

    said = gitmem("check", "--staged")

    assert said.code == 6
    assert [line.split(":")[0] for line in said.out.splitlines()] == [
        "refused .hidden",
        "refused link.md",
        "refused notes.md",
    ]
    assert gitmem("check", "--staged", "--json").document["refused"][1] == {
        "path": "link.md",
        "rule": "link",
    }


def test_what_a_write_would_be_refused_for_is_refused_here_too(
    gitmem: Run, files: Path, on_path: Path
) -> None:
    gitmem("install", "git-hook")
    layer = "law: {kind: document, path: law.md, policy: protected}"
    assert gitmem("write", "gitmem.yaml", f"gitmem: 1\nlayers:\n  {layer}\n").code == 0
    gitmem("write", "law.md", "as it is\n")
    gitmem("write", "short.md", "a word\n" * 200)
    (files / "short.md").write_text("less\n")
    (files / "law.md").write_text("as I like it\n")
    git(files, "add", "-A")

    with pytest.raises(GitFailed, match="git commit --no-verify") as caught:
        commit(files, "-m", "pruned")

    assert "refused law.md: policy law.md is protected" in str(caught.value)
    assert "refused short.md: shrink short.md 1400 -> 5 bytes" in str(caught.value)
    commit(files, "--no-verify", "-m", "pruned")
    assert git(files, "log", "-1", "--format=%s") == "pruned\n"


def test_a_credential_in_the_message_is_refused(gitmem: Run, files: Path, on_path: Path) -> None:
    gitmem("install", "git-hook")
    (files / "notes.md").write_text("plain\n")
    git(files, "add", "notes.md")
    message = files.parents[1] / "message"
    message.write_text(f"notes\n\nwith {SECRET}\n")

    with pytest.raises(GitFailed, match=r"refused the message: secret: [\w-]+, line 3") as caught:
        commit(files, "-F", str(message))

    assert SECRET not in str(caught.value)
    assert "git commit --no-verify" in str(caught.value)
    message.write_text(f"notes\n# {SECRET}\n# ------------------------ >8 ---\n+{SECRET}\n")
    assert gitmem("check", "--message", str(message)).code == 0
    commit(files, "-m", "notes")


def test_a_known_secret_may_move_and_a_broken_layout_may_not_come(
    gitmem: Run, files: Path, on_path: Path
) -> None:
    gitmem("write", "a.md", f"{SECRET}\n", "--allow-secret", "aws-key-id")
    git(files, "mv", "a.md", "b.md")
    assert gitmem("check", "--staged").code == 0

    (files / "gitmem.yaml").write_text("gitmem: 1\nlayers: 3\n")
    git(files, "add", "gitmem.yaml")
    said = gitmem("check", "--staged")
    assert said.code == 6
    assert said.out.startswith("refused gitmem.yaml: layout gitmem.yaml line 2")


def test_a_commit_that_cannot_be_checked_is_not_made(
    gitmem: Run, files: Path, on_path: Path
) -> None:
    gitmem("install", "git-hook")
    hook = files.parents[1] / "repos" / "main.git" / "hooks" / "pre-commit"
    hook.write_text(hook.read_text().replace("ask() { ", "ask() { /nowhere/"))
    (files / "a.md").write_text("a\n")
    git(files, "add", "a.md")

    with pytest.raises(GitFailed, match="could not be checked, and was not made"):
        commit(files, "-m", "a")


def test_the_git_hook_comes_and_goes_and_the_repository_is_as_it_was(
    gitmem: Run, files: Path, home: Path, on_path: Path
) -> None:
    gitdir = home / "repos" / "main.git"
    before = {each: each.stat().st_mode for each in gitdir.rglob("*")}
    config = (gitdir / "config").read_bytes()
    assert gitmem("install", "git-hook", "--dry-run").out.startswith("would be installed: ")
    assert not (gitdir / "hooks").exists()

    assert gitmem("install", "git-hook").out.startswith("installed: ")
    assert gitmem("install", "git-hook").out.startswith("already installed: ")
    assert gitmem("check").code == 0
    assert gitmem("install", "git-hook", "--uninstall", "--json").document["changed"] is True
    assert gitmem("install", "git-hook", "--uninstall").out.startswith("already uninstalled: ")

    assert (gitdir / "config").read_bytes() == config
    assert {each: each.stat().st_mode for each in gitdir.rglob("*")}.keys() >= before.keys()
    assert not (gitdir / "hooks").exists()


def test_a_moved_store_keeps_its_hook(
    gitmem: Run, home: Path, on_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gitmem("install", "git-hook")
    home.rename(tmp_path / "moved")
    files = tmp_path / "moved" / "groups" / "main"
    (files / "a.md").write_text(f"{SECRET}\n")
    git(files, "add", "a.md")

    with pytest.raises(GitFailed, match=r"refused a.md: secret"):
        commit(files, "-m", "a")


def test_a_hook_of_somebody_else_is_never_touched(gitmem: Run, home: Path) -> None:
    gitdir = home / "repos" / "main.git"
    (gitdir / "hooks").mkdir()
    (gitdir / "hooks" / "pre-commit").write_text("#!/bin/sh\nexit 0\n")

    said = gitmem("install", "git-hook")
    assert said.code == 4
    assert f"another hook exists: {gitdir / 'hooks' / 'pre-commit'}" in said.err
    assert "gitmem check --staged" in said.err
    gitmem("install", "git-hook", "--uninstall")
    assert (gitdir / "hooks" / "pre-commit").read_text() == "#!/bin/sh\nexit 0\n"

    (gitdir / "hooks" / "pre-commit").unlink()
    git(gitdir, "config", "core.hooksPath", "/my/hooks")
    assert "runs the hooks in /my/hooks" in gitmem("install", "git-hook").err


def test_the_git_hook_of_a_group_that_is_not_there(gitmem: Run) -> None:
    assert gitmem("install", "git-hook", "-g", "nobody").code == 3
