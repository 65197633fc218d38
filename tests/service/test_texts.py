"""The catalogue of sentences, held to be the same in both languages."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

from providers._contract import Kind, Note
from service.texts import CATALOGUE, Texts

CYRILLIC = re.compile("[а-яё]", re.IGNORECASE)


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


@pytest.mark.parametrize("key", CATALOGUE)
def test_both_languages_say_the_same_thing(key: str) -> None:
    text = CATALOGUE[key]

    assert text.en.strip()
    assert text.ru.strip()
    assert fields(text.en) == fields(text.ru)
    assert CYRILLIC.search(text.ru)
    assert not CYRILLIC.search(text.en)


@pytest.mark.parametrize("key", [*(f"kind.{kind.value}" for kind in Kind), *(f"note.{note.value}" for note in Note)])
def test_every_kind_and_note_has_words(key: str) -> None:
    assert key in CATALOGUE


def test_every_key_is_used_and_every_used_key_exists() -> None:
    source = "".join(
        path.read_text() for path in Path("service").glob("*.py") if path.name not in ("texts.py", "__main__.py")
    )
    used = set(re.findall(r"""["']([a-z_]+(?:\.[a-z_]+)*)["']""", source))
    prefixes = set(re.findall(r"""f["']([a-z_]+\.)\{""", source))
    unused = {key for key in CATALOGUE if key.removesuffix(".one") not in used and not key.startswith(tuple(prefixes))}

    assert unused == set()
    for key in re.findall(r'say\("([^"]+)"', source):
        assert key in CATALOGUE


@pytest.mark.parametrize(("language", "expected"), [("en", "too many queries"), ("ru", "слишком много запросов")])
def test_the_language_is_chosen(language: str, expected: str) -> None:
    assert Texts(language).say("too_many_queries") == expected


def test_placeholders_are_filled_and_braces_in_values_stay() -> None:
    assert Texts().say("failed", why="{x}") == "failed: {x}"
    with pytest.raises(KeyError):
        Texts().say("failed")
    with pytest.raises(KeyError):
        Texts().say("no such key")


def test_one_of_a_kind_is_not_many() -> None:
    assert [Texts().say("hits", count=count) for count in (0, 1, 2)] == ["0 results", "1 result", "2 results"]
    assert Texts().say("truncated", count=1) == "[content truncated by 1 characters]"


def test_every_entry_for_one_has_an_entry_for_many() -> None:
    assert {key.removesuffix(".one") for key in CATALOGUE if key.endswith(".one")} <= CATALOGUE.keys()
