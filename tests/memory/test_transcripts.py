"""What was said is kept once, handed out to one at a time, and summarised exactly once."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.errors import BadInput, Damaged, GroupRefused, NotFound, SecretFound, TooBig
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.log import log
from gitmem.memory.recover.undo import undo
from gitmem.memory.search.search import search
from gitmem.memory.transcripts.add import NewMessage, TranscriptAdded, transcript_add
from gitmem.memory.transcripts.checkpoint import (
    StaleToken,
    TranscriptCheckpointed,
    transcript_checkpoint,
)
from gitmem.memory.transcripts.pending import (
    SyncInFlight,
    TranscriptPending,
    transcript_pending,
)
from gitmem.memory.transcripts.prune import transcript_prune
from gitmem.memory.transcripts.status import transcript_list, transcript_show, transcript_status
from gitmem.memory.transcripts.transcripts import NAME
from gitmem.memory.upkeep.maintain import maintain
from gitmem.memory.write.write import Edit, write
from gitmem.model.transcripts.batches import REF
from gitmem.store import fault_points
from tests.support.clocks import Clock
from tests.support.git import git
from tests.support.histories import by_hand, edit, put, reopened, truncate
from tests.support.samples import UPPER, body

KEY = "AKIA" + body(UPPER, 16, 7)
"""A process that is none: no Linux gives out such a number."""


def say(group: Group, *texts: str, chat: str = "c", sender: str = "Ada") -> TranscriptAdded:
    return transcript_add(group, [NewMessage(chat, sender, text) for text in texts])


def texts(found: TranscriptPending) -> list[str]:
    return [each.text for each in found.messages]


def close(group: Group, summary: str = "they talked", **options: str) -> TranscriptCheckpointed:
    return transcript_checkpoint(group, summary, **options)  # type: ignore[arg-type]


def damaged(group: Group, at: int) -> Callable[[], None]:
    """Damage a file of the line, by its place among them; gives a way to heal it."""
    rows = git(group.gitdir, "ls-tree", "-r", REF).splitlines()
    oid = rows[at].split()[2]
    place = Path(group.repository.objects.loose_path(oid))
    sound = place.read_bytes()
    truncate(group.repository, oid)
    (group.gitdir / "gitmem" / NAME).unlink(missing_ok=True)  # which knows it still

    def heal() -> None:
        os.chmod(place, 0o600)
        place.write_bytes(sound)

    return heal


def as_session(group: Group, session: str) -> Group:
    """The same group, for another session."""
    return Group(group.store, group.name, who=Who("bob", session), now=group.now)


class TestAdding:
    def test_messages_are_one_commit_on_a_ref_of_their_own(self, group: Group) -> None:
        before = git(group.gitdir, "rev-parse", "main")

        added = say(group, "One.", "Two.")

        assert (added.added, added.first, added.last) == (2, 1, 2)
        refs = git(group.gitdir, "for-each-ref", "--format=%(refname) %(objectname)").split("\n")
        # No branch and no tag: a push or a clone of memory leaves conversations out.
        assert [each for each in refs if added.commit in each] == [
            f"refs/gitmem/transcripts {added.commit}"
        ]
        assert git(group.gitdir, "rev-parse", "main") == before
        assert git(group.worktree, "status", "--porcelain") == ""
        said = git(group.gitdir, "log", "-1", "--format=%an %s", REF).strip()
        assert said == "ada transcript: 2 messages in c"
        assert git(group.gitdir, "fsck", "--strict") == ""

    def test_what_is_kept_can_be_read_with_plain_git(self, group: Group) -> None:
        transcript_add(
            group,
            [
                NewMessage(
                    "c", "Ada", "Héron\nand more", datetime(2026, 1, 2, 3, 4, tzinfo=UTC), "7"
                )
            ],
        )

        path = git(group.gitdir, "ls-tree", "-r", "--name-only", REF).strip()

        assert path == "2026-02-08/12/0000000001.jsonl"
        assert git(group.gitdir, "show", f"{REF}:{path}") == (
            '{"n": 1, "id": "7", "chat": "c", "from": "Ada", "at": "2026-01-02T03:04:00+00:00", '
            '"text": "Héron\\nand more"}\n'
        )

    def test_an_id_is_taken_in_once_for_each_chat(self, group: Group) -> None:
        rows = [NewMessage("a", "Ada", "one", None, "1"), NewMessage("b", "Ada", "two", None, "1")]
        first = transcript_add(group, rows)
        again = transcript_add(group, [*rows, NewMessage("a", "Ada", "three", None, "2")])
        both = transcript_add(group, [NewMessage("a", "x", "four", None, "4")] * 3)

        assert (first.added, first.known) == (2, 0)
        assert (again.added, again.known, again.first) == (1, 2, 3)
        assert (both.added, both.known) == (1, 2)
        nothing = transcript_add(group, rows)
        assert (nothing.added, nothing.known, nothing.commit) == (0, 2, both.commit)

    def test_a_uuid_is_the_same_in_whatever_chat_it_comes(self, group: Group) -> None:
        """A session that goes on from another one has a copy of what was said there."""
        uuid = "0199a1b2-0000-7000-8000-00000000abcd"
        transcript_add(group, [NewMessage("first", "Ada", "text", None, uuid)])

        again = transcript_add(group, [NewMessage("second", "Ada", "text", None, uuid)])

        assert (again.added, again.known) == (0, 1)

    def test_messages_without_an_id_are_never_taken_for_each_other(self, group: Group) -> None:
        say(group, "ok", "ok")
        say(group, "ok")

        assert transcript_list(group).chats[0].messages == 3

    def test_credentials_are_blanked_out_and_counted(self, group: Group) -> None:
        added = say(group, f"use {KEY} for it", "nothing here")

        assert added.redacted == 1
        assert transcript_show(group, "c").messages[0].text == "use [redacted: aws-key-id] for it"

    def test_credentials_of_what_is_known_are_not_counted_again(self, group: Group) -> None:
        known = NewMessage("c", "Ada", f"use {KEY} for it", None, "1")
        assert transcript_add(group, [known]).redacted == 1

        again = transcript_add(group, [known, NewMessage("c", "Ada", "nothing here", None, "2")])

        assert (again.added, again.known, again.redacted) == (1, 1, 0)
        assert transcript_add(group, [known], dry_run=True).redacted == 0

    @pytest.mark.parametrize(
        ("message", "why"),
        [
            (NewMessage("", "Ada", "x"), "'chat' is empty"),
            (NewMessage("c", " ", "x"), "'from' is empty"),
            (NewMessage("c", "Ada", " \n"), "the text is empty"),
            (NewMessage("c" * 300, "Ada", "x"), "'chat' has 300 characters"),
            (NewMessage("c", "Ada", "x", datetime(1, 1, 1, tzinfo=UTC)), "invalid year 1"),
            (NewMessage("c", "Ada", "x", datetime(9999, 12, 31, tzinfo=UTC)), "invalid year 9999"),
            (NewMessage("c", "Ada", "x", None, "i" * 300), "'id' has 300 characters"),
        ],
    )
    def test_what_makes_no_sense_is_refused_and_nothing_of_it_kept(
        self, group: Group, message: NewMessage, why: str
    ) -> None:
        with pytest.raises(BadInput, match=why):
            transcript_add(group, [NewMessage("c", "Ada", "fine"), message])
        assert transcript_list(group).chats == ()

    def test_a_text_that_is_too_big_is_refused(self, group: Group) -> None:
        with pytest.raises(TooBig):
            say(group, "x" * (1024 * 1024 + 1))

    def test_nothing_is_no_message(self, group: Group) -> None:
        with pytest.raises(BadInput):
            transcript_add(group, [])

    def test_many_messages_are_batches_that_are_read_fast(self, group: Group) -> None:
        say(group, *(f"message {n}" for n in range(450)))
        say(group, *("x" * 60_000 for _ in range(6)))

        sizes = git(group.gitdir, "ls-tree", "-r", "-l", REF).splitlines()

        assert len(sizes) == 5
        assert transcript_list(group).chats[0].messages == 456

    def test_numbers_grow_in_the_order_in_which_messages_come(
        self, group: Group, clock: Clock
    ) -> None:
        say(group, "one")
        clock.set("2025-01-01T00:00:00Z")  # a clock that runs back must not mix them up
        say(group, "two")
        clock.set("2027-01-01T00:00:00Z")
        added = say(group, "three")

        assert texts(transcript_pending(group)) == ["one", "two", "three"]
        assert added.first == 3

    def test_another_group_may_not_add(self, group: Group, store: Store, clock: Clock) -> None:
        init(store, "global", now=clock)
        reader = Group(store, "global", acting="theirs", now=clock)
        for act in (
            lambda: say(reader, "x"),
            lambda: transcript_pending(reader),
            lambda: close(reader),
            lambda: transcript_prune(reader, "2030-01-01"),
        ):
            with pytest.raises(GroupRefused):
                act()
        reader.close()


class TestReading:
    def test_chats_are_listed_the_last_one_first(self, group: Group) -> None:
        rows = ((1, "a", "Ada"), (3, "b", "Bob"), (2, "a", "Carla"), (2, "a", "Ada"))
        for day, chat, sender in rows:
            at = datetime(2026, 1, day, 12, tzinfo=UTC)
            transcript_add(group, [NewMessage(chat, sender, "text", at)])

        b, a = transcript_list(group).chats

        assert (b.chat, b.messages, b.senders) == ("b", 1, ("Bob",))
        assert (a.chat, a.messages, a.first, a.last, a.senders) == ("a", 3, 1, 4, ("Ada", "Carla"))
        assert (f"{a.since.date()}", f"{a.until.date()}") == ("2026-01-01", "2026-01-02")

    def test_the_last_messages_of_a_chat(self, group: Group) -> None:
        say(group, "one", "two", "three")
        say(group, "other", chat="d")

        shown = transcript_show(group, "c", last=2)

        assert [each.text for each in shown.messages] == ["two", "three"]
        assert shown.total == 3
        with pytest.raises(NotFound, match="'cc'") as caught:
            transcript_show(group, "cc")
        assert "did you mean c?" in caught.value.hint

    def test_the_last_messages_are_those_that_were_said_last(self, group: Group) -> None:
        for day, text in ((5, "five"), (6, "six"), (1, "one"), (2, "two"), (6, "six again")):
            at = datetime(2026, 1, day, tzinfo=UTC)
            transcript_add(group, [NewMessage("c", "Ada", text, at)])

        shown = [each.text for each in transcript_show(group, "c").messages]
        last = [each.text for each in transcript_show(group, "c", last=3).messages]

        assert shown == ["one", "two", "five", "six", "six again"]
        assert last == ["five", "six", "six again"]

    def test_before_anything_was_said_there_is_nothing(self, group: Group) -> None:
        assert transcript_list(group).chats == ()
        assert transcript_pending(group).messages == ()
        status = transcript_status(group)
        assert (status.messages, status.pending, status.action) == (0, 0, "")
        with pytest.raises(NotFound):
            transcript_show(group, "c")

    def test_a_damaged_batch_hides_no_other_and_comes_back_when_healed(self, group: Group) -> None:
        say(group, "a heron")
        say(group, "a stork")
        heal = damaged(group, 0)

        assert texts(transcript_pending(group)) == ["a stork"]
        assert transcript_status(group).unreadable

        heal()
        assert not transcript_status(group).unreadable
        close(group)
        assert texts(transcript_pending(group)) == ["a heron"]

    def test_what_is_damaged_hides_no_memory(self, group: Group) -> None:
        say(group, "a heron")
        put(group, "notes/x.md", "The heron.\n")
        truncate(group.repository, git(group.gitdir, "rev-parse", f"{REF}^{{tree}}").strip())

        found = search(group, "heron")

        assert [each.source for each in found.hits] == ["memory"]
        assert "cannot read the transcripts of main" in found.notes[0]

    def test_an_id_that_came_again_while_it_could_not_be_read_counts_once(
        self, group: Group
    ) -> None:
        transcript_add(group, [NewMessage("c", "Ada", "a heron", None, "1")])
        transcript_add(group, [NewMessage("c", "Ada", "a stork", None, "2")])
        heal = damaged(group, 0)
        assert transcript_add(group, [NewMessage("c", "Ada", "a heron", None, "1")]).added == 1
        heal()

        found = transcript_show(group, "c").messages

        assert [each.id for each in found] == ["1", "2"]
        assert [each.id for each in transcript_pending(group).messages] == ["1", "2"]

    def test_what_was_dropped_may_be_forgotten_but_nothing_else(self, group: Group) -> None:
        say(group, "a heron")
        transcript_pending(group)
        close(group)
        transcript_prune(group, "2027-01-01")
        say(group, "a stork")
        damaged(group, -1)

        assert [each.text for each in transcript_show(group, "c").messages] == ["a stork"]
        assert texts(transcript_pending(group)) == ["a stork"]

    def test_a_range_whose_messages_cannot_be_read_stays_open(self, group: Group) -> None:
        say(group, "a heron")
        transcript_pending(group)
        heal = damaged(group, 0)

        with pytest.raises(Damaged, match="stays open"):
            close(group)
        heal()

        assert close(group).messages == 1

    def test_nothing_is_read_again_as_long_as_nothing_is_healed(self, group: Group) -> None:
        for count in range(5):
            say(group, f"heron {count}")
        damaged(group, 2)
        transcript_status(group)
        read = group.repository.objects.read_as
        asked: list[str] = []

        def counting(kind: str, oid: str) -> bytes:
            asked.extend([oid] if kind == "blob" else [])
            return read(kind, oid)

        group.repository.objects.read_as = counting  # type: ignore[method-assign]
        assert transcript_list(group).chats[0].messages == 4
        assert len(asked) == 1, "the damaged one, and no other"

    def test_a_chat_is_found_by_the_name_that_it_had_and_by_the_one_it_has(
        self, group: Group
    ) -> None:
        say(group, "a heron", chat="a\u202eb")
        kept = transcript_list(group).chats[0].chat

        assert kept != "a\u202eb"
        for name in ("a\u202eb", kept):
            assert transcript_show(group, name).total == 1
            assert texts(transcript_pending(group, chat=name, take_over=True)) == ["a heron"]

    @pytest.mark.parametrize(
        "name",
        [
            *("a\tb", "a\nb", "a\rb", "a\x85b", "a\u2028b", "\ufeffa", "a\u200bb", "a\u202eb"),
            *("a\\u{0041}b", " a ", "a\xa0", f"key {KEY}", f"{KEY}\t{KEY}"),
        ],
    )
    def test_a_range_of_any_chat_is_handed_out_once_and_closed(
        self, group: Group, name: str
    ) -> None:
        say(group, "a heron", chat=name)
        say(group, "a stork", chat="d")
        other = as_session(group, "s-2")

        found = transcript_pending(group, chat=name)

        assert (texts(found), found.known) == (["a heron"], True)
        with pytest.raises(SyncInFlight):
            transcript_pending(other, chat=name)
        done = close(group)
        assert (done.messages, done.chat) == (1, transcript_show(group, name).chat)
        assert texts(transcript_pending(other)) == ["a stork"]
        assert transcript_pending(other, chat=done.chat).messages == ()
        other.close()

    def test_two_chats_with_credentials_in_their_names_are_two(self, group: Group) -> None:
        names = [f"support {KEY}", "support AKIA" + body(UPPER, 16, 8)]
        for name in names:
            added = transcript_add(
                group, [NewMessage(name, "Ada", f"said in {names.index(name)}", None, "1")]
            )
            assert (added.added, added.redacted) == (1, 1)
            again = transcript_add(group, [NewMessage(name, "Ada", "x", None, "1")])
            assert again.known == 1

        kept = [each.chat for each in transcript_list(group).chats]

        assert len(set(kept)) == 2
        assert not any("AKIA" in each for each in kept)
        for number, name in enumerate(names):
            (message,) = transcript_show(group, name).messages
            assert message.text == f"said in {number}"
            assert transcript_show(group, message.chat).messages == (message,)
            assert say(group, "more", chat=message.chat).added
            assert transcript_show(group, name).total == 2

    def test_an_error_repeats_no_credential(self, group: Group) -> None:
        say(group, "one")
        with pytest.raises(NotFound) as caught:
            transcript_show(group, f"chat {KEY}")
        assert KEY not in str(caught.value.message) + repr(caught.value.facts)
        assert KEY not in transcript_pending(group, chat=KEY).chat

    def test_a_number_is_not_given_twice_though_the_ref_is_removed(self, group: Group) -> None:
        say(group, "one", "two", "three")
        transcript_pending(group)
        close(group)
        git(group.gitdir, "update-ref", "-d", REF)

        added = say(reopened(group), "four")

        assert (added.first, added.last) == (4, 4)
        assert texts(transcript_pending(group)) == ["four"]


class TestPending:
    def test_what_is_not_summarised_is_handed_out_with_its_range(self, group: Group) -> None:
        say(group, "one", "two")
        say(group, "three", chat="d")

        found = transcript_pending(group)

        assert (found.begin, found.end, found.pending, found.more) == (1, 3, 3, 0)
        assert texts(found) == ["one", "two", "three"]
        assert found.token
        assert found.action == ""

    def test_over_the_threshold_an_agent_is_asked_to_act(self, group: Group) -> None:
        say(group, *map(str, range(30)))
        assert transcript_pending(group).action == ""
        say(group, "one too many")

        assert (
            transcript_pending(group).action
            == transcript_status(group).action
            == (
                "[Action Required] There are 31 unsummarized conversations. "
                "Please invoke /gitmem-memory to process them."
            )
        )
        put(group, "gitmem.yaml", "gitmem: 1\ntranscripts: {threshold: 31}\n")
        assert transcript_status(group).action == ""
        assert transcript_status(group).threshold == 31

    def test_a_checkpoint_closes_exactly_that_range(self, group: Group) -> None:
        say(group, "one", "two")
        found = transcript_pending(group)
        say(group, "came in between")

        done = close(group, "They counted.\n\nTo two.")

        assert (done.begin, done.end, done.messages) == (1, 2, 2)
        assert texts(transcript_pending(group)) == ["came in between"]
        (entry,) = log(group, op="checkpoint")
        assert entry.commit == done.commit == group.repository.tip()
        assert entry.title == "2 messages: They counted."
        assert entry.reason == "They counted.\n\nTo two."
        assert entry.paths == ()
        message = git(group.gitdir, "log", "-1", "--format=%B")
        assert "Gitmem-Range: 1-2" in message
        assert f"Gitmem-Id: {found.token}" in message

    def test_of_one_chat_alone(self, group: Group) -> None:
        say(group, "a1", chat="a")
        say(group, "b1", chat="b")
        say(group, "a2", chat="a")

        found = transcript_pending(group, chat="a")
        assert texts(found) == ["a1", "a2"]
        close(group)

        assert texts(transcript_pending(group)) == ["b1"]
        assert transcript_pending(group, chat="a").messages == ()

    def test_what_others_have_summarised_in_between_is_not_part_of_it(self, group: Group) -> None:
        say(group, "a1", chat="a")
        say(group, "b1", chat="b")
        say(group, "a2", chat="a")
        transcript_pending(group, chat="b")
        of_b = close(group)
        transcript_pending(group)
        close(group)

        assert "Gitmem-Range: 1-1,3-3" in git(group.gitdir, "log", "-1", "--format=%B")
        undo(group, [of_b.commit])
        assert texts(transcript_pending(group)) == ["b1"]

    def test_a_long_range_is_handed_out_in_parts(self, group: Group) -> None:
        say(group, *("x" * 100 for _ in range(10)))

        first = transcript_pending(group, chars=350)
        assert (first.begin, first.end, first.more) == (1, 3, 7)
        close(group)
        second = transcript_pending(group, chars=10)

        assert (second.begin, second.end, second.more) == (4, 4, 6)
        close(group)
        assert transcript_pending(group, chars=0).end == 10

    def test_a_crash_before_the_checkpoint_gives_the_same_range_again(self, group: Group) -> None:
        say(group, "one")
        first = transcript_pending(group)
        say(group, "two")

        again = transcript_pending(group)

        assert (again.begin, again.end, again.more) == (first.begin, first.end, 1)
        assert texts(again) == ["one"]
        assert again.token != first.token
        with pytest.raises(StaleToken):
            close(group, token=first.token)
        assert close(group, token=again.token).end == 1
        assert texts(transcript_pending(group)) == ["two"]

    def test_nothing_is_closed_that_was_not_handed_out(self, group: Group) -> None:
        say(group, "one")

        with pytest.raises(StaleToken, match="no range is handed out"):
            close(group)
        with pytest.raises(StaleToken):
            close(group, token="0123456789abcdef")
        transcript_pending(group)
        close(group)
        with pytest.raises(StaleToken):
            close(group, "again")

    def test_a_retry_with_the_same_token_is_recognised(self, group: Group) -> None:
        say(group, "one")
        token = transcript_pending(group).token
        done = close(group, "They met.", token=token)

        again = close(group, "They met.", token=token)

        assert again == done._replace(recognised=True)
        with pytest.raises(StaleToken, match="closed its range already"):
            close(group, "They never met.", token=token)
        assert len(log(group, op="checkpoint")) == 1

    def test_a_token_that_is_the_id_of_something_else_is_none(self, group: Group) -> None:
        say(group, "one")
        transcript_pending(group)
        written = write(group, [Edit("a.md", "x\n")], operation="0123456789abcdef")

        with pytest.raises(StaleToken, match="unknown token") as caught:
            close(group, token="0123456789abcdef")
        assert written.commit[:10] not in caught.value.message

    def test_a_token_whose_checkpoint_was_taken_back_is_stale(self, group: Group) -> None:
        say(group, "one")
        token = transcript_pending(group).token
        close(group, "They met.", token=token)
        undo(group)

        with pytest.raises(StaleToken, match="is open again"):
            close(group, "They met.", token=token)

    def test_a_summary_is_needed_and_holds_no_credential(self, group: Group) -> None:
        say(group, "one")
        transcript_pending(group)

        with pytest.raises(BadInput, match="the summary is empty"):
            close(group, " ")
        with pytest.raises(SecretFound, match="the summary holds"):
            close(group, "the key is " + KEY)


class TestLeases:
    def test_a_second_session_is_told_that_one_is_in_flight(self, group: Group) -> None:
        say(group, "one")
        first = transcript_pending(group)
        other = as_session(group, "s-2")

        with pytest.raises(SyncInFlight, match=r"\(session s-1\) has the range 1-1") as caught:
            transcript_pending(other)
        assert "take_over=True" in caught.value.hint
        with pytest.raises(StaleToken, match=r"\(session s-1\) holds the range"):
            close(other)

        taken = transcript_pending(other, take_over=True)
        assert texts(taken) == ["one"]
        with pytest.raises(StaleToken):
            close(group, token=first.token)
        close(other, token=taken.token)
        other.close()

    def test_after_half_an_hour_it_is_handed_out_again(self, group: Group, clock: Clock) -> None:
        say(group, "one")
        transcript_pending(group)
        other = as_session(group, "s-2")
        clock.advance(minutes=29)
        with pytest.raises(SyncInFlight):
            transcript_pending(other)

        clock.advance(minutes=1)

        assert texts(transcript_pending(other)) == ["one"]
        other.close()

    @pytest.mark.parametrize(
        "other", [Who("y", "s"), Who("x", "t"), Who("x")], ids=["agent", "session", "no session"]
    )
    def test_another_agent_or_session_is_another_holder(
        self, group: Group, store: Store, clock: Clock, other: Who
    ) -> None:
        say(group, "one")
        with closing(Group(store, "main", who=Who("x", "s"), now=clock)) as holder:
            transcript_pending(holder)
            with closing(Group(store, "main", who=other, now=clock)) as second:
                with pytest.raises(SyncInFlight, match=r"x \(session s\) has the range 1-1"):
                    transcript_pending(second)
                with pytest.raises(StaleToken, match=r"x \(session s\) holds the range"):
                    close(second)
            assert close(holder).end == 1

    def test_without_a_session_the_name_of_the_agent_counts(
        self, group: Group, store: Store, clock: Clock
    ) -> None:
        say(group, "one")
        with (
            closing(Group(store, "main", who=Who("x"), now=clock)) as first,
            closing(Group(store, "main", who=Who("x"), now=clock)) as again,
            closing(Group(store, "main", who=Who("y"), now=clock)) as other,
        ):
            transcript_pending(first)
            with pytest.raises(SyncInFlight, match="x has the range 1-1"):
                transcript_pending(other)
            assert texts(transcript_pending(again)) == ["one"]
            assert close(first).end == 1

    def test_a_lease_of_an_earlier_release_has_its_holder(self, group: Group) -> None:
        """It names the process that asked, too."""
        say(group, "one")
        transcript_pending(group)
        path = group.gitdir / "gitmem" / "sync"
        process = {"pid": 1, "started": "1", "place": "elsewhere", "through": ""}
        path.write_text(json.dumps(json.loads(path.read_text()) | process))
        other = as_session(group, "s-2")

        with pytest.raises(SyncInFlight):
            transcript_pending(other)
        assert close(group).end == 1
        other.close()

    def test_a_range_that_is_closed_is_in_nobodys_way(self, group: Group) -> None:
        """The process died between the commit and forgetting the lease."""
        say(group, "one")
        transcript_pending(group)
        lease = (group.gitdir / "gitmem" / "sync").read_bytes()
        close(group)
        say(group, "two")
        (group.gitdir / "gitmem" / "sync").write_bytes(lease)
        other = as_session(group, "s-2")

        assert texts(transcript_pending(other)) == ["two"]
        other.close()

    @pytest.mark.parametrize("torn", [b"", b"{", b"[]", b'{"token": 1}'])
    def test_a_torn_lease_is_none(self, group: Group, torn: bytes) -> None:
        say(group, "one")
        (group.gitdir / "gitmem" / "sync").write_bytes(torn)

        assert texts(transcript_pending(group)) == ["one"]

    def test_status_tells_who_has_it(self, group: Group, clock: Clock) -> None:
        say(group, "one")
        assert transcript_status(group).in_flight is None
        transcript_pending(group)

        out = transcript_status(group).in_flight

        assert out is not None
        assert (out.begin, out.end, out.session, out.alive) == (1, 1, "s-1", True)
        clock.advance(minutes=30)
        late = transcript_status(group).in_flight
        assert late is not None
        assert not late.alive


class TestUndo:
    def test_undoing_a_memory_that_it_covers_opens_the_range_again(self, group: Group) -> None:
        say(group, "Ada likes tea", "and cake")
        transcript_pending(group)
        tea = put(group, "tea.md", "Ada likes tea\n")
        cake = put(group, "cake.md", "and cake\n")
        done = close(group)
        assert done.covers == (tea.commit, cake.commit)
        assert transcript_status(group).pending == 0

        assert undo(group, [cake.commit]).reopened == (done.commit,)

        status = transcript_status(group)
        assert (status.pending, status.reopened) == (2, (done.commit,))
        undo(group)  # the undo is taken back, so the summary counts again
        assert transcript_status(group).pending == 0

    def test_a_range_that_is_summarised_anew_is_open_no_more(self, group: Group) -> None:
        say(group, "Ada likes tea")
        transcript_pending(group)
        tea = put(group, "tea.md", "Ada likes tea\n")
        done = close(group)
        undo(group, [tea.commit])
        assert transcript_status(group).reopened == (done.commit,)
        transcript_pending(group)

        close(group, "Ada likes tea after all.")

        status = transcript_status(group)
        assert (status.pending, status.reopened) == (0, ())

    def test_undoing_the_checkpoint_opens_the_range_again(self, group: Group) -> None:
        say(group, "one")
        transcript_pending(group)
        done = close(group)

        taken_back = undo(group)

        assert taken_back.undone == taken_back.reopened == (done.commit,)
        assert transcript_status(group).pending == 1
        undo(group)
        assert transcript_status(group).pending == 0

    def test_undoing_a_part_of_what_it_covers_opens_the_range_again(self, group: Group) -> None:
        mine = as_session(group, "s")
        say(mine, "one")
        transcript_pending(mine)
        write(mine, [Edit("facts/a.md", "A heron.\n"), Edit("facts/b.md", "A stork.\n")])
        written = mine.repository.tip()
        close(mine)
        put(mine, "facts/a.md", "No heron at all.\n")

        done = undo(mine, [written])

        assert [each.path for each in done.left] == ["facts/a.md"]
        assert not (mine.worktree / "facts/b.md").exists()
        assert texts(transcript_pending(mine)) == ["one"]

    def test_what_others_wrote_meanwhile_is_not_covered(self, group: Group) -> None:
        say(group, "one")
        before = put(group, "before.md", "x\n")
        transcript_pending(group)
        other = as_session(group, "s-2")
        theirs = put(other, "theirs.md", "x\n")
        mine = put(group, "mine.md", "x\n")

        done = close(group)

        assert done.covers == (mine.commit,)
        undo(group, [theirs.commit])
        undo(group, [before.commit])
        assert transcript_status(group).pending == 0
        other.close()

    def test_what_it_covers_can_be_named(self, group: Group) -> None:
        say(group, "one")
        first = put(group, "a.md", "x\n")
        transcript_pending(group)
        put(group, "b.md", "x\n")

        done = transcript_checkpoint(group, "they met", covers=["HEAD~1"])

        assert done.covers == (first.commit,)

    def test_undoing_the_whole_session_opens_it(self, group: Group) -> None:
        say(group, "one")
        transcript_pending(group)
        put(group, "a.md", "x\n")
        close(group)

        undo(group, session="s-1")

        assert transcript_status(group).pending == 1

    def test_it_is_known_whatever_becomes_of_the_cache(self, group: Group) -> None:
        say(group, "one")
        transcript_pending(group)
        covered = put(group, "a.md", "x\n")
        close(group)
        say(group, "two")
        undo(group, [covered.commit])
        expected = transcript_status(group)

        (group.gitdir / "gitmem" / NAME).unlink()

        assert transcript_status(reopened(group)) == expected
        assert expected.pending == 2

    def test_a_checkpoint_leaves_every_file_as_it_is(self, group: Group) -> None:
        put(group, "a.md", "x\n")
        say(group, "one")
        transcript_pending(group)
        tree = git(group.gitdir, "rev-parse", "main^{tree}")

        close(group)

        assert git(group.gitdir, "rev-parse", "main^{tree}") == tree
        assert git(group.worktree, "status", "--porcelain") == ""
        assert git(group.gitdir, "fsck", "--strict") == ""


class TestCoveringAfterACrash:
    """What was written for a range before it was handed out again counts for it all the same."""

    @pytest.fixture
    def before(self, group: Group) -> str:
        """A commit that a session made for its range, before it crashed."""
        say(group, "Ada likes tea")
        transcript_pending(group)
        return put(group, "tea.md", "Ada likes tea\n").commit

    def test_the_same_session_asks_again(self, group: Group, before: str) -> None:
        transcript_pending(group)
        after = put(group, "cake.md", "and cake\n").commit

        assert close(group).covers == (before, after)
        undo(group, [before])
        assert transcript_status(group).pending == 1

    @pytest.mark.parametrize("minutes", [0, 30], ids=["taken over", "over"])
    def test_another_session_gets_it(
        self, group: Group, before: str, clock: Clock, minutes: int
    ) -> None:
        other = as_session(group, "s-2")
        clock.advance(minutes=minutes)
        transcript_pending(other, take_over=not minutes)
        after = put(other, "cake.md", "and cake\n").commit

        assert close(other).covers == (before, after)
        undo(other, [before])
        assert transcript_status(other).pending == 1
        other.close()

    def test_many_had_it(self, group: Group, before: str) -> None:
        sessions = [as_session(group, f"s-{number}") for number in (2, 3, 2)]
        commits = []
        for each in sessions:
            transcript_pending(each, take_over=True)
            commits.append(put(each, f"{len(commits)}.md", "x\n").commit)

        assert close(sessions[-1]).covers == (before, *commits)

    def test_half_an_hour_later(self, group: Group, before: str, clock: Clock) -> None:
        clock.advance(minutes=40)
        other = as_session(group, "s-2")
        transcript_pending(other)

        assert close(other).covers == (before,)
        other.close()

    def test_a_part_of_it_is_handed_out_by_its_chat(self, group: Group, before: str) -> None:
        other = as_session(group, "s-2")
        transcript_pending(other, chat="c", take_over=True)

        assert close(other).covers == (before,)
        other.close()

    def test_another_range_has_nothing_to_do_with_it(self, group: Group, before: str) -> None:
        say(group, "of something else", chat="d")
        other = as_session(group, "s-2")
        transcript_pending(other, chat="d", take_over=True)

        assert close(other).covers == ()
        other.close()


class TestCovering:
    def test_what_was_written_with_an_editor_is_covered(self, group: Group) -> None:
        put(group, "a.md", "one\n")
        say(group, "one")
        transcript_pending(group)
        edit(group, "a.md", "one\ntwo\n")
        edit(group, "b.md", "new\n")

        done = close(group)

        entries = log(group, limit=3)
        assert [each.op for each in entries] == ["checkpoint", "capture", "capture"]
        assert done.covers == tuple(each.commit for each in reversed(entries[1:]))
        undo(group, [done.covers[0]])
        assert transcript_status(group).pending == 1

    def test_what_cannot_be_captured_stops_no_checkpoint(self, group: Group) -> None:
        say(group, "one")
        transcript_pending(group)
        edit(group, "key.md", f"key {KEY}\n")
        edit(group, "fine.md", "x\n")
        (group.gitdir / "index").write_bytes(b"DIRC garbage")

        done = close(group)

        assert (done.messages, len(done.covers)) == (1, 1)
        assert log(group, limit=2)[1].paths == ("fine.md",)

    def test_only_what_is_on_the_branch_can_be_covered(self, group: Group) -> None:
        added = say(group, "one")
        transcript_pending(group)
        gone = by_hand(group, "commit-tree", "-m", "x", "HEAD^{tree}")

        for commit in (added.commit, gone):
            with pytest.raises(BadInput, match="is not on the branch"):
                transcript_checkpoint(group, "they met", covers=["HEAD", commit])
        assert transcript_status(group).pending == 1

    def test_where_the_branch_was_rewritten_only_what_is_newer_is_covered(
        self, group: Group, clock: Clock
    ) -> None:
        put(group, "old.md", "x\n")
        put(group, "base.md", "x\n")
        say(group, "one")
        clock.advance(minutes=5)
        transcript_pending(group)
        by_hand(group, "commit", "--amend", "-q", "--no-edit", at="2026-02-08T12:50:00Z")
        clock.advance(minutes=1)
        mine = put(group, "new.md", "x\n").commit

        assert close(group).covers == (mine,)

    def test_without_a_session_only_what_is_of_none_is_covered(
        self, group: Group, store: Store, clock: Clock
    ) -> None:
        nobody = Group(store, "main", who=Who("bob"), now=clock)
        named = as_session(group, "s-2")  # bob as well
        say(group, "one")
        transcript_pending(nobody)
        put(named, "theirs.md", "x\n")
        mine = put(nobody, "mine.md", "x\n").commit

        assert close(nobody).covers == (mine,)
        nobody.close()
        named.close()


class TestPruning:
    @pytest.fixture
    def said(self, group: Group, clock: Clock) -> Group:
        """Two old messages that are summarised, an old one that is not, and a new one."""
        say(group, "the old heron", "the old stork")
        transcript_pending(group)
        close(group)
        say(group, "old and pending")
        clock.advance(days=60)
        say(group, "new")
        return group

    def test_only_what_is_old_and_summarised_goes(self, said: Group) -> None:
        planned = transcript_prune(said, "2026-03-01", dry_run=True)
        assert transcript_list(said).chats[0].messages == 4

        done = transcript_prune(said, "2026-03-01")

        assert (done.batches, done.messages, done.kept_pending) == (1, 2, 1)
        assert planned == done._replace(commit=planned.commit, dry_run=True)
        shown = transcript_show(said, "c").messages
        assert [each.text for each in shown] == ["old and pending", "new"]
        assert search(said, "heron").hits == ()
        history = git(said.gitdir, "rev-list", "--count", REF).strip()
        assert history == "1"
        (line,) = (said.gitdir / "logs" / REF).read_text().splitlines()
        assert line.startswith(f"{'0' * 40} {done.commit} ")

    def test_memory_is_not_touched(self, said: Group) -> None:
        put(said, "a.md", "x\n")
        before = git(said.gitdir, "rev-list", "--objects", "main")

        transcript_prune(said, "2026-03-01")
        maintain(said)

        kept = git(said.gitdir, "rev-list", "--objects", before.split("\n", 1)[0].split()[0])
        assert kept == before
        assert git(said.gitdir, "fsck", "--strict", "--no-dangling") == ""

    def test_maintenance_removes_it_from_the_disk(self, said: Group) -> None:
        blobs = git(said.gitdir, "rev-list", "--objects", REF)
        transcript_prune(said, "2026-03-01")
        first = blobs.splitlines()[-1].split()[0]
        assert git(said.gitdir, "cat-file", "-t", first)

        outcome = {each.step: each.outcome for each in maintain(said).steps}

        assert outcome["forget"] == "done"
        left = git(said.gitdir, "cat-file", "--batch-all-objects", "--batch-check")
        assert first not in left
        assert {each.step: each.outcome for each in maintain(said).steps}["forget"] == "nothing"

    def test_what_an_interrupted_call_has_left_goes_as_well(self, said: Group) -> None:
        def die(step: str) -> None:
            if step == "objects":
                raise KeyboardInterrupt

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(fault_points, "reached", die)
            with pytest.raises(KeyboardInterrupt):
                say(said, "a word that nobody shall find")
        put(said, "notes/x.md", "kept\n")
        stray = said.repository.objects.write("blob", b"neither was this said, nor is it reached\n")
        transcript_prune(said, "2026-03-01")

        maintain(said)

        left = git(said.gitdir, "cat-file", "--batch-all-objects", "--batch")
        assert "a word that nobody shall find" not in left
        assert "neither was this said" in left, stray

    def test_what_went_is_not_taken_in_again_and_numbers_go_on(
        self, group: Group, clock: Clock
    ) -> None:
        old = NewMessage("c", "Ada", "old", None, "7")
        transcript_add(group, [old])
        transcript_pending(group)
        close(group)
        clock.advance(days=60)
        transcript_prune(group, "2026-03-01")

        again = transcript_add(group, [old, NewMessage("c", "Ada", "new", None, "8")])

        assert (again.added, again.known, again.first) == (1, 1, 2)
        clock.advance(days=60)
        transcript_pending(group)
        close(group)
        transcript_prune(group, "2026-06-01")
        assert transcript_add(group, [old]).known == 1

    def test_nothing_to_drop_changes_nothing(self, said: Group) -> None:
        tip = git(said.gitdir, "rev-parse", REF)

        done = transcript_prune(said, "2025-01-01")

        assert (done.messages, git(said.gitdir, "rev-parse", REF)) == (0, tip)
        with pytest.raises(BadInput, match="invalid date"):
            transcript_prune(said, "soon")
        assert transcript_prune(reopened(said), "2025-01-01").messages == 0

    def test_in_a_group_where_nothing_was_said(self, group: Group) -> None:
        assert transcript_prune(group, "2030-01-01").messages == 0

    def test_the_last_checkpoint_is_still_known(self, said: Group) -> None:
        transcript_prune(said, "2026-03-01")

        last = transcript_status(said).checkpoint

        assert last is not None
        assert (last.end, last.summary) == (2, "they talked")


def test_a_batch_of_writes_counts_as_one_commit(group: Group) -> None:
    say(group, "one")
    transcript_pending(group)
    written = write(group, [Edit("a.md", "x\n"), Edit("b.md", "y\n")])

    assert close(group).covers == (written.commit,)
