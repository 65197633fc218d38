"""Markdown without link targets."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.links import remove_links


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("See [the docs](https://a.example/) here", "See the docs here"),
        ("[a](https://a.example/x_(y)) b", "a b"),
        ("[a](<https://a.example/x y>) b", "a b"),
        ('[a](https://a.example/ "A title") b', "a b"),
        ("[a](https://a.example/ 'A title') b", "a b"),
        ("[a](https://a.example/ (A title)) b", "a b"),
        ("[a]( https://a.example/\n) b", "a b"),
        ("[](https://a.example/)x", "x"),
        ("[**bold** and `code`](https://a.example/)", "**bold** and `code`"),
        ("[[image: logo]](https://a.example/)", "[image: logo]"),
        ("![a picture](https://a.example/p.png)", "[image: a picture]"),
        ("[![alt](p.png)](https://a.example/)", "[image: alt]"),
        ("[a [b] c](https://a.example/)", "a [b] c"),
        ("<https://a.example/> and <mailto:a@b.example>", "https://a.example/ and mailto:a@b.example"),
        ("[text][ref] and [ref] and [x][]\n\n[ref]: https://a.example/\n[x]: <b> 'T'\n", "text and ref and x\n\n"),
        ("[text][unknown]\n\n[ref]: https://a.example/\n", "[text][unknown]\n\n"),
        (r"[a](b\)c) d", "a d"),
        ("| [cell](u) | [b](v) |", "| cell | b |"),
        ("[a](javascript:alert) [b](#anchor)", "a b"),
    ],
)
def test_link_texts_stay_and_targets_go(markdown: str, expected: str) -> None:
    assert remove_links(markdown) == expected


@pytest.mark.parametrize(
    "markdown",
    [
        "no links [at all] (here)",
        "`[code](https://a.example/)`",
        "`` `[code](https://a.example/)` ``",
        "```md\n[a](https://a.example/)\n```\n",
        "~~~\n[a](b)\n```\n[c](d)\n~~~\n",
        "```\n[a](unclosed)",
        r"\[not a link](https://a.example/)",
        "[a] (b)",
        "[a](b c)",
        "[a](unclosed",
        '[a](b "unclosed)',
        "[a](<b\nc>)",
        "] stray",
        "[a](" + "(" * 40 + ")" * 40 + ")",
        "a < b and <b>html</b>",
        "array[0](1 + 2)",
    ],
)
def test_what_is_no_link_stays_as_it_is(markdown: str) -> None:
    assert remove_links(markdown) == markdown


def test_an_unclosed_code_mark_does_not_protect_a_link() -> None:
    assert remove_links("a ` b [c](d) e") == "a ` b c e"


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(["[", "]", "(", ")", "<", ">", "`", "```\n", "\\", "!", '"', " ", "\n", "a", "http://b"]))
)
def test_no_text_breaks_it(parts: list[str]) -> None:
    assert isinstance(remove_links("".join(parts)), str)


@pytest.mark.parametrize(
    "unit",
    ["[", "]", "[](", "[a](b ", '[a](b "', "[a](b '", "`", "``` ", "![", "[x][", "<http://", "((", "[a]: b\n", "\\"],
)
def test_time_grows_with_length_only(unit: str) -> None:
    def seconds(length: int) -> float:
        text = "[r]: x\n" + unit * (length // len(unit))
        started = time.process_time()
        remove_links(text)
        return time.process_time() - started

    shorter = min(seconds(10_000) for _ in range(2))

    # Four times as long: linear takes four times the time, quadratic sixteen.
    assert min(seconds(40_000) for _ in range(2)) < 8 * shorter + 0.05
