"""The service behind the protocol: refusals, counters, log lines, progress, and what a client is told of the server."""

from __future__ import annotations

import base64
from typing import Any
from xml.etree import ElementTree

import mcp_types
import pytest
import trio
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from structlog.testing import capture_logs
from trio.testing import wait_all_tasks_blocked

from actors.results import Report, Step
from providers._contract import Kind
from service.icon import SVG
from service.protocol import Identity, make_server
from tests.service.desk import Bench, FakeBackend, forever, found, hit, page, unfound, unread

ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])


@ERAS
async def test_a_client_is_told_who_the_server_is_and_that_it_has_tools_only(mode: Any) -> None:
    async with Client(Bench().server, mode=mode) as client:
        info = client.server_info
        capabilities = client.server_capabilities

        assert info is not None
        assert (info.name, info.version, info.website_url) == ("research-mcp", "1.2.3", None)
        assert info.title == "Research: search and read the web"
        assert "search_and_read for research" in (client.instructions or "")
        assert capabilities is not None
        assert capabilities.model_dump(exclude_none=True) == {"tools": {"list_changed": False}}


@ERAS
async def test_the_icon_needs_no_fetching_and_is_a_drawing_without_script(mode: Any) -> None:
    async with Client(Bench().server, mode=mode) as client:
        assert client.server_info is not None
        (icon,) = client.server_info.icons or []

    kind, _, data = icon.src.partition(",")
    drawing = base64.b64decode(data, validate=True).decode()
    assert (kind, icon.mime_type, icon.sizes) == ("data:image/svg+xml;base64", "image/svg+xml", ["any"])
    assert drawing == SVG
    assert {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(drawing).iter()} <= {
        "svg", "g", "rect", "path",
    }  # fmt: skip
    assert len(icon.src) < 500


@ERAS
async def test_the_website_is_the_one_the_package_names(mode: Any) -> None:
    bench = Bench()
    server = make_server(bench.service, Identity(website_url="https://research.example/"), bench.desk.texts)
    async with Client(server, mode=mode) as client:
        assert client.server_info is not None
        assert client.server_info.website_url == "https://research.example/"


async def test_the_list_of_tools_may_be_cached() -> None:
    async with Client(Bench().server, mode="auto") as client:
        listed = await client.list_tools()

    assert (listed.ttl_ms, listed.cache_scope) == (300_000, "public")


