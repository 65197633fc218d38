"""The browsers that the impersonating transport chooses from."""

from __future__ import annotations

import re

import pytest
import structlog

from actors.profiles import PROFILES, Profile, known_profiles
from actors.units import Unit
from tests.actors.browserlab import Site, browser, site
from tests.actors.netlab import answer

ANSWER = answer(b"page")


async def headers_from(monkeypatch: pytest.MonkeyPatch, target: str, scheme: str) -> dict[str, str]:
    """What a site sees of a profile."""
    number = [profile.target for profile in PROFILES].index(target)
    monkeypatch.setattr("actors.impersonating.current_unit", lambda: Unit(choice=number))
    seen: Site = site(ANSWER)
    async with browser(seen, scheme=scheme) as (client, url):
        assert (await client.get(url, extensions={"from_caller": True})).content == b"page"
    return seen.headers[0]


def test_the_installed_library_has_every_profile() -> None:
    assert known_profiles() == PROFILES
    assert len({profile.target for profile in PROFILES}) == len(PROFILES)


def test_no_profile_is_an_alias_that_moves_with_the_library() -> None:
    assert all(re.search(r"\d{3}", profile.target) for profile in PROFILES)


def test_an_unknown_profile_is_dropped_with_a_line_in_the_log() -> None:
    with structlog.testing.capture_logs() as lines:
        kept = known_profiles([Profile("netscape4"), PROFILES[0]])

    assert kept == (PROFILES[0],)
    assert [(line["event"], line["target"]) for line in lines] == [("profile_unknown", "netscape4")]


def test_nothing_is_sent_without_any_profile() -> None:
    with pytest.raises(RuntimeError, match="none of the browser profiles"):
        known_profiles([Profile("netscape4")])


@pytest.mark.parametrize("target", [profile.target for profile in PROFILES])
async def test_a_page_is_opened_as_from_an_empty_tab(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    headers = await headers_from(monkeypatch, target, "https")

    assert headers["sec-fetch-dest"] == "document"
    assert headers["sec-fetch-mode"] == "navigate"
    assert headers["sec-fetch-site"] == "none"
    assert "cache-control" not in headers
    assert headers["accept"].startswith("text/html")
    assert headers["accept-encoding"] == "gzip, deflate, br, zstd"
    assert not {"cookie", "referer", "expect", "upgrade"} & set(headers)


@pytest.mark.parametrize("target", [profile.target for profile in PROFILES])
async def test_user_agent_and_client_hints_tell_of_one_browser(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    headers = await headers_from(monkeypatch, target, "https")

    number = re.search(r"\d{3}", target)
    assert number is not None
    agent = headers["user-agent"]
    if target.startswith("chrome"):
        assert f"Chrome/{number[0]}." in agent
        assert f'"Google Chrome";v="{number[0]}"' in headers["sec-ch-ua"]
        assert ("Macintosh" in agent) == (headers["sec-ch-ua-platform"] == '"macOS"') == target.endswith("_macos")
    else:
        assert "sec-ch-ua" not in headers
        assert ("Firefox/" if target.startswith("firefox") else "Version/") in agent


@pytest.mark.parametrize("target", [profile.target for profile in PROFILES])
async def test_plain_http_gets_no_header_that_is_for_secure_origins(
    monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    headers = await headers_from(monkeypatch, target, "http")

    assert not [name for name in headers if name.startswith("sec-") or name in ("te", "upgrade", "http2-settings")]
    assert headers["accept-encoding"] == "gzip, deflate"
    assert "upgrade" not in headers.get("connection", "").lower()
