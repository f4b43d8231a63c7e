"""`gitmem transcript import c4|nano`: the conversations that memory systems keep in SQLite."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gitmem.integrations.transcripts.databases import DATABASES, PORTION
from tests.support.cli import Run
from tests.support.samples import narrow

C4 = """
    CREATE TABLE checkpoints (
        id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp DATETIME DEFAULT CURRENT_TIMESTAMP,
        summary TEXT, start_conversation_id INTEGER, end_conversation_id INTEGER
    );
    CREATE TABLE conversations (
        id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp DATETIME DEFAULT CURRENT_TIMESTAMP,
        direction TEXT NOT NULL, channel TEXT NOT NULL, endpoint_id TEXT, content TEXT NOT NULL,
        status TEXT DEFAULT 'pending', priority INTEGER DEFAULT 3
    );
"""
OLD_C4 = C4.replace("channel", "source").replace(
    "summary TEXT, start_conversation_id INTEGER, end_conversation_id INTEGER", "type TEXT"
)
NANO = """
    CREATE TABLE chats (jid TEXT PRIMARY KEY, name TEXT, last_message_time TEXT);
    CREATE TABLE messages (
        id TEXT, chat_jid TEXT, sender TEXT, sender_name TEXT, content TEXT, timestamp TEXT,
        is_from_me INTEGER, PRIMARY KEY (id, chat_jid)
    );
    CREATE VIRTUAL TABLE messages_fts USING fts5(content);
"""
SPOKEN = [
    ("2026-02-01 09:00:00", "in", "telegram", "42", "We deploy on Monday"),
    ("2026-02-01 09:00:05", "out", "telegram", "42", "Noted"),
    ("2026-02-01 23:00:00", "in", "scheduler", None, "Run the backup"),
    ("2026-02-02 09:00:00", "in", "lark", "team", "Who is on call?"),
]


def make(path: Path, schema: str, wal: bool = False) -> sqlite3.Connection:
    """A database; the connection stays open, as that of a bot that runs."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {'WAL' if wal else 'DELETE'}")
    connection.executescript(schema)
    return connection


def say(
    connection: sqlite3.Connection, *rows: tuple[object, ...], channel: str = "channel"
) -> None:
    connection.executemany(
        f"INSERT INTO conversations (timestamp, direction, {channel}, endpoint_id, content)"
        " VALUES (?, ?, ?, ?, ?)",
        rows,
    )


def summarise(connection: sqlite3.Connection, start: int, end: int, summary: str | None) -> None:
    connection.execute(
        "INSERT INTO checkpoints (summary, start_conversation_id, end_conversation_id)"
        " VALUES (?, ?, ?)",
        (summary, start, end),
    )


@pytest.fixture
def c4(run: Run, tmp_path: Path) -> Iterator[tuple[Path, sqlite3.Connection]]:
    """The database of a bot that runs, and a group."""
    assert run("init").code == 0
    folder = tmp_path / "bridge"
    folder.mkdir()
    with closing(make(folder / "c4.db", C4, wal=True)) as connection:
        say(connection, *SPOKEN)
        yield folder / "c4.db", connection


