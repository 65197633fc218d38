"""`/ops` in a real browser: what it shows of a real server, and of one that says whatever may go wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from actors.breaker import BreakerStatistics
from actors.history import History
from actors.options import Orders
from actors.quota import QuotaStatistics
from actors.results import Report
from actors.statistics import ActorStatistics, CallStatistics
from providers._contract import Kind
from service.app import HttpApp
from service.gate import Gate
from service.ops import OpsDesk, ops_page
from service.server import Shutdown
from tests.e2e._stage import FakenetProcess, ServerProcess, free_port, server_process
from tests.e2e._tab import Tab, open_tab
from tests.service.desk import Bench, FakeBackend, found, hit
from tests.service.serverlab import serving_app

pytestmark = pytest.mark.system("chromium")

READY = "!document.getElementById('figures').hidden"
CONTACT = "document.getElementById('contact').textContent"
FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
HOSTILE = f"<script>boom()</script><svg onload=boom()><b onclick=boom()>x</b> {'word' * 80} שגיאה בשרת"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with open_tab(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


def ask(server: ServerProcess, tool: str, **arguments: Any) -> None:
    """One call, without the ceremony of a client."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {"Accept": "application/json, text/event-stream"}
    httpx.post(server.mcp_url, json=body, headers=headers, trust_env=False, timeout=30).raise_for_status()


def row(instance: str) -> str:
    """The part of the page that shows an instance, as an expression."""
    return (
        f"[...document.querySelectorAll('#roles tbody')].find((one) => one.innerText.includes('{instance}')).innerText"
    )


def test_it_follows_a_real_server_through_failure_and_restart(tab: Tab, net: FakenetProcess, tmp_path: Path) -> None:
    environment = {
        "SEARXNG_URL": net.urls["searxng"],
        "SEARXNG_RATE": "none",
        "ALLOW_PRIVATE_NETWORK": "true",
        "MCP_PORT": str(free_port()),
    }
    with server_process(environment, tmp_path / "first") as server:
        tab.go(f"{server.url}/ops")
        tab.until(READY)
        assert "Nothing has happened yet" in tab.text("#calls")
        assert "No call has ended yet" in tab.text("#last")

        ask(server, "web_search", query="type k thermocouple")
        net.play("searxng", "status", code=500)
        ask(server, "web_search", query="something else")
        tab.run("poll()")
        tab.until(f"{row('searxng')}.includes('failed: unavailable 1')")
        tab.until("document.querySelectorAll('#recent > li').length === 2")

        assert "Last error: unavailable" in tab.run(row("searxng"))
        assert "1 answered, 1 failed" in tab.run(row("searxng"))
        assert "searxng unavailable" in tab.text("#recent > li")
        assert "something else" in tab.text("#recent > li")
        assert (tab.complaints, set(tab.requested)) == ([], {f"{server.url}/ops", f"{server.url}/ops/data"})

        tab.go(f"{server.url}/ops")
        tab.until(READY)
        assert "1 answered, 1 failed" in tab.run(row("searxng"))
    tab.run("poll()")
    tab.until(f"{CONTACT} === 'Not reached'")
    assert tab.text("#says") == "The server cannot be reached: it does not answer."
    assert "last seen" in tab.text("#seen")
    assert "something else" in tab.text("#recent > li")

    with server_process(environment, tmp_path / "second"):
        tab.run("poll()")
        tab.until(f"{CONTACT} === 'Live'")
        assert "The server was started anew" in tab.text("#says")
        assert "Nothing has happened yet" in tab.text("#calls")
        assert tab.run("document.querySelectorAll('#recent > li').length") == 0


# --- a server in this process -----------------------------------------------------------------------------------------