@ERAS
async def test_an_unknown_tool_is_a_protocol_error(mode: Any) -> None:
    async with Client(Bench().server, mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("web_serach", {})

    assert caught.value.error.code == mcp_types.INVALID_PARAMS
    assert caught.value.error.message == "Unknown tool: web_serach"


async def test_progress_reaches_a_client_that_asked_for_it() -> None:
    told: list[tuple[float, str | None]] = []

    async def listen(progress: float, _total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async def respond(_query: Any) -> Any:
        await wait_all_tasks_blocked()
        return found(hit(1))

    events: list[tuple[str, dict[str, str | int]]] = [("asking", {"count": 2}), ("trying", {"instance": "jina"})]
    bench = Bench(FakeBackend(respond, events=events))
    async with Client(bench.server, mode="legacy") as client:
        await client.call_tool("web_search", {"query": "q"}, progress_callback=listen)
        await client.call_tool("web_search", {"query": "q"})

    assert told == [(1.0, "asking 2 search providers"), (2.0, "trying jina")]


@ERAS
async def test_nulls_survive_the_way_to_the_client(mode: Any) -> None:
    async with Client(Bench().server, mode=mode) as client:
        result = await client.call_tool("web_search", {"query": "q"})

    assert result.structured_content is not None
    assert result.structured_content["results"][0]["error"] is None
    assert result.structured_content["results"][0]["hits"][0]["published"] is None


async def test_a_call_past_the_limit_is_told_so_at_once() -> None:
    bench = Bench(FakeBackend(forever), limit=1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: bench.call("web_search", query="q"))
        await wait_all_tasks_blocked()
        with capture_logs() as lines:
            answer = await bench.call("read_page", url="https://a.example/")
        nursery.cancel_scope.cancel()

    assert answer.is_error
    assert answer.text == "too many calls at once: 1 are running; try again in a moment"
    assert lines == [{"event": "read", "log_level": "info", "ok": False, "rejected": answer.text}]


async def test_a_secret_that_a_vendor_echoes_is_taken_out_of_text_and_data_alike() -> None:
    report = Report("duckduckgo", "failed", Kind.DENIED, detail="the key hunter2-hunter2 is not valid")
    long_text = "A word. " * 20_000
    answers: dict[str, Any] = {
        "https://a.example/": unread("https://a.example/", Step("jina", "failed", Kind.DENIED, "key hunter2-hunter2?")),
        "https://b.example/": page("https://b.example/", long_text),
    }
    backend = FakeBackend(lambda _: unfound(report), on_read=lambda target: answers[target.url])
    bench = Bench(backend, secrets=("hunter2-hunter2",))

    searched = await bench.call("web_search", query="q")
    unreadable = await bench.call("read_page", url="https://a.example/")
    read = await bench.call("read_page", url="https://b.example/")

    for answer in (searched, unreadable):
        assert "hunter2" not in answer.text
        assert "hunter2" not in str(answer.data)
        assert "[redacted]" in answer.text
    assert read.data is not None
    assert read.data["markdown"] == long_text


async def test_a_draining_service_says_so() -> None:
    bench = Bench()
    bench.calls.drain()

    answer = await bench.call("web_search", query="q")

    assert (answer.is_error, answer.text) == (True, "the server is shutting down; try again in a moment")


async def test_a_bug_of_ours_is_a_sentence_and_a_logged_traceback() -> None:
    def break_down(_query: Any) -> Any:
        raise KeyError("secret detail")

    bench = Bench(FakeBackend(break_down))

    with capture_logs() as lines:
        answer = await bench.call("web_search", query="q")

    assert (answer.is_error, answer.text, answer.data) == (True, "internal server error", None)
    assert [line["event"] for line in lines] == ["tool_crashed", "web_search"]
    assert lines[1]["ok"] is False
    assert bench.calls.statistics()["web_search"].failed == 1


async def test_a_call_whose_client_left_is_logged_and_counted() -> None:
    bench = Bench(FakeBackend(forever))

    with capture_logs() as lines:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: bench.call("web_search", query="q"))
            await wait_all_tasks_blocked()
            assert bench.calls.statistics()["web_search"].in_flight == 1
            nursery.cancel_scope.cancel()

    assert [(line["event"], line["query"], line["ok"], line["cancelled"]) for line in lines] == [
        ("web_search", "q", False, True)
    ]
    assert bench.calls.statistics()["web_search"].in_flight == 0
    assert bench.calls.statistics()["web_search"].failed == 1


async def test_each_call_leaves_one_log_line() -> None:
    reports = (
        Report("duckduckgo", "ok", count=2, billed=0),
        Report("brave", "ok", billed=1),
        Report("searxng", "skipped", Kind.THROTTLED),
    )
    steps = (Step("trafilatura", "failed", Kind.BLOCKED), Step("jina", "ok", billed=3))
    read = page("https://a.example/")
    read = type(read)(**{name: getattr(read, name) for name in read.__slots__} | {"steps": steps, "provider": "jina"})
    bench = Bench(FakeBackend(lambda query: found(hit(1), hit(2), reports=reports), on_read=lambda _: read))

    with capture_logs() as lines:
        await bench.call("web_search", query="q")
        await bench.call("web_search", query=["q", "r"])
        await bench.call("read_page", url="https://a.example/")
        await bench.call("read_pages", urls=["https://a.example/", "https://b.example/"])
        await bench.call("search_and_read", query="q")
        await bench.call("web_search", query="")

    for line in lines:
        assert isinstance(line.pop("elapsed_ms"), int)
    ran = ["duckduckgo", "brave"]
    info = {"log_level": "info", "ok": True}
    assert lines == [
        {"event": "web_search", "query": "q", "instances": ran, "count": 2, "billed": 1, **info},
        {"event": "web_search", "query": ["q", "r"], "instances": ran, "count": 4, "billed": 2, **info},
        {
            "event": "read",
            "url": "https://a.example/",
            "provider": "jina",
            "steps": ["trafilatura:blocked", "jina:ok"],
            "billed": 3,
            **info,
        },
        {"event": "read_pages", "count": 2, "billed": 6, **info, "ok": 2},
        {
            "event": "search_and_read",
            "query": "q",
            "instances": ran,
            "count": 2,
            "pages": 2,
            "billed": 7,
            **info,
        },
        {"event": "web_search", "query": "", "rejected": "query must not be empty", **info, "ok": False},
    ]


async def test_a_failed_call_is_logged_as_such() -> None:
    bench = Bench(FakeBackend(lambda _: unfound(), on_read=lambda target: unread(target.url)))

    with capture_logs() as lines:
        await bench.call("web_search", query="q")
        await bench.call("read_page", url="https://a.example/")

    assert [line["ok"] for line in lines] == [False, False]


def test_schemas_are_given_to_the_sdk_by_name() -> None:
    service = Bench().service

    schema = service.schema_of("read_page")

    assert schema is not None
    assert schema["required"] == ["url"]
    assert service.schema_of("nope") is None


async def test_a_refused_call_is_logged_with_what_it_asked_for_cleaned() -> None:
    bench = Bench()

    with capture_logs() as lines:
        await bench.call("read_page", url="ftp://a.example/\x1b[31m\u202e" + "x" * 5000)
        await bench.call("read_page", url=7)
        await bench.call("web_search", query="q", url="https://a.example/")

    assert lines[0]["url"].startswith("ftp://a.example/")
    assert len(lines[0]["url"]) <= 2048
    assert lines[0]["url"].isprintable()
    assert "url" not in lines[1]
    assert (lines[2]["query"], "url" in lines[2]) == ("q", False)


@pytest.mark.parametrize(("is_traced", "count"), [(True, 1), (False, 0)])
def test_the_sdk_makes_spans_only_where_somebody_takes_them(is_traced: bool, count: int) -> None:
    bench = Bench()

    server = make_server(bench.service, Identity(is_traced=is_traced), bench.desk.texts)

    assert len(server.middleware) == count