def listing(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


class TestC4:
    def test_conversations_come_in_once(
        self, run: Run, c4: tuple[Path, sqlite3.Connection]
    ) -> None:
        path, connection = c4

        done = run("transcript", "import", "c4", str(path))
        again = run("transcript", "import", "c4", str(path), "--json")
        say(connection, ("2026-02-03 09:00:00", "out", "lark", "team", "Grace is"))
        more = run("transcript", "import", "c4", str(path))

        assert (done.code, done.out) == (0, "kept 4 messages from 1 file\n")
        assert again.document["added"] == 0
        assert more.out.startswith("kept 1 message from 1 file\n")
        assert run("transcript", "show", "telegram:42").out == (
            "[1] 2026-02-01 09:00 user: We deploy on Monday\n"
            "[2] 2026-02-01 09:00 assistant: Noted\n"
        )
        assert "Run the backup" in run("transcript", "show", "scheduler").out
        assert "assistant: Grace is" in run("transcript", "show", "lark:team").out

    def test_what_c4_has_summarised_is_not_pending(
        self, run: Run, c4: tuple[Path, sqlite3.Connection]
    ) -> None:
        path, connection = c4
        run("transcript", "add", "--chat", "here", "--from", "ada", "said before")
        token = narrow()["npm-token"][0]
        summarise(connection, 1, 2, f"Deploys are on Monday; the key is {token}")
        summarise(connection, 3, 3, None)

        done = run("transcript", "import", "c4", str(path), "--json")
        pending = run("transcript", "pending", "--json").document

        assert done.document["summarised"] == 3
        assert [each["text"] for each in pending["messages"]] == ["said before", "Who is on call?"]
        log = run("log", "--op", "checkpoint").out
        assert "2 messages: Deploys are on Monday" in log
        assert token not in log
        assert run("transcript", "import", "c4", str(path), "--json").document["summarised"] == 0

    def test_a_checkpoint_has_the_time_at_which_c4_made_it(
        self, run: Run, c4: tuple[Path, sqlite3.Connection]
    ) -> None:
        path, connection = c4
        summarise(connection, 1, 2, "First ones")
        connection.execute("UPDATE checkpoints SET timestamp = '2026-02-08 11:00:00'")
        done = run("transcript", "import", "c4", str(path))

        found = run("transcript", "status", "--json").document["checkpoint"]

        assert "  2 summarised before, not pending\n" in done.out
        assert found["time"].startswith("2026-02-08T11:00:00")

    @pytest.mark.parametrize("said", ["yesterday", None, 3])
    def test_a_checkpoint_without_a_time_has_that_of_the_import(
        self, run: Run, c4: tuple[Path, sqlite3.Connection], said: object
    ) -> None:
        path, connection = c4
        summarise(connection, 1, 2, "First ones")
        connection.execute("UPDATE checkpoints SET timestamp = ?", (said,))
        run("transcript", "import", "c4", str(path))

        found = run("transcript", "status", "--json").document["checkpoint"]

        (commit,) = run("log", "--op", "checkpoint", "--json").document["entries"]
        assert found["time"] == commit["time"]

    def test_a_second_import_says_so_in_words_that_fit(
        self, run: Run, c4: tuple[Path, sqlite3.Connection]
    ) -> None:
        path, _ = c4
        run("transcript", "import", "c4", str(path))

        again = run("transcript", "import", "c4", str(path))

        assert again.out == "kept 0 messages from 0 files\n  nothing new in 1 file\n"

    def test_a_checkpoint_that_was_taken_back_stays_so(
        self, run: Run, c4: tuple[Path, sqlite3.Connection]
    ) -> None:
        path, connection = c4
        summarise(connection, 1, 4, "All of it")
        run("transcript", "import", "c4", str(path))
        assert run("transcript", "status", "--json").document["pending"] == 0

        assert run("undo").code == 0
        run("transcript", "import", "c4", str(path))

        assert run("transcript", "status", "--json").document["pending"] == 4

    def test_a_dry_run_keeps_nothing(self, run: Run, c4: tuple[Path, sqlite3.Connection]) -> None:
        path, connection = c4
        summarise(connection, 1, 2, "x")

        done = run("transcript", "import", "c4", str(path), "--dry-run")

        assert done.out == "would keep 4 messages from 1 file\n"
        assert run("transcript", "list", "--json").document["chats"] == []

    def test_credentials_are_blanked_out(
        self, run: Run, c4: tuple[Path, sqlite3.Connection]
    ) -> None:
        path, connection = c4
        token = narrow()["npm-token"][0]
        say(connection, ("2026-02-03 09:00:00", "in", "lark", "team", f"key {token}"))

        done = run("transcript", "import", "c4", str(path))

        assert "1 credential blanked out" in done.out
        assert "[redacted: npm-token]" in run("transcript", "show", "lark:team").out

    def test_the_schema_of_earlier_releases_is_read(self, run: Run, tmp_path: Path) -> None:
        run("init")
        with closing(make(tmp_path / "c4.db", OLD_C4)) as connection:
            say(connection, *SPOKEN[:2], channel="source")

        done = run("transcript", "import", "c4", str(tmp_path))

        assert done.out == "kept 2 messages from 1 file\n"
        assert "telegram:42" in run("transcript", "list").out

    def test_all_finds_the_database_of_the_system(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run("init")
        monkeypatch.setenv("HOME", str(tmp_path))
        none = run("transcript", "import", "c4", "--all")
        (tmp_path / "zylos" / "comm-bridge").mkdir(parents=True)
        with closing(make(tmp_path / "zylos" / "comm-bridge" / "c4.db", C4)) as connection:
            say(connection, SPOKEN[0])

        assert (none.code, "no comm-bridge/c4.db or c4.db in" in none.err) == (3, True)
        assert run("transcript", "import", "c4", "--all").out == "kept 1 message from 1 file\n"


@pytest.mark.parametrize(
    ("tried", "hint"),
    [
        (("nano", "--project", "."), "gitmem transcript import nano store/messages.db"),
        (("nano", "--all"), "gitmem transcript import nano store/messages.db"),
        (("nano",), "gitmem transcript import nano store/messages.db"),
        (("c4", "--project", "."), "gitmem transcript import c4 comm-bridge/c4.db"),
        (("codex", "--project", "."), "gitmem transcript import codex --all"),
        (("claude-code", "--all"), "gitmem transcript import claude-code --project ."),
    ],
)
def test_the_hint_is_another_command_than_the_one_that_failed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tried: tuple[str, ...], hint: str
) -> None:
    run("init")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    done = run("transcript", "import", *tried)

    assert done.code in (2, 3)
    assert f"`{hint}`" in done.err


BOT = """
import sqlite3, sys
bot = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
bot.execute("SELECT count(*) FROM messages").fetchone()
while bot.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
    pass
print("empty", flush=True)
sys.stdin.readline()
bot.execute("CREATE TABLE first AS SELECT * FROM messages")
bot.execute("UPDATE messages SET content = content || hex(zeroblob(3000))")
bot.execute("DROP TABLE first")
bot.execute("VACUUM")
bot.execute("PRAGMA wal_checkpoint(TRUNCATE)")
print("rewritten", flush=True)
sys.stdin.readline()
"""


class TestNothingIsWrittenBesideIt:
    """Of a bot that runs, one that has ended, and a copy that lost its shared memory."""

    def test_while_the_bot_runs(self, c4: tuple[Path, sqlite3.Connection]) -> None:
        """In a process of its own: in one process all connections share what one may write."""
        path, _ = c4
        before = listing(path.parent)
        assert set(before) == {"c4.db", "c4.db-wal", "c4.db-shm"}

        command = [sys.executable, "-m", "gitmem", "transcript", "import", "c4", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)

        assert done.stdout.startswith("kept 4")
        assert listing(path.parent) == before

    def test_while_the_bot_empties_its_log(self, tmp_path: Path) -> None:
        """An empty log beside a bot that runs is no sign that nobody will write."""
        path, rows = tmp_path / "messages.db", 2 * PORTION
        connection = nano(path, wal=True)
        come(connection, *range(6, rows))
        connection.close()
        command, pipe = [sys.executable, "-c", BOT, str(path)], subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as bot:
            assert bot.stdin
            assert bot.stdout
            assert bot.stdout.readline() == "empty\n"
            assert (tmp_path / "messages.db-wal").stat().st_size == 0
            found = DATABASES["nano"].rows(path, 0)
            read = [next(found)]
            print(file=bot.stdin, flush=True)
            assert bot.stdout.readline() == "rewritten\n"

            read += found

            assert bot.poll() is None
        assert [number for _, number in read] == [*range(1, rows + 1)]

    def test_a_copy_with_its_log(
        self, run: Run, c4: tuple[Path, sqlite3.Connection], tmp_path: Path
    ) -> None:
        path, _ = c4
        copy = tmp_path / "copy"
        copy.mkdir()
        for name in ("c4.db", "c4.db-wal"):
            shutil.copy(path.with_name(name), copy / name)
        before = listing(copy)

        assert run("transcript", "import", "c4", str(copy)).out.startswith("kept 4")

        assert listing(copy) == before

    @pytest.mark.parametrize("wal", [True, False], ids=["wal", "journal"])
    def test_when_the_bot_has_ended(self, run: Run, tmp_path: Path, wal: bool) -> None:
        run("init")
        folder = tmp_path / "bridge"
        folder.mkdir()
        with closing(make(folder / "c4.db", C4, wal=wal)) as connection:
            say(connection, *SPOKEN)
        before = listing(folder)
        assert list(before) == ["c4.db"]

        assert run("transcript", "import", "c4", str(folder)).out.startswith("kept 4")

        assert listing(folder) == before


class TestNano:
    def test_rows_that_take_the_numbers_of_deleted_ones_are_read(
        self, run: Run, tmp_path: Path
    ) -> None:
        assert run("init").code == 0
        path, count = tmp_path / "messages.db", iter(range(99))

        def come(connection: sqlite3.Connection, number: int) -> int:
            """Let so many messages come; how many of them an import keeps."""
            for each in (next(count) for _ in range(number)):
                row = (f"m{each}", "c", "ada", "Ada", f"word {each}", "2026-02-01T09:00:00Z", 0)
                connection.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            done = run("transcript", "import", "nano", str(path), "--json").document["added"]
            assert isinstance(done, int)
            return done

        with closing(make(path, NANO, wal=True)) as connection:
            assert come(connection, 15) == 15
            connection.execute("DELETE FROM messages WHERE rowid > 5")
            assert [come(connection, 3), come(connection, 3)] == [3, 3]
            connection.execute("DELETE FROM messages WHERE rowid > 5")
            assert come(connection, 20) == 20, "another row has the number that was reached"
            assert come(connection, 0) == 0

    def test_messages_of_each_chat(self, run: Run, tmp_path: Path) -> None:
        run("init")
        (tmp_path / "nano" / "store").mkdir(parents=True)
        with closing(make(tmp_path / "nano" / "store" / "messages.db", NANO)) as connection:
            connection.executemany(
                "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    ("1", "a@g.us", "49@s", "Ada", "Hi", "2026-02-01T09:00:00.000Z", 0),
                    ("2", "a@g.us", "bot", None, "Hello Ada", "2026-02-01T09:00:05.000Z", 1),
                    ("1", "b@g.us", "50@s", "", "Other room", "2026-02-01T09:01:00.000Z", 0),
                    ("3", "a@g.us", "49@s", "Ada", None, "2026-02-01T09:02:00.000Z", 0),
                    ("4", "a@g.us", "49@s", "Ada", "When?", "yesterday", 0),
                ],
            )

        done = run("transcript", "import", "nano", str(tmp_path / "nano"))
        again = run("transcript", "import", "nano", str(tmp_path / "nano"), "--json").document

        assert done.out == (
            "kept 3 messages from 1 file\n"
            "  1 row passed over: no text\n  1 row passed over: unreadable\n"
        )
        assert again["added"] == 0
        assert run("transcript", "show", "a@g.us").out == (
            "[1] 2026-02-01 09:00 Ada: Hi\n[2] 2026-02-01 09:00 assistant: Hello Ada\n"
        )
        assert "50@s: Other room" in run("transcript", "show", "b@g.us").out


