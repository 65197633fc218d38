"""Secrets out of text."""

from __future__ import annotations

import base64
import html
import json
import random
import time
from urllib.parse import quote, quote_plus

import pytest

from service.redact import MASK, Redactor

AWKWARD = 'pa ss"w/örd+<&>\\1'
SPELLINGS = {
    "raw": AWKWARD,
    "quoted": quote(AWKWARD, safe=""),
    "quoted_but_slash": quote(AWKWARD),
    "quoted_plus": quote_plus(AWKWARD),
    "quoted_twice": quote(quote(AWKWARD, safe=""), safe=""),
    "lower_case_hex": quote(AWKWARD, safe="").lower(),
    "json": json.dumps(AWKWARD),
    "json_unicode": json.dumps(AWKWARD, ensure_ascii=False),
    "json_in_json": json.dumps(json.dumps({"a": AWKWARD})),
    "repr": repr(AWKWARD),
    "html": html.escape(AWKWARD),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_secret_is_found_in_each_spelling(name: str) -> None:
    redacted = Redactor([AWKWARD]).text(f"before {SPELLINGS[name]} after")

    assert MASK in redacted
    assert redacted.startswith("before ")
    assert redacted.endswith(" after")
    assert "rd" not in redacted.replace(MASK, "")


def test_a_secret_is_found_inside_the_base64_of_anything_around_it() -> None:
    secret = "hunter2-and-more"
    redactor = Redactor([secret])

    for before in ("", "u", "us", "use", "user"):
        for after in ("", ":", "::", ":::"):
            for encode in (base64.b64encode, base64.urlsafe_b64encode):
                encoded = encode(f"{before}{secret}{after}".encode()).decode()
                assert MASK in redactor.text(f"Basic-{encoded}"), (before, after)


@pytest.mark.parametrize(
    ("text", "leak"),
    [
        ("http://user:hunter2@proxy.example.com:8080/", "hunter2"),
        ("socks5h://user:hunter2@proxy", "user"),
        ("connect to user:hunter2@10.0.0.1 failed", "hunter2"),
        ("https://api.example.com/v1?q=a&api_key=hunter2&n=1", "hunter2"),
        ("https://api.example.com/v1?key=hunter2#x", "hunter2"),
        ("https://s3.example.com/a?X-Amz-Signature=hunter2", "hunter2"),
        ("https://example.com/cb?access_token=hunter2", "hunter2"),
        ('{"api_key": "hunter2"}', "hunter2"),
        ('{"error": "{\\"apiKey\\": \\"hunter2\\"}"}', "hunter2"),
        ("{'password': 'hunter2'}", "hunter2"),
        ("Authorization: Bearer hunter2", "hunter2"),
        ("sent Bearer hunter2hunter2", "hunter2"),
        ("token%3Dhunter2", "hunter2"),
    ],
)
def test_what_looks_like_a_secret_is_taken_out_without_being_known(text: str, leak: str) -> None:
    redacted = Redactor().text(text)

    assert leak not in redacted
    assert MASK in redacted
    assert Redactor().text(redacted) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "https://medium.com/@author/post",
        "https://example.com:443/@author",
        "mail someone@example.com at 12:30",
        "the token is a word and the key to it; bearer cheques, basic training",
        '{"event": "read", "url": "https://example.com/?q=keyboard", "ok": true}',
        "monkey=banana",
        "retry_after=12.5 instance=brave",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert Redactor(["hunter2"]).text(text) == text


def test_a_secret_of_three_letters_is_not_searched_for_but_patterns_hold() -> None:
    redactor = Redactor(["abc"])

    assert redactor.text("abc in alphabet") == "abc in alphabet"
    assert "abc" not in redactor.text("http://user:abc@proxy/")


def test_a_short_secret_is_found_raw_but_not_in_base64_where_it_would_turn_up_by_chance() -> None:
    encoded = base64.b64encode(b"abcd").decode()

    assert Redactor(["abcd"]).text(f"abcd {encoded}") == f"{MASK} {encoded}"


def test_only_known_values_are_taken_out_of_page_text() -> None:
    text = "use http://user:password@host and key=value, not hunter2"

    assert Redactor(["hunter2"]).known(text) == f"use http://user:password@host and key=value, not {MASK}"


def test_of_two_secrets_that_overlap_the_longer_one_goes_whole() -> None:
    assert Redactor(["hunter2", "hunter2-long"]).text("hunter2-long hunter2") == f"{MASK} {MASK}"


def test_nested_values_are_redacted_with_their_keys_and_keep_their_shape() -> None:
    value = {"a": ["hunter2", 1, None, ("x hunter2",)], "hunter2": {"b": True}}

    assert Redactor(["hunter2"]).redact(value) == {"a": [MASK, 1, None, (f"x {MASK}",)], MASK: {"b": True}}


def test_random_json_stays_json_and_loses_the_secret() -> None:
    seed = random.randrange(2**32)
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(300):
        secret = "".join(chr(rng.choice((rng.randrange(33, 127), rng.randrange(0xA1, 0x3000)))) for _ in range(12))
        line = json.dumps({"event": "x", "detail": f"{rng.random()} {secret}", "n": 3})

        redacted = Redactor([secret]).text(line)

        assert json.loads(redacted)["n"] == 3
        assert secret not in json.loads(redacted)["detail"]


@pytest.mark.parametrize("piece", ["a", ":", "a:", "token=", "://", "bearer ", "@", "a:b@c ", "?key=", "password:\\\\"])
def test_no_text_makes_it_slow(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    started = time.process_time()

    Redactor([f"secret-{number}" for number in range(20)]).text(text)

    assert time.process_time() - started < 2.0
