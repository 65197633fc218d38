"""What the tools take and what they refuse, each with its sentence."""

from __future__ import annotations

from typing import Any

import pytest

from service.arguments import BadArgument, Item, Limits, clamp_timeout, parse_arguments
from service.texts import Texts
from service.tools import research_tools

TOOLS = {tool.name: tool for tool in research_tools(has_images=True)}


def parsed(tool: str, speech: Any = "en", limits: Limits | None = None, **given: Any) -> dict[str, Any]:
    return parse_arguments(tool, TOOLS[tool].parameters, given, Texts(speech), limits or Limits())


def refused(tool: str, speech: Any = "en", **given: Any) -> str:
    with pytest.raises(BadArgument) as caught:
        parsed(tool, speech, **given)
    return str(caught.value)


@pytest.mark.parametrize(
    ("tool", "required", "expected"),
    [
        (
            "search_and_read",
            {"query": "q"},
            {"num_results": 5, "language": None, "date": None, "max_chars": None, "timeout_ms": None},
        ),
        (
            "web_search",
            {"query": "q"},
            {"num_results": 8, "page": 1, "language": None, "date": None, "timeout_ms": None},
        ),
        ("web_search_images", {"query": "q"}, {"num_results": 5, "language": None, "date": None, "timeout_ms": None}),
        (
            "read_page",
            {"url": "https://a.example/"},
            {"offset": 0, "max_chars": None, "remove_links": False, "robots_txt": False, "timeout_ms": None},
        ),
        (
            "read_pages",
            {"urls": ["https://a.example/"]},
            {"max_chars": None, "remove_links": False, "robots_txt": False, "timeout_ms": None},
        ),
    ],
)
def test_defaults_are_those_of_the_contract(tool: str, required: dict[str, Any], expected: dict[str, Any]) -> None:
    values = parsed(tool, **required)
    nulls = parsed(tool, **required, **dict.fromkeys(expected))

    assert {name: values[name] for name in expected} == expected
    assert set(values) == {*required, *expected}
    assert values == nulls


@pytest.mark.parametrize(
    ("tool", "name", "given", "taken"),
    [
        ("web_search", "num_results", 0, 1),
        ("web_search", "num_results", -5, 1),
        ("web_search", "num_results", 51, 50),
        ("web_search", "num_results", 10**40, 50),
        ("web_search", "num_results", "7", 7),
        ("web_search", "num_results", " 7 ", 7),
        ("web_search", "num_results", "+7.0", 7),
        ("web_search", "num_results", "-7", 1),
        ("web_search", "num_results", 7.0, 7),
        ("web_search", "page", 0, 1),
        ("search_and_read", "num_results", 11, 10),
        ("web_search_images", "num_results", 21, 20),
        ("search_and_read", "max_chars", -1, 0),
        ("search_and_read", "max_chars", 10**9, 1_000_000),
        ("web_search", "timeout_ms", 1, 1000),
        ("web_search", "timeout_ms", 10**9, 120_000),
        ("web_search", "timeout_ms", "2500", 2500),
        ("web_search", "language", " pt-BR ", "pt-BR"),
        ("web_search", "date", "w", "w"),
    ],
)
def test_numbers_are_clamped_and_numeric_strings_taken(tool: str, name: str, given: Any, taken: Any) -> None:
    assert parsed(tool, query="q", **{name: given})[name] == taken


@pytest.mark.parametrize(
    ("least", "most", "given", "taken"), [(1000, 500, 800, 500), (1000, 500, 100, 500), (1, 2, 9, 2)]
)
def test_the_upper_limit_of_time_wins(least: int, most: int, given: int, taken: int) -> None:
    assert clamp_timeout(given, Limits(min_timeout_ms=least, max_timeout_ms=most)) == taken


@pytest.mark.parametrize(
    "value", [True, "seven", "7.5", 7.5, float("inf"), float("nan"), [7], {"a": 1}, "", "9" * 5000]
)
def test_a_number_of_the_wrong_kind_is_named_with_its_range(value: Any) -> None:
    assert refused("web_search", query="q", num_results=value) == "num_results must be a whole number in 1..50"


def test_a_time_of_the_wrong_kind_is_named_with_its_range() -> None:
    assert refused("web_search", query="q", timeout_ms="soon") == "timeout_ms must be a whole number in 1000..120000"


@pytest.mark.parametrize("value", [1, 0, "true", "yes", []])
def test_a_boolean_is_true_or_false(value: Any) -> None:
    sentence = refused("read_page", url="https://a.example/", robots_txt=value)

    assert sentence == "robots_txt must be true or false"
    assert parsed("read_page", url="https://a.example/", robots_txt=True)["robots_txt"] is True


@pytest.mark.parametrize(
    "tag", ["en", "ru", "pt-BR", "zh-Hans-CN", "es-419", "de-CH-1996", "sl-rozaj", "en-x-a", "zh-yue-HK"]
)
def test_language_tags_are_taken(tag: str) -> None:
    assert parsed("web_search", query="q", language=tag)["language"] == tag


@pytest.mark.parametrize(
    "tag", ["", "e", "english", "pt_BR", "en-", "12", "en--US", 5, ["en"], "en-" + "abcde-" * 9 + "abcde"]
)
def test_other_languages_are_refused_with_examples(tag: Any) -> None:
    sentence = refused("web_search", query="q", language=tag)

    assert sentence == "language must be a BCP 47 language code such as en, ru or pt-BR, or null"