def actors() -> list[ActorStatistics]:
    """Many, in every state, with long names and hostile errors."""
    fields: list[dict[str, Any]] = [
        {"state": "running", "breaker": BreakerStatistics("open", 28.4)},
        {"state": "running", "breaker": BreakerStatistics("half_open", 0.0)},
        {"state": "retired", "restarts": 5, "proxy": "socks5h://proxy-of-the-operator.example.com:1080"},
        {"state": "running", "quota": QuotaStatistics(2000, "month", 1900, 100, "2027-01-01T00:00:00+00:00")},
        {"state": "disabled"},
    ]
    calls = CallStatistics(12, 7, 1, {"timeout": 2, "blocked": 1}, {"throttled": 1})
    return [
        ActorStatistics(
            f"provider-with-a-long-name-{at}", "t", ("search", "read"), **one, calls=calls, last_error=HOSTILE
        )
        for at, one in enumerate(fields)
    ]


async def drive(bench: Bench, steps: Callable[[str], None], token: str | None = None) -> None:
    """Serve the page of that bench on a real socket, and drive the browser over it from a thread."""
    history, page = History(), ops_page()
    history.count("ok", trio.current_time())
    names = tuple(one.instance for one in bench.actors)
    orders = Orders(search=(names[0], names[1:3], *names[3:]), read=names[:1])
    desk = OpsDesk(bench.stats_desk(), orders, lambda: {names[0]: history}, bench.service.recent)
    refuse: Any = None
    app = HttpApp(refuse, Gate(token=token), desk.pages(page), open_pages=frozenset(), sign_in={"/ops": page})
    with trio.fail_after(60):
        async with serving_app(app, Shutdown(lambda: None, lambda _: None)) as site:
            await trio.to_thread.run_sync(steps, f"http://127.0.0.1:{site.port}/ops")


async def bench_with_calls() -> Bench:
    reports = (Report("provider-with-a-long-name-0", "failed", Kind.BLOCKED, HOSTILE[:300], elapsed=1.2),)
    bench = Bench(
        FakeBackend(on_search=lambda query: found(hit(1), query=query.text, reports=reports)), actors=actors()
    )
    await bench.call("web_search", query=f"{HOSTILE[:400]}")
    await bench.call("web_search", query=["one", "two", "three"])
    return bench


async def test_hostile_texts_do_nothing_and_nothing_is_wider_than_a_phone(tab: Tab) -> None:
    def steps(url: str) -> None:
        for width in (360, 800, 1280):
            tab.go(url, width=width, dark=width == 800)
            tab.until(READY)
            tab.run("for (const one of document.querySelectorAll('details')) one.open = true")
            assert tab.run(FITS), width
            assert HOSTILE in tab.run("document.querySelector('#roles .error bdi').textContent")
            assert tab.run("document.querySelectorAll('#figures :is(b, script, svg:not(.spark))').length") == 0
            background = tab.run("getComputedStyle(document.body).backgroundColor")
            assert background == ("rgb(20, 23, 26)" if width == 800 else "rgb(245, 246, 247)")
            assert tab.complaints == []

    await drive(await bench_with_calls(), steps)


async def test_an_update_leaves_focus_scroll_selection_and_open_details_alone(tab: Tab) -> None:
    bench = await bench_with_calls()

    def steps(url: str) -> None:
        tab.go(url)
        tab.until(READY)
        tab.run("document.querySelector('#recent summary').focus()")
        tab.press("Enter", 13, "\r")
        tab.until("document.querySelector('#recent details').open")
        tab.run(
            "window.was = {focus: document.activeElement, row: document.querySelector('#roles tbody'),"
            " nodes: document.querySelectorAll('*').length};"
            "scrollTo(0, 300)"
        )
        trio.from_thread.run(bench.call, "web_search")
        tab.run("poll()")
        tab.until("document.querySelectorAll('#recent > li').length === 3")

        assert tab.run("was.focus === document.activeElement && was.focus.parentElement.open")
        assert tab.run("was.row === document.querySelector('#roles tbody')")
        assert tab.run("scrollY") >= 300
        tab.run("was.nodes = document.querySelectorAll('*').length")
        tab.run("poll()")
        assert tab.run("was.nodes === document.querySelectorAll('*').length")

    await drive(bench, steps)


