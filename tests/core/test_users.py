"""A user's id becomes a file name, and the file name gives the id back."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gitmem.core.paths import MAX_PART_BYTES, check_path
from gitmem.core.users import decode_user, encode_user, name_of_user, user_path
from gitmem.errors import BadInput, PathRefused


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
def test_every_id_that_has_a_name_comes_back_from_it(user: str, case: bool) -> None:
    try:
        name = encode_user(user, case=case)
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


def test_ids_that_differ_in_case_alone_get_names_that_differ_in_more() -> None:
    assert name_of_user("Ada", ["ada"]) == "%41da"
    assert name_of_user("Ada", ["ada", "%41da"]) == "%41da"
    assert name_of_user("Ada", ["Ada"]) == "Ada"


def test_the_path_of_a_user_follows_the_pattern_of_the_layer() -> None:
    folders = {"users": ["default", "telegram:1", "telegram%3A2.md", "x.md"]}

    def names_in(folder: str) -> list[str]:
        return folders.get(folder, [])

    assert user_path("users/{user}/profile.md", "telegram:1", names_in) == (
        "users/telegram:1/profile.md"
    )
    assert user_path("users/{user}.md", "telegram:2", names_in) == "users/telegram%3A2.md"
    assert user_path("people/{user}.md", "a/b", names_in) == "people/a%-b.md"


@pytest.mark.parametrize("user", ["", "   ", "x" * (MAX_PART_BYTES + 1), ":" * 100])
def test_an_id_without_a_name_is_told_with_the_reason(user: str) -> None:
    with pytest.raises(BadInput, match=r"empty|too long"):
        encode_user(user)
