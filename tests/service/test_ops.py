"""The page of `/ops` may do nothing but what it must; its data are complete, clean, redacted and quick."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Sequence
from importlib.resources import files
from itertools import product
from typing import Any

import pytest
import trio.testing

from actors.history import History
from actors.options import Orders
from actors.results import Report
from actors.statistics import ActorStatistics
from providers._contract import Kind
from service.app import HttpApp
from service.gate import Gate
from service.ops import FILES, FRESH_CALLS, OpsDesk, ops_page
from service.recent import MAX_CALLS
from service.redact import Redactor
from tests.service.desk import Bench, FakeBackend, found, hit
from tests.service.test_app import LOCAL, asked, echo

BEARER = (b"authorization", b"Bearer t0ken")


def actor(name: str, *roles: str, state: Any = "running") -> ActorStatistics:
    return ActorStatistics(name, name, roles, state)


def desk_of(bench: Bench, orders: Orders | None = None, secrets: Sequence[str] = (), **histories: History) -> OpsDesk:
    stats = bench.stats_desk(Redactor(secrets).text)
    return OpsDesk(stats, orders or Orders(), lambda: histories, bench.service.recent)


def shown(desk: OpsDesk) -> Any:
    return json.loads(desk.data().body)


def app_of(bench: Bench, token: str | None = None) -> HttpApp:
    page = ops_page()
    return HttpApp(
        echo,
        Gate(token=token),
        desk_of(bench).pages(page),
        open_pages=frozenset(),
        sign_in={"/ops": page},
    )


# --- the page -------------------------------------------------------------------------------------------------------


def test_the_page_is_one_document_that_names_no_other() -> None:
    body = ops_page().body.decode()

    assert body.startswith("<!doctype html>")
    assert "{{" not in body.replace("${{", "")
    assert re.findall(r"\b(?:src|href)=\"(?!data:|#)[^\"]*", body) == []
    assert re.findall(r"url\(|@import|import\(|innerHTML|eval\(|insertAdjacent|document\.write", body) == []
    # What is not a request: the name of SVG's vocabulary.
    assert set(re.findall(r"https?://[^\"'\s]+", body)) == {"http://www.w3.org/2000/svg"}


def test_the_policy_allows_this_script_and_this_style_and_no_other() -> None:
    page = ops_page()
    [policy] = [value.decode() for name, value in page.headers if name == b"content-security-policy"]

    for kind in ("script", "style"):
        [inside] = re.findall(rf"<{kind}>(.*?)</{kind}>", page.body.decode(), re.DOTALL)
        digest = b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; ")
    assert {"frame-ancestors 'none'", "base-uri 'none'", "connect-src 'self'"} <= set(policy.split("; "))


def test_all_files_of_the_page_are_in_it() -> None:
    assert {file.name for file in (files("service") / "ops_page").iterdir()} == set(FILES)


def colours() -> tuple[dict[str, str], dict[str, str]]:
    css = (files("service") / "ops_page" / "style.css").read_text(encoding="utf-8")
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#\w{6});", block)) for block in re.findall(r":root \{(.*?)\}", css, re.S)
    )
    return light, dark


def contrast(one: str, other: str) -> float:
    """As WCAG 2.2 defines it, success criterion 1.4.3."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("palette", colours(), ids=["light", "dark"])
def test_texts_and_drawings_stand_out_from_what_is_behind_them(palette: dict[str, str]) -> None:
    pairs = [*product(("text", "quiet", "link", "bad"), ("page", "card", "quiet-soft"))]
    pairs += [(tone, f"{tone}-soft") for tone in ("ok", "warn", "bad", "quiet")]
    pairs += [("text", f"{tone}-soft") for tone in ("warn", "bad")]
    drawings = [("bar", "card"), ("fall", "card"), ("axis", "page")]

    assert [pair for pair in pairs if contrast(*(palette[name] for name in pair)) < 4.5] == []
    assert [pair for pair in drawings if contrast(*(palette[name] for name in pair)) < 3] == []


# --- who gets it ----------------------------------------------------------------------------------------------------


async def test_without_a_token_to_ask_for_both_are_given() -> None:
    app = app_of(Bench())
    page, data = await asked(app, "GET", "/ops"), await asked(app, "GET", "/ops/data")

    assert (page.status, page.headers[b"content-type"]) == (200, b"text/html; charset=utf-8")
    assert page.headers[b"cache-control"] == b"no-store"
    assert data.status == 200
    assert data.json["service"]["name"] == "research-mcp"


async def test_who_has_no_token_gets_the_form_that_asks_for_it_and_no_figure() -> None:
    app = app_of(Bench(), token="t0ken")
    page, data = await asked(app, "GET", "/ops"), await asked(app, "GET", "/ops/data")

    assert (page.status, page.headers[b"www-authenticate"]) == (401, b"Bearer")
    assert b'<form id="sign-in"' in page.body
    assert b"content-security-policy" in page.headers
    assert (data.status, data.json) == (401, {"error": "a bearer token is required"})
    for path in ("/ops", "/ops/data"):
        assert (await asked(app, "GET", path, headers=[*LOCAL, BEARER])).status == 200


async def test_a_foreign_host_or_origin_gets_not_even_the_form() -> None:
    app = app_of(Bench(), token="t0ken")
    for headers, status in (
        ([(b"host", b"evil.example")], 421),
        ([*LOCAL, (b"origin", b"https://evil.example"), BEARER], 403),
    ):
        for path in ("/ops", "/ops/data"):
            response = await asked(app, "GET", path, headers=headers)

            assert (response.status, b"sign-in" in response.body) == (status, False)