@pytest.mark.parametrize("value", ["day", "D", "", 1, ["d"], {"d": 1}])
def test_other_ages_are_refused_with_the_list(value: Any) -> None:
    sentence = refused("web_search", query="q", date=value)

    assert sentence == "date must be d, w, m or y (at most a day, week, month or year old), or null"


# --- queries --------------------------------------------------------------------------------------------------------


def test_a_query_is_stripped_and_cleaned() -> None:
    assert parsed("search_and_read", query="  two\n words\x00\ud800 ")["query"].target.startswith("two words")


@pytest.mark.parametrize("tool", ["search_and_read", "web_search", "web_search_images"])
@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("", "query must not be empty"),
        (" \n\t", "query must not be empty"),
        ("\u200b", "query must not be empty"),
        ("x" * 513, "query is too long"),
        ("x" * 1_000_000, "query is too long"),
    ],
)
def test_a_query_has_one_to_512_characters(tool: str, query: str, sentence: str) -> None:
    assert refused(tool, query=query) == sentence
    assert parsed(tool, query="x" * 512)


def test_a_query_of_the_wrong_kind_is_refused() -> None:
    several = "query must be a string of 1..512 characters, or a list of 1..10 such strings"

    assert refused("search_and_read", query=["a"]) == "query must be a string of 1..512 characters"
    assert refused("web_search", query=5) == several
    assert refused("web_search", query=["a", 5]) == several
    assert refused("web_search", query={"a": 1}) == several


def test_a_list_of_queries_has_one_to_ten() -> None:
    assert [item.target for item in parsed("web_search", query=["a", "b"])["query"]] == ["a", "b"]
    assert len(parsed("web_search", query=["q"] * 10)["query"]) == 10
    assert refused("web_search", query=[]) == "query must not be empty"
    assert refused("web_search", query=["q"] * 11) == "too many queries"


def test_the_operator_limits_the_list_of_queries() -> None:
    with pytest.raises(BadArgument, match="too many queries"):
        parsed("web_search", limits=Limits(max_queries=2), query=["q"] * 3)


def test_one_bad_query_is_an_item_and_all_bad_ones_are_an_error() -> None:
    items = parsed("web_search", query=["good", " "])["query"]

    assert items == (Item("good", "good"), Item("", "", "query must not be empty"))
    assert refused("web_search", query=[" ", "x" * 513]) == "query must not be empty; query is too long"


# --- addresses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("", "invalid url"),
        ("ftp://a.example/", "invalid url"),
        ("https://user:pass@a.example/", "invalid url"),
        ("https://a.example:99999/", "invalid url"),
        ("https://a.example/\x00", "invalid url"),
        ("https://a.example/" + "x" * 2048, "invalid url"),
        ("http://127.0.0.1/", "address not allowed"),
        ("http://[::ffff:7f00:1]/", "address not allowed"),
        ("http://localhost/", "address not allowed"),
        ("http://metadata.google.internal/", "address not allowed"),
    ],
)
def test_an_address_is_refused_with_one_of_two_sentences(url: str, sentence: str) -> None:
    assert refused("read_page", url=url) == sentence
    assert refused("read_pages", urls=[url]) == sentence


def test_an_address_is_shown_as_given_and_fetched_as_parsed() -> None:
    assert parsed("read_page", url=" HTTPS://A.example/x ")["url"] == Item("HTTPS://A.example/x", "https://a.example/x")


def test_private_addresses_may_be_opened() -> None:
    limits = Limits(allow_private=True)

    assert parsed("read_page", limits=limits, url="http://127.0.0.1:8080/")["url"].target == "http://127.0.0.1:8080/"


def test_addresses_of_the_wrong_kind_are_refused() -> None:
    several = "urls must be a list of 1..20 http or https addresses"

    assert refused("read_page", url=["https://a.example/"]) == "url must be an http or https address as a string"
    assert refused("read_pages", urls="https://a.example/") == several
    assert refused("read_pages", urls=["https://a.example/", None]) == several


def test_a_list_of_addresses_has_one_to_twenty() -> None:
    assert len(parsed("read_pages", urls=["https://a.example/"] * 20)["urls"]) == 20
    assert refused("read_pages", urls=[]) == "urls must not be empty"
    assert refused("read_pages", urls=["https://a.example/"] * 21) == "too many urls"


def test_one_bad_address_is_an_item() -> None:
    items = parsed("read_pages", urls=["https://a.example/", "nonsense"])["urls"]

    assert items == (
        Item("https://a.example/", "https://a.example/"),
        Item("nonsense", "", "invalid url"),
    )


# --- the call as a whole --------------------------------------------------------------------------------------------


def test_an_unknown_argument_is_refused_with_the_known_ones() -> None:
    sentence = refused("read_page", url="https://a.example/", depth=3)

    assert sentence == (
        "unknown argument depth; read_page takes url, offset, max_chars, remove_links, robots_txt, timeout_ms"
    )


def test_a_missing_argument_is_named_with_what_it_takes() -> None:
    assert refused("read_page") == "url is required: an http or https address as a string"
    assert refused("read_pages", urls=None) == "urls is required: a list of 1..20 http or https addresses"
    assert refused("search_and_read") == "query is required: a string of 1..512 characters"


def test_sentences_come_in_russian_too() -> None:
    assert refused("web_search", "ru", query="q", num_results="x") == "num_results: нужно целое число в пределах 1..50"
    assert refused("web_search", "ru", query="") == "запрос не должен быть пустым"
