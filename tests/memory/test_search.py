"""Search finds what HEAD holds and what was said, the best first, however its index fares."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitmem.errors import BadInput
from gitmem.memory.admin.init import init
from gitmem.memory.context.inject import inject
from gitmem.memory.curate.archive import archive
from gitmem.memory.entries.freshness import freshness
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.recover.restore import restore
from gitmem.memory.recover.undo import undo
from gitmem.memory.search.passages import NAME
from gitmem.memory.search.search import Hit, Searched, search
from gitmem.memory.transcripts.add import NewMessage, transcript_add
from gitmem.memory.transcripts.checkpoint import transcript_checkpoint
from gitmem.memory.transcripts.pending import transcript_pending
from gitmem.memory.transcripts.prune import transcript_prune
from gitmem.memory.transcripts.transcripts import NAME as SAID
from gitmem.memory.upkeep.maintain import maintain
from gitmem.memory.write.move import move
from gitmem.memory.write.write import Edit, write
from gitmem.store.lock import Lock, lock_path
from tests.support.clocks import Clock
from tests.support.histories import by_hand, edit, put, reopened, truncate
from tests.support.moulds import Moulds


@pytest.fixture
def group(store: Store, clock: Clock, moulds: Moulds) -> Iterator[Group]:
    moulds.init(store, clock, layout="standard")
    opened = Group(store, "main", who=Who("ada"), now=clock)
    yield opened
    opened.close()


def paths(found: Searched) -> list[str]:
    return [each.path for each in found.hits]


def found_in(group: Group, query: str, **options: object) -> list[str]:
    return paths(search(group, query, source="memory", **options))  # type: ignore[arg-type]


def index_of(group: Group) -> Path:
    return group.gitdir / "gitmem" / NAME


def entry(group: Group, title: str, text: str, **fields: str) -> None:
    write(group, [Edit("decisions", text, entry=title, set=tuple(fields.items()))])


class TestAHit:
    def test_it_says_where_it_stands_how_fresh_it_is_and_by_which_commit(
        self, group: Group, clock: Clock
    ) -> None:
        entry(group, "Use ESM only", "The bundler drops CommonJS.", Importance="2")
        touched = group.repository.tip()
        clock.advance(days=10)
        put(group, "notes/other.md", "Something else.\n")

        (hit,) = search(group, "bundler").hits

        assert hit == Hit(
            source="memory",
            group="main",
            path="reference/decisions.md",
            address="reference/decisions.md#use-esm-only",
            heading="Decisions > Use ESM only",
            lines=(11, 15),
            text="### Use ESM only\n- **Date:** 2026-02-08\n- **Importance:** 2\n\n"
            "The bundler drops CommonJS.",
            score=hit.score,
            touched=hit.touched,
            state="aging",
            commit=touched,
            terms=("bundler",),
        )
        assert 0 < hit.score <= 1
        assert f"{hit.touched}".startswith("2026-02-08 12:00")

    def test_an_entry_says_its_type_and_what_it_is_related_to(self, group: Group) -> None:
        more = {"Type": "Strategic (so far)", "Related": "[Use ESM](decisions.md#use-esm), billing"}
        entry(group, "Drop the bundler", "The heron needs none.", **more)
        put(group, "notes/bird.md", "---\ntype: factual\n---\nThe heron is a bird.\n")
        put(group, "notes/plain.md", "A heron, too.\n")

        found = {each.path: each for each in search(group, "heron").hits}

        hit = found["reference/decisions.md"]
        assert (hit.type, hit.related) == ("strategic", ("decisions.md#use-esm", "billing"))
        assert (found["notes/bird.md"].type, found["notes/bird.md"].related) == ("factual", ())
        assert (found["notes/plain.md"].type, found["notes/plain.md"].related) == ("", ())

    def test_of_a_long_file_the_passage_comes_and_its_own_date(
        self, group: Group, clock: Clock
    ) -> None:
        text = "".join(f"## Part {n}\n\nAbout number {n}, at length.\n\n" for n in range(40))
        put(group, "long.md", text)
        clock.advance(days=3)
        changed = put(group, "long.md", text.replace("number 17,", "number 17 and the heron,"))

        (hit,) = search(group, "heron").hits

        assert hit.text == "## Part 17\n\nAbout number 17 and the heron, at length."
        assert (hit.lines, hit.commit, hit.state) == ((69, 71), changed.commit, "")
        assert f"{hit.touched}".startswith("2026-02-11")

    def test_what_was_said_has_its_chat_its_id_who_and_when(self, group: Group) -> None:
        said = datetime(2026, 2, 1, 9, 30, tzinfo=UTC)
        added = transcript_add(
            group, [NewMessage("telegram:1", "Ada", "The heron stands in the canal.", said, "17")]
        )

        (hit,) = search(group, "heron").hits

        assert (hit.source, hit.chat, hit.id, hit.from_) == (
            "transcript",
            "telegram:1",
            "17",
            "Ada",
        )
        assert (hit.at, hit.touched, hit.commit) == (said, said, added.commit)
        assert hit.text == "The heron stands in the canal."
        assert hit.address == "telegram:1#1"


class TestWhatIsFound:
    def test_the_group_and_global_together_and_no_other_group(
        self, group: Group, store: Store, clock: Clock
    ) -> None:
        for name in ("global", "theirs"):
            init(store, name, now=clock)
            other = Group(store, name, now=clock)
            put(other, "notes/x.md", f"The heron of {name}.\n")
            other.close()
        put(group, "notes/x.md", "The heron of main.\n")

        found = search(group, "heron")

        assert {(hit.group, hit.text) for hit in found.hits} == {
            ("main", "The heron of main."),
            ("global", "The heron of global."),
        }
        assert set(found.pins) == {"main", "global"}
        mine = Group(store, "theirs", acting="theirs", now=clock)
        assert {hit.group for hit in search(mine, "heron").hits} == {"theirs", "global"}
        mine.close()

    def test_what_was_said_in_global_is_found_as_long_as_it_is_there(
        self, group: Group, store: Store, clock: Clock
    ) -> None:
        init(store, "global", now=clock)
        other = Group(store, "global", now=clock)
        transcript_add(other, [NewMessage("hall", "Ada", "The heron nests in the attic.")])
        transcript_pending(other)
        transcript_checkpoint(other, "A heron.")

        found = search(group, "heron", source="transcripts")

        assert [(hit.group, hit.chat) for hit in found.hits] == [("global", "hall")]
        assert set(found.pins) == {"global transcripts"}
        clock.advance(days=9)
        transcript_prune(other, "1 day ago")
        other.close()
        assert search(group, "heron attic").hits == ()
        assert not (group.gitdir / "gitmem" / SAID).exists()

    def test_trouble_with_what_was_said_in_global_is_told_and_hides_nothing(
        self, group: Group, store: Store, clock: Clock
    ) -> None:
        init(store, "global", now=clock)
        other = Group(store, "global", now=clock)
        commit = transcript_add(other, [NewMessage("hall", "Ada", "The heron nests.")]).commit
        other.close()
        transcript_add(group, [NewMessage("own", "Bob", "The heron sleeps.")])
        damaged = store.gitdir("global") / "objects" / commit[:2] / commit[2:]
        damaged.chmod(0o600)
        damaged.write_bytes(b"torn")

        found = search(group, "heron", source="transcripts")

        assert [hit.group for hit in found.hits] == ["main"]
        assert any("cannot read the transcripts of global" in each for each in found.notes)

    def test_an_edit_that_is_not_committed_is_not_found(self, group: Group) -> None:
        edit(group, "notes/x.md", "A heron.\n")

        assert found_in(group, "heron") == []

    def test_the_archive_only_if_it_is_wanted(self, group: Group) -> None:
        put(group, "notes/x.md", "A heron.\n")
        archive(group, ["notes/x.md"])

        assert found_in(group, "heron") == []
        (hit,) = search(group, "heron", include_archive=True).hits
        assert (hit.path, hit.state) == ("archive/notes/x.md", "archived")

    def test_only_in_a_layer(self, group: Group) -> None:
        entry(group, "Herons", "About the heron.")
        put(group, "facts/x.md", "A heron.\n")
        transcript_add(group, [NewMessage("c", "Ada", "heron")])

        assert paths(search(group, "heron", layers=["decisions"])) == ["reference/decisions.md"]
        with pytest.raises(BadInput, match="no layer 'decision'"):
            search(group, "heron", layers=["decision"])

    def test_only_what_was_touched_or_said_since(self, group: Group, clock: Clock) -> None:
        put(group, "facts/old.md", "An old heron.\n")
        transcript_add(group, [NewMessage("c", "Ada", "old heron")])
        clock.advance(days=20)
        put(group, "facts/new.md", "A new heron.\n")
        transcript_add(group, [NewMessage("c", "Ada", "new heron")])

        found = search(group, "heron", since="7 days ago")

        assert {hit.text for hit in found.hits} == {"A new heron.", "new heron"}
        with pytest.raises(BadInput, match="invalid date"):
            search(group, "heron", since="whenever")

    def test_what_is_new_is_found_behind_any_number_of_old_ones(
        self, group: Group, clock: Clock
    ) -> None:
        old = [Edit(f"notes/n{n}.md", f"The heron, the heron. ({n})\n") for n in range(150)]
        write(group, old)
        said = [
            NewMessage("team", "bob", f"The heron, the heron. ({n})", None, "") for n in range(150)
        ]
        transcript_add(group, said)
        clock.advance(hours=3)
        put(group, "notes/new.md", f"A heron. {'Something else. ' * 30}\n")
        late = NewMessage("team", "bob", f"A heron. {'Something else. ' * 30}", None, "late")
        transcript_add(group, [late])

        hits = search(group, "heron", since="1 hour ago", limit=4).hits

        assert {hit.path if hit.source == "memory" else hit.id for hit in hits} == {
            "notes/new.md",
            "late",
        }

    def test_a_layer_holds_what_retired_from_it_and_no_messages(self, group: Group) -> None:
        put(group, "facts/old.md", "The heron was here.\n")
        archive(group, ["facts/old.md"])
        transcript_add(group, [NewMessage("team", "bob", "A heron!", None, "x")])

        assert found_in(group, "heron", layers=("facts",)) == []
        assert len(found_in(group, "heron", layers=("facts",), include_archive=True)) == 1
        assert found_in(group, "heron", layers=("decisions",), include_archive=True) == []
        said = search(group, "heron", layers=("facts",), source="transcripts")
        assert (said.hits, "in no layer" in said.notes[0]) == ((), True)

    def test_only_from_one_source(self, group: Group) -> None:
        put(group, "facts/x.md", "A heron.\n")
        transcript_add(group, [NewMessage("c", "Ada", "heron")])

        def sources(source: str) -> set[str]:
            return {hit.source for hit in search(group, "heron", source=source).hits}

        assert sources("memory") == {"memory"}
        assert sources("transcripts") == {"transcript"}
        assert sources("all") == {"memory", "transcript"}
        with pytest.raises(BadInput, match="no source 'everything'"):
            sources("everything")

    @pytest.mark.parametrize("query", ["", "  \n", "\t"])
    def test_nothing_cannot_be_looked_for(self, group: Group, query: str) -> None:
        with pytest.raises(BadInput, match="nothing to search for"):
            search(group, query)

    @pytest.mark.parametrize("query", ["???", "-- ;", "\u200b", '""', "()*^:"])
    def test_signs_alone_find_nothing_and_that_is_said(self, group: Group, query: str) -> None:
        put(group, "facts/x.md", "A heron? () \n")

        found = search(group, query)

        assert found.hits == ()
        assert found.notes == ("the query has no word to search for",)

    def test_as_many_as_are_wanted(self, group: Group) -> None:
        write(group, [Edit(f"facts/f{n}.md", f"Heron number {n}.\n") for n in range(20)])

        assert len(search(group, "heron").hits) == 8
        assert len(search(group, "heron", limit=15).hits) == 15
        assert len(search(group, "heron", limit=500).hits) == 20
        with pytest.raises(BadInput, match="at least 1"):
            search(group, "heron", limit=0)


LANGUAGES = [
    ("我们决定周五不发布新版本。", "周五 发布"),
    ("我们决定周五不发布新版本。", "版"),
    ("昨日の会議で東京タワーの話をした。", "東京タワー"),
    ("우리는 서울에서 만나기로 했다.", "서울"),
    ("เราจะไม่ปล่อยเวอร์ชันใหม่ในวันศุกร์", "วันศุกร์"),
    ("Мы решили не выпускать по пятницам.", "ПЯТНИЦАМ"),
    ("हम शुक्रवार को जारी नहीं करते।", "शुक्रवार"),
    ("لا نُصدر يوم الجمعة.", "الجمعة"),
    ("Straße und Café in Zürich", "strasse cafe zurich"),
    ("cafe\u0301 au lait", "café"),
    ("ＦＵＬＬ　ＷＩＤＴＨ", "full width"),
    ("we shipped 🚀 it", "🚀"),
    ("she went there and bought a house", "go buy"),
    ("three children were deploying", "child deployment"),
]


@pytest.mark.parametrize(("text", "query"), LANGUAGES)
def test_any_language_and_any_form_of_a_word(group: Group, text: str, query: str) -> None:
    put(group, "facts/that.md", f"{text}\n")
    put(group, "facts/other.md", "Nothing of the kind.\n")

    assert found_in(group, query)[:1] == ["facts/that.md"]


class TestRanking:
    def test_the_best_comes_first(self, group: Group) -> None:
        put(group, "facts/a.md", "The heron.\n")
        put(group, "facts/b.md", "The heron stands in the canal of Leipzig.\n")
        put(group, "facts/c.md", "Leipzig has a canal, and many other things to see there.\n")

        found = search(group, "heron in the canal of Leipzig")

        assert paths(found) == ["facts/b.md", "facts/c.md", "facts/a.md"]
        scores = [hit.score for hit in found.hits]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score <= 1 for score in scores)

    def test_a_document_counts_by_its_best_passage_not_by_how_many_it_has(
        self, group: Group
    ) -> None:
        weak = "".join(f"## Part {n}\n\nThe canal, and {n} other things.\n\n" for n in range(30))
        put(group, "facts/many.md", weak)
        put(group, "facts/one.md", "A heron in the canal.\n")

        assert found_in(group, "heron canal")[0] == "facts/one.md"

    def test_of_two_that_fit_alike_the_fresher_one_comes_first(
        self, group: Group, clock: Clock
    ) -> None:
        put(group, "facts/a.md", "The heron is grey.\n")
        clock.advance(days=200)
        put(group, "facts/b.md", "The heron is blue.\n")

        assert found_in(group, "heron") == ["facts/b.md", "facts/a.md"]

    def test_of_two_that_fit_alike_the_more_important_one_comes_first(self, group: Group) -> None:
        entry(group, "A grey one", "The heron.", Importance="5")
        entry(group, "A blue one", "The heron.", Importance="1")

        addresses = [hit.address for hit in search(group, "heron").hits]

        assert addresses == [
            "reference/decisions.md#a-blue-one",
            "reference/decisions.md#a-grey-one",
        ]

    def test_neither_freshness_nor_importance_bury_an_exact_match(
        self, group: Group, clock: Clock
    ) -> None:
        entry(group, "Old", "The heron stands in the canal.", Importance="5")
        clock.advance(days=400)
        entry(group, "New", "The heron stands in the river.", Importance="1")
        entry(group, "Newer", "The stork stands in the canal.", Importance="1")

        hits = search(group, "heron in the canal").hits

        assert hits[0].address == "reference/decisions.md#old"
        assert hits[0].state == "stale"

    def test_nor_do_they_where_the_rarer_word_is_in_most_of_memory(
        self, group: Group, clock: Clock
    ) -> None:
        entry(group, "Old", "The heron stands in the canal.", Importance="5")
        write(group, [Edit(f"notes/n{n}.md", f"The canal again, {n}.\n") for n in range(90)])
        clock.advance(days=400)
        entry(group, "New", "The heron stands in the river.", Importance="1")

        for query in ("The heron stands in the canal.", "heron canal"):
            assert search(group, query).hits[0].address.endswith("#old")

    def test_whatever_is_found_has_a_score(self, group: Group) -> None:
        write(group, [Edit(f"notes/n{n}.md", f"Heron {n} stands.\n") for n in range(300)])
        transcript_add(group, [NewMessage("t", "b", f"Heron {n}", None, "") for n in range(300)])

        hits = search(group, "heron zeppelin airship balloon rocket", limit=600).hits

        assert min(hit.score for hit in hits) > 0
        assert [hit.source for hit in hits].count("memory") == 300
        assert len(hits) == 600

    def test_the_order_does_not_depend_on_how_the_index_came_about(
        self, group: Group, store: Store
    ) -> None:
        for number in range(30):
            put(group, f"facts/f{number % 7}.md", f"Heron and canal, version {number}.\n")
            search(group, "heron")
        before = search(group, "heron canal", limit=50)

        os.unlink(index_of(group))

        assert search(group, "heron canal", limit=50) == before

    def test_documents_and_messages_are_one_ranking(self, group: Group) -> None:
        put(group, "facts/weak.md", "There is a canal, and much else to be seen in this town.\n")
        transcript_add(group, [NewMessage("c", "Ada", "a heron in the canal of Leipzig")])
        put(group, "facts/strong.md", "A heron in the canal of Leipzig at night.\n")

        found = search(group, "heron in the canal of Leipzig at night")

        assert [hit.source for hit in found.hits] == ["memory", "transcript", "memory"]

    def test_what_stands_beside_a_message_leads_to_it(self, group: Group) -> None:
        said = ["Where did the heron go?", "To the canal, I think.", "Lunch?", "Yes.", "Good."]
        transcript_add(group, [NewMessage("c", "Ada", text) for text in said])

        texts = [hit.text for hit in search(group, "heron").hits]

        assert texts[:2] == ["Where did the heron go?", "To the canal, I think."]

    def test_of_what_several_said_that_of_the_one_who_is_named_comes_first(
        self, group: Group
    ) -> None:
        said = [("Bob", "I saw the heron"), ("Ada", "the heron saw me"), ("Bob", "a heron it was")]
        transcript_add(group, [NewMessage(f"c{n}", *each) for n, each in enumerate(said)])

        assert search(group, "what did Ada say about the heron").hits[0].from_ == "Ada"
        assert search(group, "what did Bob say about the heron").hits[0].from_ == "Bob"

    def test_a_role_is_nobodys_name(self, group: Group) -> None:
        said = [
            ("user", "please look at the login table"),
            ("assistant", "The user table has a login column"),
        ]
        transcript_add(group, [NewMessage(f"c{n}", *each) for n, each in enumerate(said)])

        hits = search(group, "user login table", source="transcripts").hits

        assert hits[0].score == pytest.approx(hits[1].score, rel=0.15)

    def test_where_two_are_named_nobody_comes_first_for_it(self, group: Group) -> None:
        said = [("Bob", "heron"), ("Ada", "heron"), ("Eve", "heron")]
        transcript_add(group, [NewMessage(f"c{n}", *each) for n, each in enumerate(said)])

        scores = {hit.from_: hit.score for hit in search(group, "heron, Ada or Bob?").hits}

        assert scores["Ada"] == scores["Bob"] > scores["Eve"]


class TestTheIndex:
    def test_it_follows_whatever_happens_to_the_files(self, group: Group) -> None:
        put(group, "facts/x.md", "A heron.\n")
        assert found_in(group, "heron") == ["facts/x.md"]
        move(group, "facts/x.md", "notes/y.md")
        assert found_in(group, "heron") == ["notes/y.md"]
        put(group, "notes/y.md", "A stork.\n")
        assert found_in(group, "heron") == []
        assert found_in(group, "stork") == ["notes/y.md"]
        undo(group)
        assert found_in(group, "heron") == ["notes/y.md"]
        edit(group, "notes/z.md", "A heron of a person.\n")
        by_hand(group, "add", "-A")
        by_hand(group, "commit", "-qm", "by hand")
        assert sorted(found_in(group, "heron")) == ["notes/y.md", "notes/z.md"]
        restore(group, "facts/x.md", at="HEAD~4")
        assert "facts/x.md" in found_in(group, "heron")

    def test_a_head_that_is_elsewhere_is_told_of(self, group: Group) -> None:
        put(group, "facts/x.md", "A heron.\n")
        by_hand(group, "checkout", "-qb", "other")
        edit(group, "facts/x.md", "A zeppelin.\n")
        by_hand(group, "commit", "-qam", "by hand")

        for found in (search(group, "heron").notes, inject(group).manifest.notes):
            assert found == ("HEAD of this group is on the branch 'other'; reading 'main'",)
        assert found_in(group, "zeppelin") == []
        by_hand(group, "checkout", "-q", "main")
        assert search(group, "heron").notes == ()

    def test_of_what_did_not_change_nothing_is_read_again(self, group: Group) -> None:
        write(group, [Edit(f"facts/f{n}.md", f"Heron {n}.\n") for n in range(40)])
        found_in(group, "heron")
        for n in range(40):
            truncate(group.repository, group.repository.snapshot().oid(f"facts/f{n}.md") or "")
        put(group, "facts/new.md", "A stork.\n")

        assert found_in(group, "stork") == ["facts/new.md"]
        table = sqlite3.connect(index_of(group))
        rows = table.execute("SELECT count(*) FROM files WHERE is_read").fetchone()
        table.close()
        assert rows[0] >= 41, "what was read before is still there, though nobody could now"

    def test_a_branch_that_was_moved_elsewhere_is_followed(self, group: Group) -> None:
        put(group, "facts/x.md", "A heron.\n")
        here = group.repository.tip()
        put(group, "facts/y.md", "A stork.\n")
        assert found_in(group, "stork") == ["facts/y.md"]

        by_hand(group, "reset", "-q", "--hard", here)

        assert found_in(reopened(group), "stork") == []
        assert found_in(reopened(group), "heron") == ["facts/x.md"]

    @pytest.mark.parametrize(
        "damage", [b"", b"garbage" * 5000, b"SQLite format 3\0" + b"\0" * 4080], ids=len
    )
    def test_a_torn_one_is_made_anew(self, group: Group, damage: bytes) -> None:
        put(group, "facts/x.md", "A heron.\n")
        assert found_in(group, "heron") == ["facts/x.md"]
        index_of(group).write_bytes(damage)

        assert found_in(group, "heron") == ["facts/x.md"]

    def test_a_page_of_it_that_changed_is_no_reason_to_fail(self, group: Group) -> None:
        write(group, [Edit(f"facts/f{n}.md", f"Heron {n} of many.\n" * 20) for n in range(50)])
        expected = found_in(group, "heron", limit=50)
        whole = index_of(group).read_bytes()
        for at in range(0, len(whole), 4096):
            index_of(group).write_bytes(whole[:at] + b"\xff" * 64 + whole[at + 64 :])
            for each in ("-wal", "-shm"):
                with suppress(FileNotFoundError):
                    os.unlink(f"{index_of(group)}{each}")

            assert set(found_in(group, "heron", limit=50)) <= set(expected), at

    def test_maintenance_reads_it_back_and_begins_anew(self, group: Group) -> None:
        write(group, [Edit(f"facts/f{n}.md", f"Heron {n} of many.\n" * 20) for n in range(50)])
        transcript_add(group, [NewMessage("c", "Ada", f"heron {n}") for n in range(50)])
        expected = {(hit.address, hit.text) for hit in search(group, "heron", limit=100).hits}
        for name in (NAME, SAID):
            path = group.gitdir / "gitmem" / name
            whole = path.read_bytes()
            for at in range(4096, len(whole), 4096):
                path.write_bytes(whole[: at + 2048] + b"\0" * 2048 + whole[at + 4096 :])
                for each in ("-wal", "-shm"):
                    Path(f"{path}{each}").unlink(missing_ok=True)
                put(group, "facts/again.md", f"Nothing new, {name} {at}.\n")

                maintain(group)

                hits = search(group, "heron", limit=100).hits
                assert {(hit.address, hit.text) for hit in hits} == expected, (name, at)

    def test_one_of_another_form_is_made_anew(self, group: Group) -> None:
        put(group, "facts/x.md", "A heron.\n")
        found_in(group, "heron")
        table = sqlite3.connect(index_of(group))
        table.execute("PRAGMA user_version=999")
        table.close()

        assert found_in(group, "heron") == ["facts/x.md"]

    def test_a_damaged_file_hides_no_other_and_is_found_when_it_is_healed(
        self, group: Group
    ) -> None:
        put(group, "facts/x.md", "A heron.\n")
        put(group, "facts/y.md", "A heron, too.\n")
        oid = group.repository.snapshot().oid("facts/x.md") or ""
        place = Path(group.repository.objects.loose_path(oid))
        sound = place.read_bytes()
        truncate(group.repository, oid)

        assert found_in(group, "heron") == ["facts/y.md"]

        os.chmod(place, 0o600)
        place.write_bytes(sound)
        assert sorted(found_in(group, "heron")) == ["facts/x.md", "facts/y.md"]

    def test_a_damaged_file_that_is_written_anew_or_removed_is_as_it_now_is(
        self, group: Group
    ) -> None:
        names = ("facts/x.md", "facts/y.md")
        for name in names:
            put(group, name, f"A heron stands in {name}.\n")
            truncate(group.repository, group.repository.snapshot().oid(name) or "")
        assert found_in(group, "heron") == []

        (group.worktree / "facts/x.md").write_text("A bittern.\n")
        (group.worktree / "facts/y.md").unlink()
        by_hand(group, "commit", "-qam", "by hand")
        # Healed later, what was damaged is history by then.
        group.repository.objects.write("blob", b"A heron stands in facts/x.md.\n")
        group.repository.objects.write("blob", b"A heron stands in facts/y.md.\n")
        assert found_in(group, "heron") == []
        assert found_in(group, "bittern") == ["facts/x.md"]

    def test_a_page_of_the_index_that_is_torn_costs_no_answer(self, group: Group) -> None:
        for count in range(30):
            put(group, f"facts/x{count}.md", f"Heron number {count}, standing still.\n")
        assert len(found_in(group, "heron", limit=30)) == 30
        assert sqlite3.connect(index_of(group)).execute("PRAGMA wal_checkpoint(TRUNCATE)")
        sound = index_of(group).read_bytes()

        for start in range(2048, len(sound), 4096):
            torn = sound[:start] + bytes(2048) + sound[start + 2048 :]
            index_of(group).write_bytes(torn)
            found_in(group, "heron", limit=30)
            found_in(group, "number standing")

        index_of(group).unlink()
        assert len(found_in(group, "heron", limit=30)) == 30

    def test_a_file_damaged_since_it_was_read_is_left_out(self, group: Group) -> None:
        put(group, "facts/x.md", "A heron.\n")
        put(group, "facts/y.md", "A heron, too.\n")
        assert len(found_in(group, "heron")) == 2
        truncate(group.repository, group.repository.snapshot().oid("facts/x.md") or "")

        assert found_in(reopened(group), "heron") == ["facts/y.md"]

    def test_it_never_waits_for_a_writer_and_stops_none(self, group: Group) -> None:
        put(group, "facts/x.md", "A heron.\n")
        with Lock(lock_path(group.gitdir)):
            assert found_in(group, "heron") == ["facts/x.md"]
        with locked(index_of(group)):
            put(group, "facts/y.md", "A heron, too.\n")
            assert sorted(found_in(group, "heron")) == ["facts/x.md", "facts/y.md"]

    def test_others_may_not_read_it(self, group: Group) -> None:
        put(group, "facts/x.md", "A heron.\n")
        transcript_add(group, [NewMessage("c", "Ada", "heron")])
        search(group, "heron")

        modes = {path.stat().st_mode & 0o777 for path in (group.gitdir / "gitmem").glob("*.db*")}
        assert modes == {0o600}

    def test_a_disk_that_takes_nothing_is_no_reason_to_fail(self, group: Group) -> None:
        put(group, "facts/x.md", "A heron.\n")
        index_of(group).mkdir()

        assert found_in(group, "heron") == ["facts/x.md"]

    def test_what_is_no_text_and_the_layout_itself_are_not_found(self, group: Group) -> None:
        put(group, "picture.png", b"\x89PNG\0heron\0")

        assert found_in(group, "heron") == []
        assert "gitmem.yaml" not in found_in(group, "layers timezone budget", limit=50)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Somebody else is writing the index."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(st.text(min_size=1))
def test_no_text_makes_a_search_fail(group: Group, query: str) -> None:
    if index_of(group).exists() is False:
        put(group, "facts/x.md", 'A "heron" AND OR NOT NEAR( * ^ column: - + {a b} 茶\n')
        transcript_add(group, [NewMessage("c", "Ada", "heron")])
    try:
        found = search(group, query)
    except BadInput:
        assert not query.strip()
    else:
        assert len(found.hits) <= 8


def test_a_hundred_kilobytes_are_a_question_like_any_other(group: Group) -> None:
    put(group, "facts/x.md", "A heron.\n")
    long = "lorem ipsum dolor sit amet. " * 4000

    assert found_in(group, f"{long} Where is the heron?") == ["facts/x.md"]
    assert search(group, f"Where is the heron? {long}").hits == ()


def test_a_group_that_only_looks_keeps_nothing_in_the_other(
    group: Group, store: Store, clock: Clock
) -> None:
    init(store, "global", layout="standard", now=clock)
    init(store, "theirs", now=clock)
    owner = Group(store, "global", now=clock)
    put(owner, "facts/x.md", "A heron.\n")
    for name in ("layout", "dates"):
        (owner.gitdir / "gitmem" / name).unlink(missing_ok=True)
    before = sorted((owner.gitdir / "gitmem").iterdir())

    reader = Group(store, "global", acting="theirs", who=Who("them"), now=clock)

    assert found_in(reader, "heron") == ["facts/x.md"]
    assert inject(reader, annotate=True).pins
    assert freshness(reader).entries
    assert sorted((owner.gitdir / "gitmem").iterdir()) == before
    reader.close()
    owner.close()
