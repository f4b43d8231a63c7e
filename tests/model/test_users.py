"""A user's id becomes a file name, and the file name gives the id back."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gitmem.errors import BadInput, PathRefused
from gitmem.model.paths import MAX_PART_BYTES, check_path, find_twin, fold
from gitmem.model.users import decode_user, encode_user, name_of_user, user_path


@pytest.mark.parametrize(
    ("user", "name"),
    [
        ("howard", "howard"),
        ("telegram:123456", "telegram%3A123456"),
        ("4915@s.whatsapp.net", "4915@s.whatsapp.net"),
        ("discord/42", "discord%-42"),
        ("DOMAIN\\ada", "DOMAIN%_ada"),
        ("100%", "100%25"),
        (".hidden", "%2Ehidden"),
        ("two words", "two%20words"),
        ("李雷", "李雷"),
        ("Zoë", "Zo%C3%AB"),
    ],
)
def test_an_id_becomes_a_name_that_people_can_still_read(user: str, name: str) -> None:
    assert encode_user(user) == name
    assert decode_user(name) == user


@given(st.text(min_size=1, max_size=40), st.booleans())
def test_every_id_that_has_a_name_comes_back_from_it(user: str, spelled: bool) -> None:
    try:
        name = encode_user(user, spelled=spelled)
    except (BadInput, PathRefused):
        assume(False)
    assert decode_user(name) == user
    assert "/" not in check_path(name)


@given(st.text(min_size=1, max_size=20), st.text(min_size=1, max_size=20))
def test_two_ids_never_share_a_name(one: str, other: str) -> None:
    assume(one != other)
    try:
        assert encode_user(one) != encode_user(other)
    except (BadInput, PathRefused):
        assume(False)


def test_a_literal_name_comes_first() -> None:
    assert name_of_user("telegram:1", ["telegram:1", "telegram%3A1"]) == "telegram:1"
    assert name_of_user("telegram:1", ["telegram%3A1"]) == "telegram%3A1"
    assert name_of_user("telegram:1", []) == "telegram%3A1"


@pytest.mark.parametrize(
    "user",
    ["telegram:123456", "12345@s.whatsapp.net", "slack:T1:U2", "100%", "a b", "ada|x", "安"],
)
def test_where_names_are_literal_a_new_one_is_the_id_itself(user: str) -> None:
    assert name_of_user(user, [], literal=True) == user
    assert name_of_user(user, ["default", user], literal=True) == user


@pytest.mark.parametrize(
    ("user", "name"),
    [
        ("telegram/1", "telegram%-1"),
        ("a\\b", "a%_b"),
        (".hidden", "%2Ehidden"),
        ("a%3Ab", "a%253Ab"),
        ("x*", "x%2A"),
        ("{date}", "%7Bdate%7D"),
        ("a\nb", "a%0Ab"),
        ("\u212a", "%E2%84%AA"),
    ],
)
def test_an_id_that_no_file_can_be_called_is_encoded_all_the_same(user: str, name: str) -> None:
    assert name_of_user(user, [], literal=True) == name


def test_a_file_of_an_earlier_release_stays_the_only_one_of_its_user() -> None:
    assert name_of_user("telegram:1", ["telegram%3A1"], literal=True) == "telegram%3A1"
    assert name_of_user("Ada", ["%41%64%61"], literal=True) == "%41%64%61"
    both = ["telegram:1", "telegram%3A1"]
    assert name_of_user("telegram:1", both, literal=True) == "telegram:1"


def test_a_literal_name_that_stands_for_another_id_is_not_taken() -> None:
    assert name_of_user("telegram%3A123", ["telegram%3A123"]) == "telegram%253A123"
    assert name_of_user("a%-b", ["a%-b"]) == "a%25-b"
    assert name_of_user("100%", ["100%"]) == "100%"


def test_ids_that_differ_in_case_alone_get_names_that_differ_in_more() -> None:
    assert name_of_user("Ada", ["ada"]) == "%41%64%61"
    assert name_of_user("ada", ["Ada"]) == "%61%64%61"
    assert name_of_user("Ada", ["Ada", "ada"]) == "Ada"
    assert name_of_user("Ada", ["%41%64%61"]) == "%41%64%61"  # also when the other has gone


def test_the_default_is_nobodys() -> None:
    default = "users/default/profile.md"

    def place(user: str, *names: str) -> str:
        return user_path("users/{user}/profile.md", user, lambda _: names, default=default)

    spelled = "users/%64%65%66%61%75%6C%74/profile.md"
    assert place("default", "default") == place("default") == spelled
    assert place("Default") == "users/%44%65%66%61%75%6C%74/profile.md"
    assert place("ada", "default") == "users/ada/profile.md"
    assert user_path("u/{user}.md", "0", lambda _: ["0.md"], default="u/0.md") == "u/%30.md"


# Ids that would like to be one another, and names that somebody may have given by hand.
ALIKE = (
    "a A ab AB aB : %3A %253A a: a%3A %61 %41 %C3 é É %C3%A9 %2561 default Default DEFAULT ß ss SS "
    "%64%65%66%61%75%6C%74 % %% %- / \\ %_ ı I İ k \u212a Ω ω \uac00 \u1100\u1161"
)
alike = st.one_of(
    st.sampled_from(ALIKE.split()),
    st.text("aA%:.346", min_size=1, max_size=5),
)


@given(
    st.lists(alike, max_size=6, unique=True),
    st.sets(alike, max_size=5),
    st.booleans(),
    st.booleans(),
)
def test_no_two_ids_share_a_file_and_none_moves_once_it_is_there(
    users: list[str], by_hand: set[str], made: bool, literal: bool
) -> None:
    def place(user: str, folder: set[str], default: str) -> str:
        return user_path(
            "users/{user}.md", user, lambda _: folder, default=default, literal=literal
        )

    folder = {f"{each}.md" for each in by_hand if "/" not in each and "\\" not in each}
    default = "users/default.md"
    places: dict[str, str] = {}
    for user in users:
        try:
            path = place(user, folder, default)
        except (BadInput, PathRefused):
            continue
        assert decode_user(path.removeprefix("users/").removesuffix(".md")) == user
        assert fold(path) != default
        places[user] = path
        if made:
            folder.add(path.removeprefix("users/"))
    assert len(set(places.values())) == len(places)
    if made:
        for user, path in places.items():
            assert place(user, folder, default) == path


@given(st.lists(alike, max_size=6, unique=True), st.booleans())
def test_no_disk_takes_the_files_of_two_ids_for_one(users: list[str], literal: bool) -> None:
    folder: set[str] = set()
    for user in users:
        try:
            path = user_path("{user}", user, lambda _: folder, literal=literal)
        except (BadInput, PathRefused):
            continue
        assert find_twin(path, folder) is None
        assert path not in folder
        folder.add(path)


def test_the_path_of_a_user_follows_the_pattern_of_the_layer() -> None:
    folders = {"users": ["default", "telegram:1", "telegram%3A2.md", "x.md"]}

    def names_in(folder: str) -> list[str]:
        return folders.get(folder, [])

    assert user_path("users/{user}/profile.md", "telegram:1", names_in) == (
        "users/telegram:1/profile.md"
    )
    assert user_path("users/{user}.md", "telegram:2", names_in) == "users/telegram%3A2.md"
    assert user_path("people/{user}.md", "a/b", names_in) == "people/a%-b.md"
    assert user_path("u/{user}/{user}.md", "a:b", names_in) == "u/a%3Ab/a%3Ab.md"


@pytest.mark.parametrize("user", ["", "   ", "x" * (MAX_PART_BYTES + 1), ":" * 100])
def test_an_id_without_a_name_is_told_with_the_reason(user: str) -> None:
    with pytest.raises(BadInput, match=r"empty|too long"):
        encode_user(user)
