"""The forms of a schedule: words for cron and for systemd, blocks of a crontab, times of zones."""

from __future__ import annotations

import re
import shlex
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.errors import BadInput, Conflict
from gitmem.integrations.schedule.cron import cron_word, with_block, without_block
from gitmem.integrations.schedule.plan import JOBS, SUNDAY, Time, by_machine, timetable
from gitmem.integrations.schedule.systemd import unit_word

PATHS = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1)
BITS = ("\n", "# BEGIN gitmem", "# END", "0 0 * * * x", " ", "%", "é", "\r", "\udce9")
TABLES = st.lists(st.sampled_from(BITS)).map("".join)


def as_cron_reads(line: str, *, halves: bool) -> str:
    """The command of a line, as cron hands it to the shell.

    A backslash is taken from before a percent sign; some crons (HALVES) also make one of two.
    """
    found, escaped = "", False
    for each in line:
        if escaped and each in ("%\\" if halves else "%"):
            found, escaped = found[:-1] + each, False
            continue
        assert escaped or each != "%", "a bare percent sign ends the command"
        escaped = each == "\\" and not escaped
        found += each
    return found


@pytest.mark.parametrize("halves", [True, False])
@given(PATHS)
@example("/home/ada lovelace/100% \\sure/\\\\it's $HOME `x` \\%\\")
@example("\\")
def test_cron_and_its_shell_make_the_same_word_of_it(halves: bool, text: str) -> None:
    assert shlex.split(as_cron_reads(cron_word(text), halves=halves)) == [text]


def as_systemd_reads(word: str, *, is_program: bool) -> str:
    """One word of `ExecStart=`, unquoted and expanded."""
    if word.startswith('"'):
        assert word.endswith('"')
        word = re.sub(r"\\([\\\"])", r"\1", word[1:-1])
    else:
        assert not re.search(r"[\s\"'\\;]", word)
    assert not re.search(r"%(?!%)", word.replace("%%", ""))
    word = word.replace("%%", "%")
    if is_program:
        return word
    assert "$" not in word.replace("$$", "")
    return word.replace("$$", "$")


@pytest.mark.parametrize("is_program", [True, False])
@given(PATHS)
@example('/a "b" $HOME ${x} $$ %h %% \\ \\\\')
def test_systemd_makes_the_same_word_of_it(is_program: bool, text: str) -> None:
    assert as_systemd_reads(unit_word(text, is_program=is_program), is_program=is_program) == text


def block(label: str = "", line: str = "0 0 * * * true") -> str:
    name = f"gitmem schedule {label}".rstrip()
    return f"# BEGIN {name}\n{line}\n# END {name}"


@given(TABLES)
def test_a_block_that_came_and_went_leaves_every_byte(table: str) -> None:
    installed = with_block(table, block(), "")

    assert block() in installed
    assert without_block(installed, "") == table
    assert with_block(installed, block(), "") == installed


def test_a_block_is_renewed_where_it_stands() -> None:
    table = f"A=1\n{block()}\nB=2\n"

    assert with_block(table, block(line="1 1 * * * x"), "") == (
        f"A=1\n{block(line='1 1 * * * x')}\nB=2\n"
    )
    doubled = f"{table}{block()}\n"
    assert with_block(doubled, block(), "") == table
    assert without_block(doubled, "") == "A=1\nB=2\n"


def test_blocks_of_several_stores_do_not_touch_each_other() -> None:
    both = with_block(with_block("A=1\n", block(), ""), block("cafe0123"), "cafe0123")

    assert without_block(both, "") == f"A=1\n{block('cafe0123')}\n"
    assert without_block(both, "cafe0123") == f"A=1\n{block()}\n"


@pytest.mark.parametrize(
    "table",
    [
        "# BEGIN gitmem schedule\nmine\n",
        "mine\n# END gitmem schedule\n",
        f"# BEGIN gitmem schedule\nmine\n{block()}\n",
        f"{block()}\nmine\n# END gitmem schedule\n",
    ],
)
def test_half_a_block_is_not_guessed_at(table: str) -> None:
    with pytest.raises(Conflict, match="counterpart"):
        without_block(table, "")
    with pytest.raises(Conflict, match="counterpart"):
        with_block(table, block(), "")


