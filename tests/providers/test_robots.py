"""robots.txt as RFC 9309 has it."""

from __future__ import annotations

import time

import pytest

from providers._robots import is_allowed, matches

SITE = "https://site.example"


@pytest.mark.parametrize(
    ("robots", "path", "allowed"),
    [
        ("", "/a", True),
        ("User-agent: *\nDisallow: /", "/a", False),
        ("User-agent: *\nDisallow:", "/a", True),
        ("User-agent: *\nDisallow: /", "/robots.txt", True),
        ("User-agent: other\nDisallow: /", "/a", True),
        ("User-agent: Research-MCP\nDisallow: /a", "/a/b", False),
        ("User-agent: research-mcp/1.0\nDisallow: /", "/a", False),
        ("User-agent: *\nDisallow: /\n\nUser-agent: research-mcp\nAllow: /", "/a", True),
        ("User-agent: research-mcp\n\nUser-agent: *\nDisallow: /", "/a", False),
        ("User-agent: a\nUser-agent: research-mcp\nDisallow: /x", "/x", False),
        ("User-agent: research-mcp\nDisallow: /x\nUser-agent: b\nDisallow: /y", "/y", True),
        ("User-agent: research-mcp\nDisallow: /x\n\nUser-agent: research-mcp\nDisallow: /y", "/y", False),
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("User-agent: *\nAllow: /a\nDisallow: /a", "/a", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf?z", True),
        ("User-agent: *\nDisallow: /a*b*c", "/a1b2c3", False),
        ("User-agent: *\nDisallow: /x$", "/xy", True),
        ("User-agent: *\nDisallow: /s?q=", "/s?q=1", False),
        ("User-agent: *\nDisallow: /%D0%B6", "/ж", False),
        ("User-agent: *\nDisallow: /a%2ab", "/a%2Ab", False),
        ("User-agent: * # all\nDisallow: /a # here", "/a", False),
        ("\ufeffuser-agent:*\r\ndisallow:/a\r\n", "/a", False),
        ("Disallow: /", "/a", True),
        ("Sitemap: x\nUser-agent: *\nCrawl-delay: 3\nDisallow: /a", "/a", False),
        ("<html>not found</html>", "/a", True),
    ],
)
def test_the_longest_matching_rule_of_our_group_decides(robots: str, path: str, allowed: bool) -> None:
    assert is_allowed(robots.encode(), SITE + path, "research-mcp") is allowed


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        (b"/a*", b"/a", True),
        (b"*", b"/", True),
        (b"/*a$", b"/ba", True),
        (b"/a*a$", b"/a", False),
        (b"/a**b", b"/ab", True),
    ],
)
def test_wildcards(pattern: bytes, path: bytes, expected: bool) -> None:
    assert matches(pattern, path) is expected


def test_a_hostile_pattern_takes_no_time() -> None:
    robots = b"User-agent: *\nDisallow: /" + b"*a" * 100_000 + b"b\n"
    started = time.process_time()
    is_allowed(robots * 2, SITE + "/" + "a" * 2_000, "research-mcp")

    assert time.process_time() - started < 1