async def test_a_screen_reader_finds_landmarks_headings_tables_and_words_for_drawings(tab: Tab) -> None:
    def steps(url: str) -> None:
        tab.go(url, width=360)
        tab.until(READY)
        nodes = [node for node in tab.ask("Accessibility.getFullAXTree")["nodes"] if not node["ignored"]]
        found_nodes = {(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes}
        roles = {role for role, _ in found_nodes}

        assert {"banner", "main", "navigation", "status", "table", "rowheader", "columnheader", "row"} <= roles
        assert {"Tool calls, last hour", "Last calls", "Search"} <= {
            name for role, name in found_nodes if role == "heading"
        }
        assert any(role == "image" and name.startswith("Last hour: 1 answered, 0 failed") for role, name in found_nodes)
        assert ("image", "No call finished in the last hour") in found_nodes
        assert all(
            name for role, name in found_nodes if role in ("image", "button", "link", "table", "region", "meter")
        )

    await drive(await bench_with_calls(), steps)


async def test_a_token_is_asked_for_kept_for_the_tab_and_forgotten(tab: Tab) -> None:
    def sign_in(token: str) -> None:
        tab.until("document.activeElement.id === 'token'")
        tab.ask("Input.insertText", text=token)
        tab.press("Enter", 13, "\r")

    def steps(url: str) -> None:
        tab.go(url)
        tab.until(f"{CONTACT} === 'Token needed'")
        assert not tab.run(READY)
        sign_in("wrong")
        tab.until("document.getElementById('wrong').textContent !== ''")
        sign_in("naïve\u2026")
        tab.until("document.getElementById('wrong').textContent.includes('characters')")
        sign_in("t0ken")
        tab.until(READY)
        assert not any("t0ken" in address for address in tab.requested)

        tab.run("location.reload()")
        tab.until(f"document.readyState === 'complete' && {READY}")
        tab.run("document.getElementById('forget').click()")
        tab.until(f"document.readyState === 'complete' && {CONTACT} === 'Token needed'")
        assert tab.run("JSON.stringify({...sessionStorage})") == "{}"

    await drive(await bench_with_calls(), steps, token="t0ken")


async def test_replicas_that_answer_in_turn_are_told_from_a_restart(tab: Tab) -> None:
    def steps(url: str) -> None:
        tab.go(url)
        tab.until(READY)
        for uptime, told, sentence in (
            (9000, "notices", "Replicas answer in turn"),
            (0, "says", "The server was started anew"),
        ):
            assert sentence not in tab.run(f"document.getElementById('{told}').textContent")
            tab.run(
                "window.real ??= fetch; window.fetch = async (...asked) => { const data = await (await real(...asked))"
                f".json(); data.process = 'another {uptime}'; data.service.uptime_s = {uptime};"
                " return new Response(JSON.stringify(data)) }"
            )
            tab.run("poll()")
            tab.until(f"document.getElementById('{told}').textContent.includes({json.dumps(sentence)})")

    await drive(await bench_with_calls(), steps)


async def test_a_pause_stops_the_asking(tab: Tab) -> None:
    def steps(url: str) -> None:
        tab.go(url)
        tab.until(READY)
        tab.run("document.getElementById('pause').click()")
        before = len(tab.requested)
        tab.run("poll()")
        assert (tab.text("#contact"), tab.text("#pause"), len(tab.requested)) == ("Paused", "Resume", before)
        tab.run("document.getElementById('pause').click()")
        tab.until(f"{CONTACT} === 'Live'")

    await drive(await bench_with_calls(), steps)


async def test_what_answers_but_is_no_server_of_ours_is_not_believed(tab: Tab) -> None:
    def steps(url: str) -> None:
        tab.go(url)
        tab.until(READY)
        for answer, why in (
            ("new Response('<h1>hello</h1>')", "what answers is no research-mcp"),
            ("new Response('{}')", "what answers is no research-mcp"),
            ("new Response('', {status: 502})", "it answers with status 502"),
        ):
            tab.run(f"window.fetch = async () => {answer}")
            tab.run("poll()")
            tab.until(f"document.getElementById('seen').textContent.includes({json.dumps(why)})")
            assert tab.text("#contact") == "Not reached"
            assert "provider-with-a-long-name-0" in tab.text("#roles")

    await drive(await bench_with_calls(), steps)