def test_the_times_are_those_of_the_seed() -> None:
    assert [(each.name, each.time.crontab) for each in JOBS] == [
        ("rotation", "0 0 * * *"),
        ("snapshot", "0 23 * * *"),
        ("consolidation", "0 2 * * 0"),
    ]
    assert JOBS[2].time.calendar("Europe/Berlin") == "Sun *-*-* 02:00:00 Europe/Berlin"


def test_a_store_may_take_other_times() -> None:
    # YAML reads a bare 22:30 as a number of minutes.
    found = timetable({"schedule": {"snapshot": 22 * 60 + 30, "consolidation": "Sat 3:05"}})

    assert [each.time.words for each in found] == ["daily 00:00", "daily 22:30", "Sat 03:05"]
    assert timetable({}) == timetable({"schedule": None}) == JOBS


@pytest.mark.parametrize(
    "said",
    [
        "noon",
        {"snapshots": "23:00"},
        {"snapshot": "24:00"},
        {"snapshot": "23:60"},
        {"snapshot": "Sunday 02:00"},
        {"snapshot": "Mon,Thu 02:00"},
        {"snapshot": "0 2 * * 0"},
        {"snapshot": "*-*-01 02:00:00"},
        {"snapshot": "every 2 hours"},
        {"snapshot": True},
        {"snapshot": 24 * 60},
        {"snapshot": ["23:00"]},
    ],
)
def test_a_time_that_is_none_is_refused(said: object) -> None:
    with pytest.raises(BadInput, match=r"config\.yaml") as caught:
        timetable({"schedule": said})
    for each in re.findall(r'"(.+?)"', caught.value.hint):
        assert timetable({"schedule": {"snapshot": each}}), "the hint shows forms that work"


@pytest.mark.parametrize(
    ("when", "now", "last"),
    [
        (Time(23, 0), "2026-02-08T22:59:59", "2026-02-07T23:00"),
        (Time(23, 0), "2026-02-08T23:00:00", "2026-02-08T23:00"),
        (Time(2, 0, SUNDAY), "2026-02-08T01:59:59", "2026-02-01T02:00"),
        (Time(2, 0, SUNDAY), "2026-02-08T02:00:00", "2026-02-08T02:00"),
        (Time(2, 0, SUNDAY), "2026-02-14T23:00:00", "2026-02-08T02:00"),
    ],
)
def test_the_last_time_is_the_one_that_has_come(when: Time, now: str, last: str) -> None:
    zone = ZoneInfo("Asia/Kolkata")

    found = when.last(datetime.fromisoformat(now).replace(tzinfo=zone))

    assert found == datetime.fromisoformat(last).replace(tzinfo=zone)


def test_an_hour_that_comes_twice_is_counted_by_the_sun() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    second = datetime(2026, 10, 25, 2, 10, tzinfo=berlin, fold=1)

    assert (
        Time(2, 30).last(second).timestamp()
        == datetime(2026, 10, 25, 0, 30, tzinfo=UTC).timestamp()
    )


def test_a_zone_is_translated_for_a_machine_in_another() -> None:
    def there(when: Time, zone: str, machine: str) -> list[str]:
        found = by_machine(when, ZoneInfo(zone), ZoneInfo(machine), date(2026, 2, 8))
        return [each.crontab for each in found]

    midnight, sunday = Time(0, 0), Time(2, 0, SUNDAY)
    assert there(midnight, "Asia/Kolkata", "UTC") == ["30 18 * * *"]
    assert there(sunday, "Asia/Kolkata", "UTC") == ["30 20 * * 6"]
    assert there(midnight, "Europe/Berlin", "UTC") == ["0 22 * * *", "0 23 * * *"]
    assert there(midnight, "Europe/Berlin", "Europe/Paris") == ["0 0 * * *"]
    # On one Sunday of the year it is never two o'clock there.
    assert there(sunday, "America/New_York", "America/New_York") == ["0 2 * * 0"]


def test_without_a_zone_of_its_own_the_clock_of_the_machine_counts() -> None:
    assert by_machine(Time(0, 0), None, UTC, date(2026, 2, 8)) == [Time(0, 0)]