def nano(path: Path, wal: bool = False) -> sqlite3.Connection:
    """A database of nano with the messages m0 to m5 in three chats."""
    connection = make(path, NANO, wal)
    come(connection, *range(6))
    return connection


def come(connection: sqlite3.Connection, *numbers: int) -> None:
    for each in numbers:
        row = (f"m{each}", f"{each % 3}@g.us", "ada", "Ada", f"word {each}", AT, 0)
        connection.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)", row)


AT = "2026-02-01T09:00:00Z"


class TestOnFromWhereItWasLeft:
    @pytest.mark.parametrize("wal", [True, False], ids=["wal", "journal"])
    def test_only_new_rows_are_read(self, run: Run, tmp_path: Path, wal: bool) -> None:
        """The first page of a database changes with every write: it says nothing about rows."""
        run("init")
        path = tmp_path / "messages.db"
        nano(path, wal).close()
        command = ("transcript", "import", "nano", str(path), "--json")
        assert run(*command).document["added"] == 6
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            come(connection, 6, 7)

        done = run(*command).document

        assert (done["added"], done["known"]) == (2, 0)

    def test_another_database_in_its_place_is_read_from_the_beginning(
        self, run: Run, tmp_path: Path
    ) -> None:
        run("init")
        path = tmp_path / "messages.db"
        nano(path).close()
        run("transcript", "import", "nano", str(path))
        other = tmp_path / "other.db"
        with closing(make(other, NANO)) as connection:
            come(connection, *range(10, 20))
        path.write_bytes(other.read_bytes())

        assert run("transcript", "import", "nano", str(path), "--json").document["added"] == 10


