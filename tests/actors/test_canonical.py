"""Which writings of an address are one, which are two, and what redirect wrappers hide."""

from __future__ import annotations

import base64
import random
import string

import pytest

from actors.canonical import canonical, unwrap

EIGHT_WRITINGS = [
    "https://www.example.com/Guide/a-b?x=1&y=2",
    "http://example.com/Guide/a-b?x=1&y=2",
    "https://EXAMPLE.com:443/Guide/a-b/?y=2&x=1",
    "https://example.com/Guide/a-b?x=1&y=2#part",
    "https://example.com/Guide/a-b?utm_source=n&x=1&y=2&fbclid=Q&gclid=7",
    "https://example.com./Guide/%61-b?x=1&y=%32",
    "HTTP://example.com:80/Guide/a-b?y=2&x=1&UTM_Medium=mail",
    " https://www.example.com/Guide/a%2Db/?x=%31&y=2&msclkid=1#top ",
]


def test_eight_writings_of_one_address_have_one_key():
    assert {canonical(url) for url in EIGHT_WRITINGS} == {"example.com/Guide/a-b?x=1&y=2"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://münchen.example/Straße", "https://xn--mnchen-3ya.example/Stra%C3%9Fe"),
        ("https://MÜNCHEN.example/", "https://www.xn--mnchen-3ya.example"),
        (
            "https://пример.example/?q=привет мир",
            "http://xn--e1afmkfd.example/?q=%D0%BF%D1%80%D0%B8%D0%B2%D0%B5%D1%82+мир",
        ),
        ("https://en.wiki.example/wiki/Foo_(bar)", "https://en.wiki.example/wiki/Foo_%28bar%29"),
        ("https://a.example/?q=caf%c3%a9", "https://a.example/?q=café"),
        ("https://a.example/%e4", "https://a.example/%E4"),
        ("https://a.example/?", "https://a.example"),
        ("https://a.example/x?flag", "https://a.example/x?flag="),
        ("https://[2001:DB8::1]:443/x", "http://[2001:db8::1]/x"),
        ("https://a.example:/x", "https://a.example/x"),
        ("https://%61.example/x", "https://a.example/x"),
    ],
)
def test_forms_of_one_address_are_one(one, other):
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://a.example/watch?v=1", "https://a.example/watch?v=2"),
        ("https://a.example/?id=1", "https://a.example/"),
        ("https://a.example/?id=1&id=2", "https://a.example/?id=1"),
        ("https://a.example/Page", "https://a.example/page"),
        ("https://a.example:8443/", "https://a.example/"),
        ("http://a.example:443/", "http://a.example/"),
        ("https://a.example/x%2Fy", "https://a.example/x/y"),
        ("https://a.example/x%3Fy", "https://a.example/x?y"),
        ("https://a.example/x%23y", "https://a.example/x"),
        ("https://a.example/x%2541", "https://a.example/xA"),
        ("https://a.example/?q=a%26b", "https://a.example/?q=a&b"),
        ("https://a.example/?q=a%2Bb", "https://a.example/?q=a+b"),
        ("https://a.example/%E4", "https://a.example/%C3%A4"),
        ("https://blog.a.example/", "https://a.example/"),
        ("https://user@a.example/", "https://a.example/"),
        ("https://www.example/", "https://example/"),
        ("https://a.example/?ref=x", "https://a.example/?ref=y"),
    ],
)
def test_addresses_that_differ_in_meaning_stay_two(one, other):
    assert canonical(one) != canonical(other)


def test_a_host_that_is_no_idn_keeps_its_writing():
    assert canonical("https://a_ö\u0378.example/") == "a_ö\u0378.example"
    assert canonical("https://" + "ö" * 300 + ".example/") == "ö" * 300 + ".example"


@pytest.mark.parametrize("junk", ["", "  ", "mailto:a@b", "https://", "http://[", "ftp://a.example/", "\x00", "/x"])
def test_what_is_no_web_address_is_its_own_key(junk):
    assert canonical(junk) == junk.strip()
    assert unwrap(junk) == junk


def _bing(url: str) -> str:
    code = base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")
    return f"https://www.bing.com/ck/a?!&&p=f00&ptn=3&u=a1{code}&ntb=1"


@pytest.mark.parametrize(
    ("wrapped", "inner"),
    [
        ("https://duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2Fx%3Fq%3D1&rut=0", "https://a.example/x?q=1"),
        ("https://html.duckduckgo.com/l/?uddg=http%3A%2F%2Fa.example", "http://a.example"),
        ("https://www.google.com/url?sa=t&url=https%3A%2F%2Fa.example%2F", "https://a.example/"),
        ("http://google.co.uk/url?q=https://a.example/&sa=U", "https://a.example/"),
        (_bing("https://a.example/?q=ü&z=1"), "https://a.example/?q=ü&z=1"),
        ("https://duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2F100%2525", "https://a.example/100%25"),
        (
            "https://www.google.com/url?q=https%3A%2F%2Fduckduckgo.com%2Fl%2F%3Fuddg%3Dhttps%253A%252F%252Fa.example%252F",
            "https://a.example/",
        ),
    ],
)
def test_redirect_wrappers_are_opened_and_decoded_once(wrapped, inner):
    assert unwrap(wrapped) == inner


@pytest.mark.parametrize(
    "kept",
    [
        "https://duckduckgo.com/?q=trio",
        "https://duckduckgo.com/l/?rut=1",
        "https://duckduckgo.com/l/?uddg=javascript%3Aalert(1)",
        "https://duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2F%0Aevil",
        "https://duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2Fa%20b",
        "https://duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2F" + "a" * 5000,
        "https://www.bing.com/ck/a?u=a1_%FF",
        "https://www.bing.com/ck/a?u=a1x",
        "https://www.bing.com/ck/a?u=b2aHR0",
        "https://www.bing.com/ck/a?p=1",
        "https://www.bing.com/search?q=x",
        "https://www.google.com/url?q=/search",
        "https://www.google.com/search?q=https://a.example",
        "https://google.evil.example.net/url?q=https://a.example/",
        "https://notduckduckgo.com/l/?uddg=https%3A%2F%2Fa.example",
    ],
)
def test_what_is_no_wrapper_or_hides_no_address_stays(kept):
    assert unwrap(kept) == kept


def test_endless_nesting_is_opened_a_few_times_only():
    url = "https://a.example/"
    for _ in range(6):
        url = _bing(url)

    assert unwrap(url) == _bing(_bing("https://a.example/"))


def test_no_text_raises(capsys):
    seed = random.randrange(2**32)
    print("seed", seed)
    rng = random.Random(seed)
    letters = string.printable + "äß漢\u200d\ud800\u0378٣"
    starts = ["http://", "https://www.", "https://duckduckgo.com/l/?uddg=", "https://bing.com/ck/a?u=a1", "//", ""]
    for _ in range(2000):
        text = rng.choice(starts) + "".join(rng.choices(letters, k=rng.randrange(30)))

        assert isinstance(canonical(text), str)
        assert isinstance(unwrap(text), str)