# --- the data -------------------------------------------------------------------------------------------------------


async def test_the_data_are_those_of_stats_and_more() -> None:
    bench = Bench(actors=[actor("brave", "search")])
    stats = json.loads(bench.stats_desk().stats().body)

    data = shown(desk_of(bench))

    assert data["actors"] == stats["actors"]
    assert data["service"].keys() == stats["service"].keys()
    assert set(data) - set(stats) == {"process", "roles", "ready", "history", "recent"}


async def test_roles_name_who_runs_in_the_order_they_are_asked() -> None:
    actors = [
        actor("exa", "search"),
        actor("jina", "search", "read", "rerank"),
        actor("tavily-1", "search", state="unconfigured"),
        actor("tavily-2", "search", state="restarting"),
        actor("tavily-3", "search"),
        actor("serper", "search", "images", state="disabled"),
        actor("trafilatura", "read", "robots"),
    ]
    orders = Orders(
        search=("jina", ("tavily-1", "tavily-2", "tavily-3"), "serper", "exa", "gone"),
        images=("serper",),
        read=("trafilatura", "jina"),
        rerank="jina",
    )

    data = shown(desk_of(Bench(actors=actors), orders))

    assert {entry["role"]: entry["groups"] for entry in data["roles"]} == {
        "search": [["jina"], ["tavily-2", "tavily-3"], ["exa"]],
        "images": [],
        "read": [["trafilatura"], ["jina"]],
        "robots": [["trafilatura"]],
        "rerank": [["jina"]],
    }
    assert data["ready"]["search"] == ["exa", "jina", "tavily-3"]


async def test_nobody_need_rerank() -> None:
    data = shown(desk_of(Bench(actors=[actor("exa", "search")])))

    assert [entry["groups"] for entry in data["roles"]] == [[], [], [], [], []]


async def test_the_hour_of_each_instance_is_there_and_of_idle_ones_is_not(
    autojump_clock: trio.testing.MockClock,
) -> None:
    busy, bench = History(), Bench()
    busy.count("failed", trio.current_time())
    busy.time(0.25, trio.current_time())
    await bench.call("web_search", query="q")

    data = shown(desk_of(bench, exa=busy, brave=History()))

    assert set(data["history"]["instances"]) == {"exa"}
    assert data["history"]["instances"]["exa"] == {
        "answered": [0] * 60,
        "failed": [0] * 59 + [1],
        "late": [0] * 60,
        "timed": [0] * 59 + [1],
        "mean_ms": [None] * 59 + [250.0],
        "longest_ms": [None] * 59 + [250.0],
    }
    assert sum(data["history"]["calls"]["answered"]) == 1


async def test_a_recent_call_has_its_steps_and_its_age(autojump_clock: trio.testing.MockClock) -> None:
    reports = (Report("brave", "failed", Kind.TIMEOUT, "no answer in time", elapsed=2.0), Report("exa", "ok"))
    bench = Bench(FakeBackend(on_search=lambda query: found(hit(1), query=query.text, reports=reports)))
    await bench.call("web_search", query="tides")
    await trio.sleep(12)

    [call] = shown(desk_of(bench))["recent"]

    assert call == {
        "number": 1,
        "tool": "web_search",
        "ended": "ok",
        "rejected": None,
        "ms": 0,
        "asked": None,
        "parts": [
            {
                "about": "tides",
                "status": "success",
                "ms": 250,
                "steps": [
                    {
                        "instance": "brave",
                        "status": "failed",
                        "reason": "timeout",
                        "detail": "no answer in time",
                        "ms": 2000,
                    },
                    {"instance": "exa", "status": "ok", "reason": None, "detail": None, "ms": 0},
                ],
                "more_steps": 0,
            }
        ],
        "more_parts": 0,
        "ago_s": 12.0,
    }


async def test_what_callers_and_vendors_wrote_is_cleaned_and_redacted() -> None:
    reports = (Report("exa", "failed", Kind.BLOCKED, "key s3cr3t-k3y \x1b[31m\u202eno\ud800"),)
    bench = Bench(FakeBackend(on_search=lambda query: found(query=query.text, reports=reports)))
    await bench.call("web_search", query="what is s3cr3t-k3y for")
    await bench.call("read_page", url="https://a.example/?api_key=abcdefgh")
    await bench.call("read_page", url="not\x07 a url password=hunter22")

    body = desk_of(bench, secrets=["s3cr3t-k3y"]).data().body.decode()

    assert not any(hidden in body for hidden in ("s3cr3t-k3y", "abcdefgh", "hunter22", "\\u001b", "\\u202e", "\\ud800"))
    assert "what is [redacted] for" in body


async def test_calls_come_a_few_at_a_time_the_newest_first_until_all_are_there() -> None:
    bench = Bench()
    for number in range(MAX_CALLS):
        await bench.call("web_search", query=f"q{number}")
    desk = desk_of(bench)

    first = [call["number"] for call in shown(desk)["recent"]]
    for _ in range(MAX_CALLS // FRESH_CALLS - 1):
        last = [call["number"] for call in shown(desk)["recent"]]
    await bench.call("web_search", query="another")
    after = [call["number"] for call in shown(desk)["recent"]]

    assert first == list(range(MAX_CALLS, MAX_CALLS - FRESH_CALLS, -1))
    assert last == list(range(MAX_CALLS, 0, -1))
    assert after == list(range(MAX_CALLS + 1, 1, -1))