class TestChats:
    def imported(self, run: Run, path: Path, *chats: str) -> dict[str, object]:
        options = [word for each in chats for word in ("--chat", each)]
        return run("transcript", "import", "nano", str(path), "--json", *options).document

    def test_only_messages_of_the_chats_that_were_named_come(
        self, run: Run, tmp_path: Path
    ) -> None:
        run("init")
        path = tmp_path / "messages.db"
        with closing(nano(path)) as connection:
            done = run("transcript", "import", "nano", str(path), "--chat", "0@g.us")
            come(connection, 6, 7)
            again = self.imported(run, path, "0@g.us")

        assert done.out == "kept 2 messages from 1 file\n  4 of other chats\n"
        assert [again[each] for each in ("added", "known", "others")] == [1, 0, 1]
        listed = run("transcript", "list", "--json").document["chats"]
        assert [each["chat"] for each in listed] == ["0@g.us"]  # type: ignore[attr-defined]

    def test_what_was_left_out_comes_when_it_is_asked_for(self, run: Run, tmp_path: Path) -> None:
        run("init")
        path = tmp_path / "messages.db"
        nano(path).close()

        assert self.imported(run, path, "0@g.us")["added"] == 2
        assert self.imported(run, path, "2@g.us", "1@g.us")["added"] == 4
        assert self.imported(run, path, "1@g.us", "2@g.us")["unchanged"] == 1
        assert self.imported(run, path)["added"] == 0

    def test_a_chat_that_is_nowhere_is_named(self, run: Run, tmp_path: Path) -> None:
        run("init")
        path = tmp_path / "messages.db"
        nano(path).close()
        command = ("transcript", "import", "nano", str(path), "--chat", "0@g.us")

        done = run(*command, "--chat", "9@g.us")
        again = run(*command)

        assert (done.code, done.out.splitlines()[0]) == (0, "kept 2 messages from 1 file")
        assert (
            "no messages in a chat '9@g.us'; chats there: '0@g.us', '1@g.us', '2@g.us'" in done.err
        )
        assert "no messages" not in again.err

    def test_a_chat_may_be_named_as_the_list_shows_it(self, run: Run, tmp_path: Path) -> None:
        run("init")
        path, chat = tmp_path / "messages.db", narrow()["npm-token"][0]
        with closing(nano(path)) as connection:
            connection.execute("UPDATE messages SET chat_jid = ? WHERE id = 'm1'", (chat,))
        assert self.imported(run, path, chat)["added"] == 1
        [shown] = run("transcript", "list", "--json").document["chats"]  # type: ignore[misc]

        assert self.imported(run, path, shown["chat"])["known"] == 1

    def test_checkpoints_of_c4_close_what_came(
        self, run: Run, c4: tuple[Path, sqlite3.Connection]
    ) -> None:
        path, connection = c4
        summarise(connection, 1, 4, "All of it")

        done = run("transcript", "import", "c4", str(path), "--chat", "telegram:42", "--json")

        assert (done.document["added"], done.document["summarised"]) == (2, 2)


