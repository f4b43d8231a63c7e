"""`gitmem transcript`: what was said, by hand, by batch and from other programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitmem.integrations.transcripts.readers import LONGEST
from gitmem.memory.transcripts.import_file import PART_MESSAGES
from tests.support.cli import Run

LINES = (
    '{"id": "1", "chat": "tg:1", "from": "Ada", "at": "2026-02-01T09:00:00Z", "text": "Hello"}\n'
    '{"id": "2", "chat": "tg:1", "from": "Bob", "text": "We deploy\\non Monday"}\n'
)


@pytest.fixture
def said(run: Run) -> Run:
    """A group in which two people spoke."""
    assert run("init").code == 0
    assert run("transcript", "add", "--batch", "-", input=LINES).code == 0
    return run


class TestAdding:
    def test_one_message(self, run: Run) -> None:
        run("init")

        said = run("transcript", "add", "--chat", "tg:1", "--from", "Ada", "Hello")
        by_stdin = run("transcript", "add", "--chat", "tg:1", "--from", "Ada", "-", input="Hi\n")

        assert said.out.startswith("kept 1 message (1) ")
        assert by_stdin.out.startswith("kept 1 message (2) ")
        assert run("transcript", "show", "tg:1").out == (
            "[1] 2026-02-08 14:30 Ada: Hello\n[2] 2026-02-08 14:30 Ada: Hi\n"
        )

    def test_a_batch_is_idempotent(self, said: Run) -> None:
        again = said("transcript", "add", "--batch", "-", input=LINES)

        assert (again.code, again.out) == (0, "nothing new, 2 messages known before\n")

    def test_a_batch_from_a_file(self, run: Run, tmp_path: Path) -> None:
        run("init")
        (tmp_path / "lines").write_text(LINES)

        assert run("transcript", "add", "--batch", str(tmp_path / "lines")).code == 0
        missing = run("transcript", "add", "--batch", str(tmp_path / "none"))
        assert (missing.code, "cannot read" in missing.err) == (2, True)

    def test_a_time_and_an_id_can_be_named(self, run: Run) -> None:
        run("init")
        add = ("transcript", "add", "--chat", "c", "--from", "Ada", "--id", "7")

        run(*add, "--at", "2026-01-02T03:04:00Z", "Hello")

        assert run(*add, "Hello").out == "nothing new, 1 message known before\n"
        assert "2026-01-02 03:04 Ada: Hello" in run("transcript", "show", "c").out
        wrong = run(*add, "--at", "whenever", "x")
        assert (wrong.code, "invalid time 'whenever'" in wrong.err) == (2, True)

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            ("nonsense", "line 2: invalid JSON"),
            ("[1]", "line 2: not a JSON object"),
            ('{"chat": "c", "from": "x"}', "line 2: 'text' is missing"),
            ('{"chat": "c", "from": "x", "text": "t", "who": "y"}', "line 2: unknown key 'who'"),
            ('{"chat": 1, "from": "x", "text": "t"}', "line 2: 'chat' must be a text"),
            ('{"chat": "c", "from": "x", "text": "t", "at": "x"}', "line 2: 'at' is 'x'"),
            ('{"chat": "c", "from": "x", "text": " "}', "line 2: the text is empty"),
        ],
    )
    def test_a_line_that_makes_no_sense_is_named_and_nothing_kept(
        self, run: Run, line: str, why: str
    ) -> None:
        run("init")

        done = run("transcript", "add", "--batch", "-", input=f"{LINES.splitlines()[0]}\n{line}\n")

        assert done.code == 2
        assert why in done.err
        assert run("transcript", "list", "--json").document["chats"] == []

    @pytest.mark.parametrize(
        "args",
        [
            ("Hello",),
            ("--chat", "c", "Hello"),
            ("--from", "Ada", "Hello"),
            ("--batch", "-", "--chat", "c"),
            ("--chat", "", "--from", "Ada", "x"),
        ],
    )
    def test_what_is_missing_is_told(self, run: Run, args: tuple[str, ...]) -> None:
        run("init")

        done = run("transcript", "add", *args, input="x\n")

        assert done.code == 2
        assert "hint:" in done.err


class TestReading:
    def test_the_chats(self, said: Run) -> None:
        listed = said("transcript", "list")

        assert listed.out == "tg:1  2 messages  2026-02-01  2026-02-08 14:30  Ada, Bob\n"
        row = said("transcript", "list", "--json").document["chats"][0]
        assert (row["chat"], row["messages"], row["senders"]) == ("tg:1", 2, ["Ada", "Bob"])

    def test_the_messages(self, said: Run) -> None:
        assert said("transcript", "show", "tg:1", "--last", "1").out == (
            "[2] 2026-02-08 14:30 Bob: We deploy\n    on Monday\n"
        )
        row = said("transcript", "show", "tg:1", "--json").document["messages"][0]
        assert row == {
            "number": 1,
            "id": "1",
            "chat": "tg:1",
            "from": "Ada",
            "at": "2026-02-01T09:00:00+00:00",
            "text": "Hello",
        }
        missing = said("transcript", "show", "tg:2")
        assert (missing.code, "did you mean tg:1?" in missing.err) == (3, True)

    def test_an_empty_group_says_so(self, run: Run) -> None:
        run("init")

        assert run("transcript").out == "nothing was said yet\n"
        assert run("transcript", "list").err == "note: nothing was said yet\n"
        assert run("transcript", "pending").out == "No unsummarized conversations.\n"


class TestSync:
    def test_pending_prints_the_range_and_its_messages(self, said: Run) -> None:
        found = said("transcript", "pending")

        first, *rest = found.out.splitlines()
        assert first.startswith("[Unsummarized Range] begin=1 end=2 count=2 token=")
        assert rest == [
            "[1] 2026-02-01 09:00 Ada (tg:1): Hello",
            "[2] 2026-02-08 14:30 Bob (tg:1): We deploy",
            "    on Monday",
        ]
        token = first.rpartition("=")[2]
        assert f"gitmem transcript checkpoint --token {token} --summary TEXT" in found.err

    def test_a_checkpoint_closes_it_and_stands_in_the_log(self, said: Run) -> None:
        token = said("transcript", "pending", "--json").document["token"]

        done = said("transcript", "checkpoint", "--token", token, "--summary", "Deploys on Monday")

        assert done.out.startswith("summarised 1-2 (2 messages) ")
        assert said("transcript", "pending").out == "No unsummarized conversations.\n"
        assert "checkpoint" in said("log").out
        assert said("log").out.count("Deploys on Monday") == 1
        assert "2 messages: Deploys on Monday" in said("log").out
        status = said("transcript", "status")
        assert status.out.splitlines()[-1] == "No new conversations since last checkpoint."
        assert "1-2 just now: Deploys on Monday" in status.out
        document = said("transcript", "status", "--json").document
        assert (document["pending"], document["checkpoint"]["summary"]) == (0, "Deploys on Monday")

    def test_what_a_checkpoint_closes_and_covers_can_be_seen(self, said: Run) -> None:
        said("transcript", "pending", "--chat", "tg:1")
        commit = said("write", "facts/x.md", "Deploys are on Mondays", "--json").document["commit"]
        said("transcript", "checkpoint", "--summary", "Deploys")

        shown = said("show").out

        assert "  closes   1-2 of tg:1\n" in shown
        assert f"  covers   {commit[:10]}\n" in shown
        entry = said("log", "-n", "1", "--json").document["entries"][0]
        assert (entry["closes"], entry["covers"]) == ("1-2 of tg:1", [commit])
        assert "checkpoint by agent" in said("status").out

    def test_a_range_of_many_parts_is_shown_short(self, run: Run) -> None:
        run("init")
        rows = [{"chat": "ab"[each % 2], "from": "Ada", "text": "x"} for each in range(40)]
        run("transcript", "add", "--batch", "-", input="\n".join(map(json.dumps, rows)))
        for chat in (("--chat", "a"), ()):
            run("transcript", "pending", *chat)
            run("transcript", "checkpoint", "--summary", "x")

        assert "  closes   2-2,4-4,… (20 parts) …,40-40\n" in run("show").out
        assert run("show", "--json").document["entry"]["closes"].count(",") == 19

    def test_the_summary_may_come_from_standard_input(self, said: Run) -> None:
        said("transcript", "pending")

        done = said("transcript", "checkpoint", "--summary", "-", input="- one\n- two\n")

        assert done.code == 0
        assert said("transcript", "checkpoint").code == 2

    def test_a_second_session_is_told_and_a_stale_token_is_a_conflict(self, said: Run) -> None:
        first = said("transcript", "pending", "--json", GITMEM_SESSION="a").document["token"]

        second = said("transcript", "pending", GITMEM_SESSION="b")

        assert second.code == 7
        assert "a sync is in flight: agent (session a) has the range 1-2" in second.err
        assert said("transcript", "pending", "--json", GITMEM_SESSION="b").error["code"] == (
            "sync-in-flight"
        )
        assert said("transcript", "pending", "--take-over", GITMEM_SESSION="b").code == 0
        stale = said("transcript", "checkpoint", "--token", first, "--summary", "x")
        assert stale.code == 4
        assert "gitmem transcript pending" in stale.err

    @pytest.mark.parametrize(
        ("layout", "skill"), [("standard", "gitmem-memory"), ("zylos", "zylos-memory")]
    )
    def test_too_many_ask_for_action(self, run: Run, layout: str, skill: str) -> None:
        run("init", "--layout", layout)
        row = {"chat": "c", "from": "Ada", "text": "again"}
        run("transcript", "add", "--batch", "-", input=f"{json.dumps(row)}\n" * 31)

        line = (
            "[Action Required] There are 31 unsummarized conversations. "
            f"Please invoke /{skill} to process them."
        )
        assert run("transcript", "status").out.splitlines()[-1] == line
        assert run("transcript", "pending").out.splitlines()[0] == line

    def test_undo_opens_the_range_again(self, said: Run) -> None:
        said("transcript", "pending")
        said("write", "facts/x.md", "Deploys are on Mondays")
        said("transcript", "checkpoint", "--summary", "Deploys")

        undone = said("undo", "--last", "2")

        assert "reopened 1 summarised range; see: gitmem" in undone.out
        assert said("transcript", "status", "--json").document["pending"] == 2
        assert "reopened" in said("transcript", "status").out


SECRET = "AKIA" + "MKGDALMEEMKMOAJC"
ADD = ("transcript", "add")
LINE = '{"chat": "c", "from": "Ada", "text": "x", '


@pytest.mark.parametrize(
    ("args", "stdin"),
    [
        ((*ADD, "--chat", "c", "--from", "x", "--at", SECRET, "x"), ""),
        ((*ADD, "--batch", "-"), f'{LINE}"{SECRET}": "x"}}'),
        ((*ADD, "--batch", "-"), f'{LINE}"at": "{SECRET}"}}'),
        (("transcript", "show", SECRET), ""),
        (("transcript", "pending", "--chat", SECRET), ""),
        (("transcript", "prune", "--before", SECRET), ""),
        (("transcript", "import", SECRET, "--all"), ""),
        (("transcript", "import", "codex", "--all", "--since", SECRET), ""),
    ],
)
def test_an_error_repeats_no_credential(said: Run, args: tuple[str, ...], stdin: str) -> None:
    for form in ((), ("--json",)):
        done = said(*args, *form, input=stdin)

        assert SECRET not in done.out + done.err


class TestPruning:
    def test_it_says_what_would_go_and_what_went(self, said: Run) -> None:
        said("transcript", "pending")
        said("transcript", "checkpoint", "--summary", "all of it")

        planned = said("transcript", "prune", "--before", "2026-03-01", "--dry-run")
        assert planned.out == "would drop 2 messages in 1 chat from before 2026-03-01\n"
        done = said("transcript", "prune", "--before", "2026-03-01")

        assert done.out == "dropped 2 messages in 1 chat from before 2026-03-01\n"
        assert "gitmem maintain" in done.err
        listed = said("transcript", "list")
        assert (listed.out, listed.err) == ("", "note: nothing of it is kept any more\n")
        assert "20 objects" not in said("maintain").out
        assert said("transcript", "prune").code == 2

    def test_what_is_not_summarised_stays_and_that_is_said(self, said: Run) -> None:
        done = said("transcript", "prune", "--before", "2026-03-01")

        assert done.out == (
            "dropped 0 messages from before 2026-03-01\n  kept: 2 messages not summarised\n"
        )


def claude_line(number: int, kind: str = "user", text: str = "") -> str:
    row = {
        "type": kind,
        "uuid": f"u-{number}",
        "sessionId": "s",
        "timestamp": f"2026-02-0{number}T09:00:00Z",
        "message": {"role": kind, "content": [{"type": "text", "text": text or f"text {number}"}]},
    }
    return json.dumps(row) + "\n"


class TestImporting:
    @pytest.fixture
    def claude(self, run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Where that host keeps its conversations, with one in it."""
        run("init")
        root = home.parent / "claude"
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(root))
        session = root / "projects" / "-work" / "s.jsonl"
        session.parent.mkdir(parents=True)
        session.write_text(
            claude_line(1) + claude_line(2, "assistant") + '{"type": "mystery", "uuid": "x"}\n'
        )
        return session

    def test_a_file_all_of_it_or_a_dry_run(self, run: Run, claude: Path) -> None:
        dry = run("transcript", "import", "claude-code", "--all", "--dry-run")
        assert dry.out.splitlines()[0] == "would keep 2 messages from 1 file"
        assert run("transcript", "list").out == ""

        done = run("transcript", "import", "claude-code", str(claude))

        assert done.out == ("kept 2 messages from 1 file\n  1 line passed over: unknown: mystery\n")
        assert "assistant: text 2" in run("transcript", "show", "s").out

    def test_a_file_that_grows_is_read_on(self, run: Run, claude: Path) -> None:
        run("transcript", "import", "claude-code", "--all")
        with claude.open("a") as file:
            file.write(claude_line(3) + claude_line(4)[:40])
        first = run("transcript", "import", "claude-code", "--all", "--json").document
        with claude.open("a") as file:
            file.write(claude_line(4)[40:])
        second = run("transcript", "import", "claude-code", "--all", "--json").document
        third = run("transcript", "import", "claude-code", "--all", "--json").document

        assert [each["added"] for each in (first, second, third)] == [1, 1, 0]
        assert [each["known"] for each in (first, second, third)] == [0, 0, 0]
        assert (third["files"], third["unchanged"]) == (0, 1)
        told = run("transcript", "import", "claude-code", "--all").out
        assert "nothing new in 1 file" in told

    def test_without_the_memory_of_how_far_it_was_nothing_comes_twice(
        self, run: Run, claude: Path, home: Path
    ) -> None:
        run("transcript", "import", "claude-code", "--all")
        (home / "repos" / "main.git" / "gitmem" / "imported").unlink()

        again = run("transcript", "import", "claude-code", "--all", "--json").document

        assert (again["added"], again["known"]) == (0, 2)

    def test_a_file_that_was_replaced_is_read_from_its_beginning(
        self, run: Run, claude: Path
    ) -> None:
        run("transcript", "import", "claude-code", "--all")
        claude.write_text(claude_line(5) + claude_line(1) + claude_line(2))

        assert run("transcript", "import", "claude-code", "--all", "--json").document["added"] == 1

    def test_a_file_that_was_written_anew_under_its_head_is_too(
        self, run: Run, claude: Path
    ) -> None:
        head = claude_line(1, text="x" * 600)
        claude.write_text(head + claude_line(2))
        run("transcript", "import", "claude-code", "--all")
        with claude.open("r+") as file:
            file.seek(len(head))
            file.write(claude_line(3, text="one that is long enough") + claude_line(4))

        assert run("transcript", "import", "claude-code", "--all", "--json").document["added"] == 2

    def test_a_line_that_cannot_be_kept_stops_no_other(self, run: Run, claude: Path) -> None:
        bad = [
            {"sessionId": "s" * 300},
            {"sessionId": " "},
            {"uuid": "u" * 300},
            {"timestamp": "1204-02-01T09:00:00Z"},
        ]
        with claude.open("a") as file:
            file.writelines(
                json.dumps({**json.loads(claude_line(3)), **each}) + "\n" for each in bad
            )
            file.write(claude_line(4))

        done = run("transcript", "import", "claude-code", "--all")

        assert done.code == 0
        assert done.out.startswith("kept 3 messages from 1 file")
        assert "4 lines passed over: invalid chat, id or time" in done.out

    def test_a_file_that_was_taken_for_another_hosts_is_read_again(
        self, run: Run, claude: Path
    ) -> None:
        wrong = run("transcript", "import", "codex", str(claude), "--json").document
        right = run("transcript", "import", "claude-code", str(claude), "--json").document

        assert (wrong["added"], right["added"]) == (0, 2)

    def test_a_link_that_leads_to_itself_stops_no_other(self, run: Run, claude: Path) -> None:
        (claude.parent / "loop.jsonl").symlink_to("loop.jsonl")

        done = run("transcript", "import", "claude-code", str(claude.parent))

        assert done.out.startswith("kept 2 messages from 1 file")

    def test_what_was_passed_over_for_its_date_can_be_had_later(
        self, run: Run, claude: Path
    ) -> None:
        some = run(
            "transcript", "import", "claude-code", "--all", "--since", "2026-02-02", "--json"
        ).document
        more = run("transcript", "import", "claude-code", "--all", "--json").document

        assert (some["added"], some["earlier"]) == (1, 1)
        assert (more["added"], more["known"]) == (1, 1)

    def test_credentials_are_blanked_out(self, run: Run, claude: Path) -> None:
        token = "gh" + "p_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5"
        with claude.open("a") as file:
            file.write(claude_line(3, text=f"token {token}"))

        done = run("transcript", "import", "claude-code", "--all")

        assert "  1 credential blanked out\n" in done.out
        assert token not in run("transcript", "show", "s").out

    def test_codex_conversations(self, run: Run, home: Path, tmp_path: Path) -> None:
        run("init")
        path = tmp_path / "rollout-2026-02-01T09-00-00-0199a1b2-0000-7000-8000-000000000001.jsonl"
        payload = {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "Where is the heron?"}],
        }
        row = {"timestamp": "2026-02-01T09:00:00Z", "type": "response_item", "payload": payload}
        path.write_text(json.dumps(row) + "\n")

        done = run("transcript", "import", "codex", str(path), "--json").document

        assert done["added"] == 1
        assert "Where is the [heron]?" in run("search", "heron").out

    def test_a_line_that_is_too_long_is_told_and_stops_no_other(
        self, run: Run, claude: Path
    ) -> None:
        with claude.open("a") as file:
            file.write(claude_line(3, text="x" * LONGEST) + claude_line(4))

        done = run("transcript", "import", "claude-code", "--all")

        assert done.out.startswith("kept 3 messages from 1 file")
        assert "  1 line passed over: too long\n" in done.out

    def test_of_many_kinds_of_lines_that_nobody_knows_some_are_named(
        self, run: Run, claude: Path
    ) -> None:
        token = "gh" + "p_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5"
        kinds = [*(["often"] * 3), token, *(f"kind {each}" for each in range(300))]
        with claude.open("a") as file:
            file.writelines(json.dumps({"type": each}) + "\n" for each in kinds)

        done = run("transcript", "import", "claude-code", "--all", "--json").document

        assert done["passed"]["unknown: often"] == 3
        assert len(done["passed"]) <= 9
        assert sum(done["passed"].values()) == 305
        assert token not in json.dumps(done)

    def test_a_dry_run_counts_a_message_once_however_often_it_comes(
        self, run: Run, claude: Path
    ) -> None:
        """A session that goes on has a copy of what was said before, far behind the first one."""
        again = claude_line(1) * 2 + claude_line(2)
        filler = "".join(
            claude_line(3).replace('"u-3"', f'"v-{each}"') for each in range(PART_MESSAGES)
        )
        (claude.parent / "t.jsonl").write_text(filler + again)

        dry = run("transcript", "import", "claude-code", "--all", "--dry-run", "--json").document
        done = run("transcript", "import", "claude-code", "--all", "--json").document

        assert (dry["added"], dry["known"]) == (done["added"], done["known"])
        assert done["added"] == PART_MESSAGES + 2

    def test_the_conversations_of_a_project_of_claude_code(
        self, run: Run, claude: Path, tmp_path: Path
    ) -> None:
        project = tmp_path / "my shop"
        project.mkdir()
        name = "".join(each if each.isalnum() else "-" for each in str(project.resolve()))
        folder = claude.parent.parent / name
        folder.mkdir()
        (folder / "t.jsonl").write_text(claude_line(5, text="of the shop"))

        done = run("transcript", "import", "claude-code", "--project", str(project))

        assert done.out == "kept 1 message from 1 file\n"
        assert "of the shop" in run("transcript", "show", "s").out
        none = run("transcript", "import", "claude-code", "--project", str(tmp_path / "none"))
        assert (none.code, "no conversations of" in none.err) == (3, True)

    def test_the_conversations_of_a_project_of_codex(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run("init")
        monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
        day = tmp_path / "codex" / "sessions" / "2026" / "02" / "01"
        day.mkdir(parents=True)
        for number, cwd in enumerate((tmp_path / "shop", tmp_path / "other"), 1):
            payload = {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": f"in {cwd.name}"}],
            }
            rows = [
                {"type": "session_meta", "payload": {"cwd": str(cwd)}},
                {"type": "response_item", "payload": payload, "timestamp": "2026-02-01T09:00:00Z"},
            ]
            uuid = f"0199a1b2-0000-7000-8000-00000000000{number}"
            path = day / f"rollout-2026-02-01T09-00-00-{uuid}.jsonl"
            path.write_text("".join(json.dumps(each) + "\n" for each in rows))

        done = run("transcript", "import", "codex", "--project", str(tmp_path / "shop"))

        assert done.out.startswith("kept 1 message from 1 file\n")
        assert "in [shop]" in run("search", "shop").out
        (chat,) = run("transcript", "list", "--json").document["chats"]
        assert chat["messages"] == 1

    @pytest.mark.parametrize(
        ("args", "code", "said"),
        [
            (("nobody", "--all"), 2, "unknown host 'nobody'"),
            (("claude-code",), 2, "give paths, a project or all"),
            (("claude-code", "x", "--all"), 2, "only one of these"),
            (("codex", "--all", "--project", "x"), 2, "gitmem transcript import codex"),
            (("codex", "--all"), 3, "no conversations in"),
        ],
    )
    def test_mistakes_are_told(
        self, run: Run, claude: Path, args: tuple[str, ...], code: int, said: str
    ) -> None:
        done = run("transcript", "import", *args)

        assert done.code == code
        assert said in done.err

    def test_a_file_that_cannot_be_read_stops_no_other(self, run: Run, claude: Path) -> None:
        done = run("transcript", "import", "claude-code", str(claude.parent / "none"), str(claude))

        assert done.out.startswith("kept 2 messages from 1 file")
        assert "none" in done.err
        assert done.code == 3
