"""`gitmem schedule` at the command line, with programs that stand in for a scheduler's."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gitmem as package
from tests.support.cli import Run, Said, run_gitmem
from tests.support.git import git

ROOT = Path(package.__file__).parents[1]

# Keeps the table of its user in a file, as the real one does.
CRONTAB = """\
#!/bin/sh
table='{state}/table'
if [ -e '{state}/denied' ]; then echo "you may not use this program" >&2; exit 1; fi
case "$1" in
-l) if [ -e "$table" ]; then cat "$table"; else echo "no crontab for ada" >&2; exit 1; fi ;;
-) cat >"$table.new" && mv "$table.new" "$table" ;;
-r) rm "$table" ;;
*) exit 64 ;;
esac
"""
# Writes down what it is asked for, and knows which timers are enabled.
SYSTEMCTL = """\
#!/bin/sh
[ "$1" = --user ] || exit 64
shift
echo "$*" >>'{state}/asked'
if [ -e '{state}/no-bus' ]; then echo "Failed to connect to bus: No medium found" >&2; exit 1; fi
if [ -e '{state}/no-'"$1" ]; then echo "Failed to $1 unit" >&2; exit 1; fi
case "$1" in
show-environment|daemon-reload) ;;
enable)
    [ "$2" = --now ] || exit 64
    shift 2
    for unit; do
        [ -f "$XDG_CONFIG_HOME/systemd/user/$unit" ] || exit 1
        touch '{state}'/"$unit"
    done ;;
disable)
    [ "$2" = --now ] || exit 64
    shift 2
    for unit; do rm -f '{state}'/"$unit"; done ;;
show)
    shift 2
    for unit; do
        if [ -e '{state}'/"$unit" ]; then set -- active enabled; else set -- inactive disabled; fi
        printf 'Id=%s\\nActiveState=%s\\nUnitFileState=%s\\n\\n' "$unit" "$1" "$2"
    done ;;
*) exit 64 ;;
esac
"""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Where the stand-ins keep what they know."""
    folder = tmp_path / "state"
    folder.mkdir()
    return folder