class TestMistakes:
    def test_each_says_what_to_do(self, run: Run, tmp_path: Path) -> None:
        run("init")
        make(tmp_path / "nano.db", NANO).close()
        make(tmp_path / "other.db", "CREATE TABLE conversations (id TEXT, json TEXT);").close()
        (tmp_path / "text.db").write_text("no database\n")
        (tmp_path / "cut.db").write_bytes((tmp_path / "nano.db").read_bytes()[:5000])
        for name, said in (
            ("none.db", "none.db: No such file"),
            ("text.db", "is not a SQLite database"),
            ("nano.db", "run `gitmem transcript import nano "),
            ("other.db", "has no conversations of C4"),
            ("cut.db", "failed: "),
        ):
            done = run("transcript", "import", "c4", str(tmp_path / name))

            assert (done.code, said in done.err) == (3, True), (name, done.err)

    def test_a_database_that_is_locked_loses_nothing(self, run: Run, tmp_path: Path) -> None:
        run("init")
        with closing(make(tmp_path / "c4.db", C4)) as connection:
            say(connection, *SPOKEN)
            connection.execute("BEGIN EXCLUSIVE")
            busy = run("transcript", "import", "c4", str(tmp_path / "c4.db"))
            connection.execute("COMMIT")

        assert (busy.code, "is locked" in busy.err) == (3, True)
        assert run("transcript", "import", "c4", str(tmp_path)).out.startswith("kept 4")
