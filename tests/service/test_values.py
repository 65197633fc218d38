"""One variable's text to a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from actors.row import Limit, Rate
from service import values
from service.values import SettingsError

GOOD: list[tuple[Callable[..., Any], str, object]] = [
    (values.boolean, "TRUE", True),
    (values.boolean, "off", False),
    (values.whole, "42", 42),
    (values.signed, "-3", -3),
    (values.seconds, "0.5", 0.5),
    (values.size, "20 MB", 20_000_000),
    (values.size, "15MiB", 15_728_640),
    (values.size, "1.5 kb", 1_500),
    (values.size, "1048576", 1_048_576),
    (values.duration, "14 days", 14 * 86_400.0),
    (values.duration, "1.5 h", 5_400.0),
    (values.rate, "1/45s", Rate(1, 45.0)),
    (values.rate, "1/1.1s", Rate(1, 1.1)),
    (values.rate, "60/m", Rate(60, 60.0)),
    (values.rate, "5 / 2 h", Rate(5, 7_200.0)),
    (values.rate, "None", None),
    (values.quota, "1000/month", Limit(1000, "month")),
    (values.quota, "100 / day", Limit(100, "day")),
    (values.quota, "1000/month@15", Limit(1000, "month", first_day=15)),
    (values.quota, "1000/Month @ 1", Limit(1000, "month")),
    (values.quota, "none", None),
    (values.proxy, "socks5h://user:pass@127.0.0.1:1080", "socks5h://user:pass@127.0.0.1:1080"),
    (values.base_url, "https://gateway.example.com:8443/a/b", "https://gateway.example.com:8443/a/b"),
    (values.base_url, "http://user:pass@localhost:8080", "http://user:pass@localhost:8080"),
    (values.hosts, "MCP.example.com, example.com:8443,[::1]:80", ("mcp.example.com", "example.com:8443", "[::1]:80")),
    (values.origins, "https://Claude.ai/,http://localhost:6274", ("https://claude.ai", "http://localhost:6274")),
    (values.host, "::1", "::1"),
    (values.secret, "sk-1/+=", "sk-1/+="),
    (values.text, "a b", "a b"),
]

BAD: list[tuple[Callable[..., Any], str]] = [
    (values.boolean, "maybe"),
    (values.whole, "0"),
    (values.whole, "-1"),
    (values.whole, "1.5"),
    (values.whole, "1_000"),
    (values.whole, "\u0661"),
    (values.whole, "9" * 20),
    (values.signed, "1.5"),
    (values.seconds, "0"),
    (values.seconds, "-1"),
    (values.seconds, "nan"),
    (values.seconds, "inf"),
    (values.seconds, "1e3"),
    (values.seconds, "9" * 15),
    (values.size, "0 MB"),
    (values.size, "20 parsecs"),
    (values.size, "-1 MB"),
    (values.duration, "14"),
    (values.duration, "0 days"),
    (values.duration, "two days"),
    (values.rate, "45"),
    (values.rate, "0/45s"),
    (values.rate, "1/0s"),
    (values.rate, "1/45 fortnights"),
    (values.quota, "1000"),
    (values.quota, "0/day"),
    (values.quota, "1000/month@29"),
    (values.quota, "1000/month@0"),
    (values.quota, "1000/day@2"),
    (values.quota, "10/week"),
    (values.proxy, "ftp://host"),
    (values.proxy, "host:1080"),
    (values.proxy, "http://host:70000"),
    (values.base_url, "host"),
    (values.base_url, "ftp://host"),
    (values.base_url, "http://"),
    (values.base_url, "http://host:0"),
    (values.base_url, "http://host:99999"),
    (values.base_url, "http://host/?a=1"),
    (values.base_url, "http://host/#a"),
    (values.base_url, "http://ho st/"),
    (values.base_url, "http://[::1"),
    (values.hosts, "https://mcp.example.com"),
    (values.hosts, "*"),
    (values.origins, "claude.ai"),
    (values.origins, "https://claude.ai/path"),
    (values.host, "a b"),
    (values.secret, "two words"),
    (values.secret, "schl\u00fcssel"),
    (values.text, "a\nb"),
    (values.text, "a\udcffb"),
]


@pytest.mark.parametrize(("parse", "value", "expected"), GOOD)
def test_a_well_formed_value_is_taken(parse: Callable[..., Any], value: str, expected: object) -> None:
    assert parse("NAME", value) == expected


@pytest.mark.parametrize(("parse", "value"), BAD)
def test_a_malformed_value_is_an_error_that_starts_with_the_variable(parse: Callable[..., Any], value: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse("NAME", value)

    assert caught.value.variable == "NAME"
    assert caught.value.sentence.startswith("NAME must ")


def test_no_sentence_repeats_the_value() -> None:
    for parse in (values.whole, values.seconds, values.size, values.rate, values.proxy, values.base_url, values.hosts):
        with pytest.raises(SettingsError) as caught:
            parse("NAME", "canary://user:hunter2@")  # type: ignore[operator]
        assert "hunter2" not in caught.value.sentence


def test_a_choice_is_taken_in_any_letter_case_and_named_as_it_is_spelt_in_the_table() -> None:
    assert values.choice("NAME", "info", ("DEBUG", "INFO")) == "INFO"
    with pytest.raises(SettingsError, match="^NAME must be DEBUG, INFO or WARNING$"):
        values.choice("NAME", "loud", ("DEBUG", "INFO", "WARNING"))


def test_a_whole_number_is_held_to_its_range() -> None:
    assert values.whole("NAME", "0", least=0) == 0
    with pytest.raises(SettingsError, match="^NAME must be a whole number from 1 to 65535$"):
        values.whole("NAME", "65536", most=65_535)


def test_a_path_loses_its_last_slash_and_may_not_be_one_of_ours() -> None:
    assert values.path("NAME", "/a/mcp/", taken=("/stats",)) == "/a/mcp"
    for value in ("mcp", "/", "/a?b", "/stats"):
        with pytest.raises(SettingsError, match="^NAME must "):
            values.path("NAME", value, taken=("/stats",))