def stand_in(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


@pytest.fixture
def no_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without a scheduler; the folder in which its programs are."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("cat", "mv", "rm", "touch", "sh"):
        found = shutil.which(name)
        assert found
        (folder / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def cron(state: Path, no_programs: Path) -> Path:
    """A machine with cron; the file that is the user's table."""
    stand_in(no_programs, "crontab", CRONTAB.format(state=state))
    return state / "table"


@pytest.fixture
def systemd(state: Path, no_programs: Path, sealed_machine: Path) -> Path:
    """A machine with systemd; the folder of the user's units."""
    stand_in(no_programs, "systemctl", SYSTEMCTL.format(state=state))
    return sealed_machine / ".config" / "systemd" / "user"


def asked(state: Path) -> list[str]:
    """What systemctl was asked for that is more than a question."""
    lines = (state / "asked").read_text().splitlines() if (state / "asked").exists() else []
    return [each for each in lines if each.split()[0] in ("daemon-reload", "enable", "disable")]


def states(said: Said, backend: str) -> dict[str, Any]:
    (found,) = [each for each in said.document["schedulers"] if each["backend"] == backend]
    return {each["job"]: each["state"] for each in found["entries"]}


ALL = {"rotation", "snapshot", "consolidation"}


class TestCron:
    def test_it_is_installed_once_and_goes_without_a_trace(self, gitmem: Run, cron: Path) -> None:
        mine = b'MAILTO="ada"\n# caf\xe9\n5 4 * * * /bin/true\n'
        cron.write_bytes(mine)

        said = gitmem("schedule", "install")

        assert (said.code, said.out) == (0, "changed crontab\nran crontab -\n")
        installed = cron.read_bytes()
        assert installed.startswith(mine + b"# BEGIN gitmem schedule ")
        assert installed.count(b" schedule run ") == 3
        again = gitmem("schedule", "install", "--json").document
        assert (again["changed"], again["commands"], again["diff"]) == (False, [], "")
        assert cron.read_bytes() == installed
        assert gitmem("schedule", "remove").code == 0
        assert cron.read_bytes() == mine
        assert gitmem("schedule", "remove").out.startswith("nothing to do")

    def test_a_table_of_nothing_else_goes_altogether(self, gitmem: Run, cron: Path) -> None:
        assert gitmem("schedule", "install").code == 0
        assert cron.read_text().startswith("# BEGIN gitmem schedule ")

        done = gitmem("schedule", "remove", "--json").document

        assert done["schedulers"][0]["commands"] == [["crontab", "-r"]]
        assert not cron.exists()

    def test_a_dry_run_shows_the_difference_and_makes_none(self, gitmem: Run, cron: Path) -> None:
        cron.write_text("5 4 * * * true\n")

        said = gitmem("schedule", "install", "--dry-run")

        assert "\n 5 4 * * * true\n+# BEGIN gitmem schedule " in said.out
        assert said.out.endswith("would run crontab -\n")
        assert cron.read_text() == "5 4 * * * true\n"
        gitmem("schedule", "install")
        before = cron.read_text()
        assert "\n-# BEGIN gitmem schedule " in gitmem("schedule", "remove", "--dry-run").out
        assert cron.read_text() == before

    def test_a_table_that_cannot_be_read_is_not_taken_for_an_empty_one(
        self, gitmem: Run, cron: Path, state: Path
    ) -> None:
        cron.write_text("5 4 * * * true\n")
        (state / "denied").touch()

        said = gitmem("schedule", "install", "--json")

        assert (said.code, said.error["code"]) == (8, "program-failed")
        assert "you may not use this program; nothing was changed" in said.error["message"]
        assert "gitmem schedule print" in said.error["hint"]
        assert cron.read_text() == "5 4 * * * true\n"

    def test_half_a_block_stops_it(self, gitmem: Run, cron: Path) -> None:
        gitmem("schedule", "install")
        torn = "".join(cron.read_text().splitlines(keepends=True)[:-1])
        cron.write_text(torn)

        for verb in ("install", "status", "remove"):
            said = gitmem("schedule", verb)

            assert said.code == 4
            assert "crontab -e" in said.err
        assert cron.read_text() == torn

    def test_stores_stand_side_by_side(
        self, gitmem: Run, cron: Path, tmp_path: Path, sealed_machine: Path
    ) -> None:
        other = ("--store", str(tmp_path / "other"))
        default = ("--store", str(sealed_machine / ".local" / "share" / "gitmem"))
        for store in (other, default):
            assert gitmem("init", "--layout", "none", *store).code == 0
        for store in ((), other, default):
            assert gitmem("schedule", "install", *store).code == 0

        lines = cron.read_text().splitlines()
        begins = [each for each in lines if each.startswith("# BEGIN")]
        assert len(lines) == 18
        assert begins[2] == "# BEGIN gitmem schedule"
        assert len(set(begins)) == 3
        gitmem("schedule", "remove")
        assert states(gitmem("schedule", "status", "--json"), "cron") == dict.fromkeys(
            ALL, "missing"
        )
        for store in (other, default):
            said = gitmem("schedule", "status", "--json", *store)
            assert states(said, "cron") == dict.fromkeys(ALL, "present")

    def test_what_was_made_for_another_time_is_told_and_renewed(
        self, gitmem: Run, cron: Path, home: Path
    ) -> None:
        gitmem("schedule", "install")
        (home / "config.yaml").write_text("schedule:\n  snapshot: 22:30\n")

        said = gitmem("schedule", "status")

        assert "  snapshot       outdated    daily 22:30  has not run yet\n" in said.out
        assert "  rotation       present     daily 00:00  has not run yet\n" in said.out
        assert "gitmem schedule install --backend cron" in said.err
        gitmem("schedule", "install")
        assert "\n30 22 * * * " in cron.read_text()
        assert states(gitmem("schedule", "status", "--json"), "cron") == dict.fromkeys(
            ALL, "present"
        )


class TestSystemd:
    def test_it_is_installed_once_and_goes_without_a_trace(
        self, gitmem: Run, systemd: Path, state: Path
    ) -> None:
        said = gitmem("schedule", "install")

        assert said.code == 0
        assert "loginctl enable-linger" in said.err
        names = sorted(each.name for each in systemd.iterdir())
        assert [each.split("-")[1] for each in names] == [
            *("consolidation", "consolidation", "rotation", "rotation", "snapshot", "snapshot")
        ]
        timers = [each for each in names if each.endswith(".timer")]
        assert asked(state)[0] == "daemon-reload"
        assert asked(state)[1].startswith("enable --now ")
        assert sorted(asked(state)[1].split()[2:]) == timers
        again = gitmem("schedule", "install", "--json").document
        assert (again["changed"], again["diff"]) == (False, "")
        assert {each["change"] for each in again["files"]} == {"kept"}
        assert len(asked(state)) == 2
        assert gitmem("schedule", "remove").code == 0
        assert list(systemd.iterdir()) == []
        assert asked(state)[2].startswith("disable --now ")
        assert asked(state)[3] == "daemon-reload"
        assert gitmem("schedule", "remove").out.startswith("nothing to do")

    def test_what_the_units_say(self, gitmem: Run, systemd: Path, home: Path) -> None:
        gitmem("schedule", "install")

        (service,) = systemd.glob("gitmem-snapshot-*.service")
        (timer,) = systemd.glob("gitmem-consolidation-*.timer")
        program = Path(sys.executable).parent / "gitmem"
        assert service.read_text().splitlines()[4:] == [
            "[Service]",
            "Type=oneshot",
            "Nice=10",
            f"ExecStart={program} --store {home} schedule run snapshot --quiet",
        ]
        assert timer.read_text().splitlines()[4:7] == [
            "[Timer]",
            "OnCalendar=Sun *-*-* 02:00:00",
            "Persistent=true",
        ]
        assert service.stat().st_mode & 0o777 == 0o644

    def test_a_timer_that_was_stopped_is_told_and_started(
        self, gitmem: Run, systemd: Path, state: Path
    ) -> None:
        gitmem("schedule", "install")
        (timer,) = state.glob("gitmem-rotation-*.timer")
        timer.unlink()

        said = gitmem("schedule", "status")

        assert "  rotation       present  not active  daily 00:00" in said.out
        assert "  snapshot       present  active      daily 23:00" in said.out
        assert gitmem("schedule", "install", "--json").document["changed"] is True
        assert timer.exists()
        assert "not active" not in gitmem("schedule", "status").out

    def test_an_edited_unit_is_outdated_and_put_right(self, gitmem: Run, systemd: Path) -> None:
        gitmem("schedule", "install")
        (unit,) = systemd.glob("gitmem-rotation-*.timer")
        right = unit.read_text()
        unit.write_text(right.replace("00:00:00", "04:00:00"))

        assert states(gitmem("schedule", "status", "--json"), "systemd")["rotation"] == "outdated"
        said = gitmem("schedule", "install", "--dry-run")
        assert "-OnCalendar=*-*-* 04:00:00\n+OnCalendar=*-*-* 00:00:00\n" in said.out
        gitmem("schedule", "install")
        assert unit.read_text() == right

    def test_a_file_of_somebody_else_stays(self, gitmem: Run, systemd: Path, state: Path) -> None:
        name = gitmem("schedule", "print", "--backend", "systemd", "--json").document
        taken = Path(name["parts"][0]["path"])
        taken.parent.mkdir(parents=True)
        taken.write_text("[Service]\nExecStart=/bin/true\n")

        said = gitmem("schedule", "install", "--json")

        assert (said.code, said.error["code"]) == (4, "conflict")
        assert said.error["paths"] == [str(taken)]
        assert list(systemd.iterdir()) == [taken]
        assert asked(state) == []
        assert states(gitmem("schedule", "status", "--json"), "systemd")["rotation"] == "foreign"
        assert gitmem("schedule", "remove", "--backend", "systemd").code == 0
        assert taken.read_text() == "[Service]\nExecStart=/bin/true\n"

    def test_a_unit_that_was_masked_stays_so(self, gitmem: Run, systemd: Path) -> None:
        gitmem("schedule", "install")
        (unit,) = systemd.glob("gitmem-rotation-*.timer")
        unit.unlink()
        unit.symlink_to(os.devnull)

        assert gitmem("schedule", "install").code == 4
        assert gitmem("schedule", "remove").code == 0
        assert [each.name for each in systemd.iterdir()] == [unit.name]
        assert unit.is_symlink()

    def test_what_is_so_after_a_failure_is_said_and_mended_by_the_next_call(
        self, gitmem: Run, systemd: Path, state: Path
    ) -> None:
        (state / "no-enable").touch()

        said = gitmem("schedule", "install", "--json")

        assert (said.code, said.error["code"]) == (8, "program-failed")
        assert f"the units are written to {systemd}" in said.error["message"]
        (state / "no-enable").unlink()
        assert gitmem("schedule", "install").code == 0
        assert gitmem("schedule", "status").out.count("  active  ") == 3

    def test_nothing_is_removed_that_cannot_be_stopped(
        self, gitmem: Run, systemd: Path, state: Path
    ) -> None:
        gitmem("schedule", "install")
        (state / "no-bus").touch()

        said = gitmem("schedule", "remove")

        assert said.code == 8
        assert "nothing was changed" in said.err
        assert len(list(systemd.iterdir())) == 6


class TestBackends:
    def test_systemd_is_taken_where_it_answers_else_cron(
        self, gitmem: Run, systemd: Path, cron: Path, state: Path
    ) -> None:
        assert gitmem("schedule", "print", "--json").document["backend"] == "systemd"
        (state / "no-bus").touch()
        assert gitmem("schedule", "print", "--json").document["backend"] == "cron"
        assert gitmem("schedule", "install", "--json").document["backend"] == "cron"
        assert cron.exists()
        assert not systemd.exists()

    def test_two_of_them_are_noticed_and_both_are_removed(
        self, gitmem: Run, systemd: Path, cron: Path
    ) -> None:
        assert "too" not in gitmem("schedule", "install", "--backend", "cron").err
        said = gitmem("schedule", "install")

        assert "cron has this schedule as well: `gitmem schedule remove --backend cron`" in said.err
        assert "both have it" in gitmem("schedule", "status").err
        done = gitmem("schedule", "remove", "--json").document
        assert [each["backend"] for each in done["schedulers"]] == ["systemd", "cron"]
        assert not cron.exists()
        assert list(systemd.iterdir()) == []

    def test_a_crontab_that_is_denied_is_no_hindrance_to_systemd(
        self, gitmem: Run, systemd: Path, cron: Path, state: Path
    ) -> None:
        (state / "denied").touch()

        assert gitmem("schedule", "install").code == 0
        said = gitmem("schedule", "status", "--json")
        assert [each["works"] for each in said.document["schedulers"]] == [True, False]
        assert gitmem("schedule", "remove").code == 0

    @pytest.mark.parametrize("args", [(), ("--backend", "cron"), ("--backend", "systemd")])
    def test_where_there_is_none_the_next_step_is_named(
        self, gitmem: Run, no_programs: Path, args: tuple[str, ...]
    ) -> None:
        said = gitmem("schedule", "install", "--json", *args)

        assert (said.code, said.error["code"]) == (3, "program-missing")
        assert "gitmem schedule print" in said.error["hint"]
        assert "nothing was changed" in said.error["message"]
        for backend in ("cron", "systemd"):
            printed = gitmem("schedule", "print", "--backend", backend)
            assert printed.code == 0
            assert printed.out.count(" schedule run ") == 3
        assert "nothing is scheduled" in gitmem("schedule", "status").out
        assert gitmem("schedule", "remove").out.startswith("nothing to do")

    def test_what_is_printed_says_where_it_goes(
        self, gitmem: Run, no_programs: Path, sealed_machine: Path
    ) -> None:
        units = gitmem("schedule", "print", "--backend", "systemd")
        folder = sealed_machine / ".config" / "systemd" / "user"

        assert units.out.startswith(f"# {folder}/gitmem-rotation-")
        assert "systemctl --user daemon-reload && systemctl --user enable --now" in units.err
        assert "crontab -e" in gitmem("schedule", "print", "--backend", "cron").err

    def test_units_that_were_put_in_place_by_hand_are_ours(
        self, gitmem: Run, systemd: Path
    ) -> None:
        systemd.mkdir(parents=True)
        for part in gitmem("schedule", "print", "--json").document["parts"]:
            Path(part["path"]).write_text(f"# {part['path']}\n{part['text']}")

        assert set(states(gitmem("schedule", "status", "--json"), "systemd").values()) == {
            "outdated"
        }
        assert gitmem("schedule", "install").code == 0


class TestWhoAndWhere:
    def test_a_store_without_groups_is_not_scheduled(self, run: Run, cron: Path) -> None:
        said = run("schedule", "install")

        assert said.code == 3
        assert "gitmem init" in said.err
        assert not cron.exists()
        assert run("schedule", "print").code == 0

    @pytest.mark.parametrize("verb", ["print", "install", "remove", "status", "run"])
    def test_a_group_that_may_not_act_on_all_is_refused(
        self, gitmem: Run, cron: Path, verb: str
    ) -> None:
        args = ("schedule", verb, *(["rotation"] if verb == "run" else []))

        said = gitmem(*args, "--json", GITMEM_GROUP="research")

        assert (said.code, said.error["code"]) == (5, "group-refused")
        assert gitmem(*args, GITMEM_GROUP="main").code == 0

    def test_a_path_that_no_crontab_can_hold_is_refused(self, run: Run, tmp_path: Path) -> None:
        store = str(tmp_path / "two\nlines")

        said = run("schedule", "print", "--store", store, "--json")

        assert (said.code, said.error["code"]) == (2, "bad-input")
        assert "control characters" in said.error["hint"]

    def test_a_zone_that_no_scheduler_sees_is_told(
        self, gitmem: Run, cron: Path, home: Path
    ) -> None:
        assert "no scheduler sees it" not in gitmem("schedule", "print", TZ="").err
        assert "no scheduler sees it" in gitmem("schedule", "print", TZ="Asia/Tokyo").err
        (home / ".env").write_text("TZ=Asia/Tokyo\n")
        assert "no scheduler sees it" not in gitmem("schedule", "print", TZ="Asia/Tokyo").err

    def test_a_group_in_another_zone_has_its_own_midnight(
        self, gitmem: Run, no_programs: Path, home: Path
    ) -> None:
        (home / ".env").write_text("TZ=Asia/Kolkata\n")

        table = gitmem("schedule", "print", "--backend", "cron").out
        units = gitmem("schedule", "print", "--backend", "systemd").out

        times = [line.partition(" /")[0] for line in table.splitlines() if line[0].isdigit()]
        assert times == ["30 18 * * *", "30 17 * * *", "30 20 * * 6"]
        assert "\nOnCalendar=*-*-* 00:00:00 Asia/Kolkata\n" in units
        gitmem("init", "-g", "here", "--layout", "none")
        (home / "groups" / "here" / "gitmem.yaml").write_text("gitmem: 1\ntimezone: UTC\n")
        gitmem("capture", "-g", "here")
        table = gitmem("schedule", "print", "--backend", "cron").out
        times = [line.partition(" /")[0] for line in table.splitlines() if line[0].isdigit()]
        assert times[:2] == ["30 18 * * *", "0 0 * * *"]


def tags(home: Path, group: str = "main") -> list[str]:
    return git(home / "repos" / f"{group}.git", "tag").split()


def outcomes(said: Said) -> dict[str, str]:
    return {each["group"]: each["outcome"] for each in said.document["groups"]}


class TestRun:
    def test_a_week_end_as_the_seed_has_it(self, run: Run, home: Path, files: Path) -> None:
        def at(moment: str, job: str) -> Said:
            return run("schedule", "run", job, "--json", GITMEM_NOW=f"{moment}Z")

        run("init", "--layout", "standard", GITMEM_NOW="2026-02-06T08:00:00Z")
        run("rotate", GITMEM_NOW="2026-02-07T08:00:00Z")
        assert outcomes(at("2026-02-07T23:00:02", "snapshot")) == {"main": "done"}
        assert tags(home) == ["snapshot/2026-02-07"]

        assert outcomes(at("2026-02-08T00:00:02", "rotation")) == {"main": "done"}
        assert (files / "sessions" / "2026-02-07.md").exists()
        assert "2026-02-08" in (files / "sessions" / "current.md").read_text()
        assert outcomes(at("2026-02-08T02:00:02", "consolidation")) == {"main": "done"}
        # The new day has no snapshot before its evening: what is written until then is in it.
        assert tags(home) == ["snapshot/2026-02-07"]
        run("write", "state.md", "Moving billing\n", GITMEM_NOW="2026-02-08T12:00:00Z")
        assert outcomes(at("2026-02-08T23:00:02", "snapshot")) == {"main": "done"}
        assert tags(home) == ["snapshot/2026-02-07", "snapshot/2026-02-08"]
        shown = git(home / "repos" / "main.git", "show", "snapshot/2026-02-08:state.md")
        assert shown == "Moving billing\n"

    def test_the_evening_has_what_came_after_the_snapshot_of_a_sync(
        self, gitmem: Run, home: Path
    ) -> None:
        gitmem("write", "state.md", "Moving billing\n", GITMEM_NOW="2026-02-08T12:00:00Z")
        gitmem("snapshot", GITMEM_NOW="2026-02-08T12:00:01Z")
        gitmem("write", "state.md", "Billing is moved\n", GITMEM_NOW="2026-02-08T18:00:00Z")
        evening = {"GITMEM_NOW": "2026-02-08T23:00:02Z"}

        said = gitmem("schedule", "run", "snapshot", "--json", **evening)

        assert outcomes(said) == {"main": "done"}
        day = "snapshot/2026-02-08"
        repository = home / "repos" / "main.git"
        assert git(repository, "show", f"{day}:state.md") == "Billing is moved\n"
        assert git(repository, "show", f"{day}-1:state.md") == "Moving billing\n"
        gitmem("schedule", "run", "snapshot", "--json", **evening)
        assert tags(home) == [day, f"{day}-1"]

    def test_a_timer_that_fires_twice_does_nothing_twice(self, gitmem: Run) -> None:
        for job in ("rotation", "snapshot", "consolidation"):
            assert outcomes(gitmem("schedule", "run", job, "--json"))["main"] != "failed"
            said = gitmem("schedule", "run", job)
            assert said.out == "main  nothing  not due\n"
            assert gitmem("schedule", "run", job, "--quiet").out == ""

    def test_what_a_machine_slept_through_is_caught_up_with(self, gitmem: Run) -> None:
        def at(moment: str) -> str:
            said = gitmem("schedule", "run", "snapshot", "--json", GITMEM_NOW=f"{moment}Z")
            return outcomes(said)["main"]

        gitmem("write", "a.md", "one")
        assert at("2026-02-08T23:00:00") == "done"
        gitmem("write", "a.md", "two", "--allow-shrink", GITMEM_NOW="2026-02-09T09:00:00Z")
        assert at("2026-02-09T22:59:59") == "nothing"
        assert at("2026-02-10T08:00:00") == "done"

    def test_each_group_is_done_by_its_own_clock(self, run: Run, home: Path) -> None:
        for group, zone in (("main", "UTC"), ("tokyo", "Asia/Tokyo")):
            run("init", "-g", group, "--layout", "none", GITMEM_NOW="2026-02-01T08:00:00Z")
            layout = home / "groups" / group / "gitmem.yaml"
            layout.write_text(f"gitmem: 1\ntimezone: {zone}\n")
            run("maintain", "-g", group, GITMEM_NOW="2026-02-08T12:00:00Z")
            (home / "groups" / group / "a.md").write_text("one\n")

        said = run("schedule", "run", "snapshot", "--json", GITMEM_NOW="2026-02-08T14:00:01Z")
        assert outcomes(said) == {"main": "nothing", "tokyo": "done"}
        said = run("schedule", "run", "snapshot", "--json", GITMEM_NOW="2026-02-08T23:00:01Z")
        assert outcomes(said) == {"main": "done", "tokyo": "nothing"}

    def test_a_group_that_fails_stops_no_other_and_is_told_also_to_the_quiet(
        self, gitmem: Run, home: Path
    ) -> None:
        gitmem("init", "-g", "broken", "--layout", "none")
        shutil.rmtree(home / "repos" / "broken.git" / "objects")

        said = gitmem("schedule", "run", "rotation", "--quiet")

        assert said.code == 8
        rows = [line.split()[:2] for line in said.out.splitlines()[:2]]
        assert rows == [["broken", "failed"], ["main", "nothing"]]
        assert "gitmem" in said.out.splitlines()[2]

    def test_a_run_that_failed_is_made_again(self, gitmem: Run, files: Path, home: Path) -> None:
        git(files, "checkout", "-q", "--detach")
        (files / "b.md").write_text("two\n")
        first = gitmem("schedule", "run", "snapshot", "--json")
        git(files, "checkout", "-q", "main")

        assert (first.code, outcomes(first)) == (4, {"main": "failed"})
        assert first.document["groups"][0]["hint"]
        assert "failed snapshot in main" in gitmem("schedule", "status").out
        assert outcomes(gitmem("schedule", "run", "snapshot", "--json")) == {"main": "done"}

    def test_its_commits_say_where_they_come_from(self, gitmem: Run, files: Path) -> None:
        (files / "a.md").write_text("one\n")

        gitmem("schedule", "run", "snapshot", "--agent", "night")

        (entry,) = [
            each for each in gitmem("log", "--json").document["entries"] if each["op"] == "capture"
        ]
        assert (entry["agent"], entry["source"]) == ("night", "schedule")

    def test_the_status_tells_when_each_job_last_ran(self, gitmem: Run, cron: Path) -> None:
        gitmem("schedule", "install")
        gitmem("schedule", "run", "rotation", GITMEM_NOW="2026-02-08T12:30:00Z")

        said = gitmem("schedule")

        assert "  rotation       present    daily 00:00  last ran 2 hours ago\n" in said.out
        assert "  consolidation  present    Sun 02:00    has not run yet\n" in said.out
        assert gitmem("schedule", "status", "--json").document["runs"] == [
            {
                "group": "main",
                "job": "rotation",
                "time": "2026-02-08T12:30:00+00:00",
                "outcome": "nothing",
                "detail": "the layout has no log",
            }
        ]


@pytest.fixture(params=["""a b%d $HOME\xa0é""", """a b%d's $HOME "q" \\t"""], ids=["odd", "odder"])
def odd(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A folder whose name means something to shells, to cron and to systemd."""
    folder = tmp_path / str(request.param)
    folder.mkdir()
    return folder


@pytest.fixture
def program(odd: Path) -> Path:
    """gitmem, installed there."""
    path = odd / "gitmem"
    path.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from gitmem.cli import main\nmain()\n"
    )
    path.chmod(0o755)
    return path


class TestReally:
    """The very lines that are printed, as a scheduler would run them."""

    @pytest.fixture
    def store(self, odd: Path) -> Path:
        store = odd / "store"
        for args in (("init", "--layout", "standard"), ("rotate",)):
            run_gitmem(*args, "--store", str(store), GITMEM_NOW="2026-02-07T08:00:00Z")
        (store / "groups" / "main" / "state.md").write_text("an edit\n")
        return store

    def printed(self, program: Path, store: Path, backend: str) -> str:
        command = [program, "--store", store, "schedule", "print", "--backend", backend, "--quiet"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def check(self, store: Path) -> None:
        """What must have come of the three jobs."""
        work = store / "groups" / "main"
        assert (work / "sessions" / "2026-02-07.md").exists()
        assert git(work, "show", "HEAD:state.md") == "an edit\n"
        first, today = tags(store)
        assert (first, today > first) == ("snapshot/2026-02-07", True), "the log was begun that day"
        jobs = run_gitmem("status", "--store", str(store), "--json").document["jobs"]
        assert {"rotate", "snapshot", "report", "maintain"} <= {each["job"] for each in jobs}

    def test_the_lines_of_the_crontab(
        self, program: Path, store: Path, sealed_machine: Path
    ) -> None:
        lines = self.printed(program, store, "cron").splitlines()
        commands = [each.split(" ", 5)[5] for each in lines if not each.startswith("#")]

        assert len(commands) == 3
        for command in commands:
            # The name has no two backslashes in a row, so that all crons read it alike.
            done = subprocess.run(
                ["/bin/sh", "-c", command.replace("\\%", "%")],
                env={"HOME": str(sealed_machine), "PATH": "/usr/bin:/bin"},
                cwd=sealed_machine,
                capture_output=True,
                text=True,
                check=False,
            )
            assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        self.check(store)

    def test_the_units_of_systemd(self, program: Path, store: Path) -> None:
        lines = self.printed(program, store, "systemd").splitlines()
        starts = [each[len("ExecStart=") :] for each in lines if each.startswith("ExecStart=")]

        assert len(starts) == 3
        for start in starts:
            program_word, *words = shlex.split(start.replace("%%", "%"))
            words = [each.replace("$$", "$") for each in words]
            assert {str(program), str(store)} <= {program_word, *words}
            subprocess.run([program_word, *words], check=True)
        self.check(store)

    def test_systemd_itself_has_nothing_to_say_against_them(
        self,
        program: Path,
        store: Path,
        tmp_path: Path,
        tmp_path_factory: pytest.TempPathFactory,
    ) -> None:
        if shutil.which("systemd-analyze") is None:
            pytest.skip("systemd-analyze IS MISSING: units are NOT VERIFIED by systemd")
        (store / ".env").write_text("TZ=Europe/Berlin\n")
        folder = tmp_path / "units"
        folder.mkdir()
        command = [program, "--store", store, "schedule", "print", "--backend", "systemd", "--json"]
        done = subprocess.run(command, capture_output=True, check=True)
        for part in Said(0, "", "", done.stdout).document["parts"]:
            (folder / Path(part["path"]).name).write_text(part["text"])

        def verified() -> tuple[int, str]:
            runtime = tmp_path_factory.mktemp("run")  # sockets have short names
            done = subprocess.run(
                ["systemd-analyze", "verify", "--user", "--man=no", *folder.iterdir()],
                env=os.environ | {"XDG_RUNTIME_DIR": str(runtime)},
                capture_output=True,
                text=True,
                check=False,
            )
            return done.returncode, done.stderr

        assert verified() == (0, "")
        (timer,) = folder.glob("gitmem-snapshot-*.timer")
        timer.write_text(timer.read_text().replace("23:00:00", "25:00:00"))
        assert "Failed to parse calendar" in verified()[1]


class TestTasks:
    def test_the_list_has_priorities_and_says_what_comes_next(self) -> None:
        run_gitmem("init")

        said = run_gitmem("schedule", "tasks")

        assert said.code == 0
        rows = [" ".join(line.split()) for line in said.out.splitlines()]
        assert rows[0] == "context-check every 30 minutes priority 1 when idle"
        assert rows[2] == "snapshot daily 23:00 priority 3 when idle"
        assert "gitmem schedule tasks NAME" in said.err

    def test_a_name_prints_the_text_and_nothing_else(self) -> None:
        said = run_gitmem("schedule", "tasks", "context-check")

        shipped = ROOT / "templates" / "schedule" / "tasks" / "context-check.md"
        assert (said.code, said.out, said.err) == (0, shipped.read_text("utf-8"), "")

    def test_the_sync_has_the_name_that_the_groups_layout_has_for_it(self) -> None:
        run_gitmem("init")
        run_gitmem("init", "-g", "full", "--layout", "zylos")

        plain = run_gitmem("schedule", "tasks", "context-check").out
        full = run_gitmem("schedule", "tasks", "context-check", "-g", "full").out

        assert full == plain.replace("/gitmem-memory", "/zylos-memory") != plain
        assert run_gitmem("schedule", "tasks", "-g", "nowhere").code == 3

    def test_the_document_has_all_that_a_host_needs(self) -> None:
        first, *others = run_gitmem("schedule", "tasks", "--json").document["tasks"]

        assert first["name"] == "context-check"
        assert (first["priority"], first["require_idle"]) == (1, True)
        assert "Context OK: X%" in first["text"]
        for each in others:
            assert f"schedule run {each['name']}" in each["text"]

    def test_times_of_the_store_count_here_too(self) -> None:
        run_gitmem("init")
        home = Path(os.environ["HOME"]) / ".local" / "share" / "gitmem"
        (home / "config.yaml").write_text('schedule:\n  snapshot: "22:30"\n')

        (task,) = run_gitmem("schedule", "tasks", "snapshot", "--json").document["tasks"]

        assert (task["time"], task["cron"]) == ("daily 22:30", ["30 22 * * *"])

    def test_a_task_that_there_is_not(self) -> None:
        said = run_gitmem("schedule", "tasks", "contxt")

        assert said.code == 2
        assert "context-check" in said.err
