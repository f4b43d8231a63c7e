"""A project folder uses the group it is linked to, and nothing else in the settings changes."""

from __future__ import annotations

from multiprocessing import get_context
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitmem.errors import BadInput, GroupNotFound, GroupRefused, NotFound
from gitmem.memory.admin.init import init
from gitmem.memory.admin.link import link, links, unlink, with_links
from gitmem.memory.group import Store

SETTINGS = "# mine\nrequire_group: false  # for now\n\nschedule:\n  rotation: '01:00'\n"


@pytest.fixture
def two(store: Store) -> Store:
    for name in ("main", "shop"):
        init(store, name)
    return store


def fresh(store: Store) -> Store:
    return Store(store.root)


def test_a_folder_and_all_below_it_use_the_group(two: Store, tmp_path: Path) -> None:
    project = tmp_path / "a project: #1"
    (project / "src").mkdir(parents=True)

    done = link(two, project, "shop")

    assert (done.group, done.before, done.changed) == ("shop", "", True)
    assert fresh(two).linked(str(project / "src")) == "shop"
    assert fresh(two).linked(str(tmp_path)) == ""
    assert [each.group for each in links(fresh(two))] == ["shop"]
    assert not link(two, project, "shop").changed


def test_the_nearest_folder_counts(two: Store, tmp_path: Path) -> None:
    inner = tmp_path / "project" / "inner"
    inner.mkdir(parents=True)
    link(two, inner.parent, "shop")
    link(two, inner, "main")

    assert fresh(two).linked(str(inner)) == "main"
    assert fresh(two).linked(str(inner.parent)) == "shop"
    assert unlink(two, inner).before == "main"
    assert fresh(two).linked(str(inner)) == "shop"


def test_a_link_to_a_folder_is_that_folder(two: Store, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")

    link(two, tmp_path / "alias", "shop")

    assert fresh(two).linked(str(tmp_path / "real")) == "shop"


def test_every_other_line_stays_as_it_is(two: Store, tmp_path: Path) -> None:
    two.config.write_text(SETTINGS)

    link(two, tmp_path, "shop")
    assert two.config.read_text().startswith(SETTINGS)
    link(fresh(two), tmp_path, "main")
    unlink(fresh(two), tmp_path)

    assert two.config.read_text() == SETTINGS


@pytest.mark.parametrize(
    "text",
    [
        "links: {}\nrequire_group: false\n",
        "links:\n  /a: shop  # a comment\n\n  /b: main\nrequire_group: false\n",
        "require_group: false\nlinks:\n    /a: shop",
        "",
    ],
)
def test_links_that_somebody_wrote_by_hand_are_kept(two: Store, tmp_path: Path, text: str) -> None:
    two.config.write_text(text)
    before = yaml.safe_load(text) or {}

    link(fresh(two), tmp_path, "shop")

    after = yaml.safe_load(two.config.read_text())
    wanted = {**(before.pop("links", None) or {}), str(tmp_path.resolve()): "shop"}
    assert after == {**before, "links": wanted}


@pytest.mark.parametrize(
    "text",
    [
        "links:\n  /a: shop\n# a comment\n  /b: main\n",
        "links: {\n/a: shop\n}\n",
    ],
)
def test_a_form_that_cannot_be_changed_is_left_alone(two: Store, tmp_path: Path, text: str) -> None:
    two.config.write_text(text)

    with pytest.raises(BadInput, match="would change other settings"):
        link(fresh(two), tmp_path, "shop")
    assert two.config.read_text() == text


def test_a_link_to_the_settings_and_the_ends_of_lines_stay(two: Store, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.yaml"
    real.write_bytes(b"require_group: false\r\n")
    two.config.symlink_to(real)

    link(fresh(two), tmp_path, "shop")

    assert two.config.is_symlink()
    assert b"\n" not in real.read_bytes().replace(b"\r\n", b"")


def test_settings_that_cannot_be_read_are_left_alone(two: Store, tmp_path: Path) -> None:
    two.config.write_text("links: [\n")

    with pytest.raises(BadInput, match=r"config\.yaml failed"):
        link(fresh(two), tmp_path, "shop")
    assert two.config.read_text() == "links: [\n"


def test_mistakes_are_told(two: Store, tmp_path: Path) -> None:
    with pytest.raises(GroupNotFound):
        link(two, tmp_path, "nobody")
    with pytest.raises(NotFound, match="no folder"):
        link(two, tmp_path / "none", "shop")
    with pytest.raises(NotFound, match="linked to no group"):
        unlink(two, tmp_path)
    with pytest.raises(GroupRefused):
        link(two, tmp_path, "main", acting="shop")


def test_a_folder_that_declined_a_link_is_known_until_it_gets_one(
    two: Store, tmp_path: Path
) -> None:
    folder, other = tmp_path / "a", tmp_path / "b"
    for each in (folder, other):
        each.mkdir()
    two.config.write_text(SETTINGS)

    done = unlink(fresh(two), folder, declines=True)
    link(fresh(two), other, "shop")

    assert (done.group, done.before, done.changed) == ("", "", True)
    assert fresh(two).declined == {str(folder)}
    assert fresh(two).links == {str(other): "shop"}
    assert fresh(two).linked(str(folder)) == ""
    link(fresh(two), folder, "shop")
    assert fresh(two).declined == set()
    for each in (folder, other):
        unlink(fresh(two), each)
    assert two.config.read_text() == SETTINGS
    with pytest.raises(GroupRefused):
        unlink(fresh(two), folder, acting="shop", declines=True)


def _link_many(root: str, folder: str, name: str, start: int) -> None:
    for number in range(start, start + 20):
        link(Store(Path(root)), Path(folder) / str(number), name)


def test_of_several_at_once_none_is_lost(two: Store, tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / str(number)).mkdir()
    context = get_context("spawn")
    crowd = [
        context.Process(target=_link_many, args=(str(two.root), str(tmp_path), "shop", start))
        for start in (0, 20)
    ]
    for each in crowd:
        each.start()
    for each in crowd:
        each.join()

    assert len(links(fresh(two))) == 40


@given(
    st.dictionaries(st.text(st.characters(codec="utf-8"), min_size=1).map("/{}".format), st.text()),
    st.sampled_from(["", SETTINGS, "links:\n  /x: y\n", "a: 1"]),
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_whatever_a_folder_is_called(wanted: dict[str, str], text: str) -> None:
    found = yaml.safe_load(with_links(text, wanted)) or {}

    others = {key: value for key, value in (yaml.safe_load(text) or {}).items() if key != "links"}
    assert found == ({**others, "links": wanted} if wanted else others)
