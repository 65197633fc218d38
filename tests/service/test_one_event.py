"""Answers over 1 MiB: JSON where nothing was sent before, and a smaller piece where a stream has begun."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client

from service.one_event import MAX_EVENT_BYTES, Message, whole_if_large
from tests.service.desk import Bench, FakeBackend, page
from tests.service.serverlab import serving

STREAM: Message = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")],
}
LARGE = b'{"result":"' + b"x" * MAX_EVENT_BYTES + b'"}'
URL = "https://a.example/"
# Every line end costs two bytes in JSON, every letter here two.
BOOK = "".join(f"Предложение номер {number}.\n\n" for number in range(40_000))

# The SDK's client leaves generators half read when a stream ends; nothing of ours does.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator '(httpx2|httpcore2|mcp):ResourceWarning")


def body(data: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


def event(data: bytes) -> Message:
    return body(b"event: message\r\ndata: " + data + b"\r\n\r\n")


async def sent(*messages: Message) -> list[Message]:
    """What goes out when the SDK sends these."""
    out: list[Message] = []

    async def send(message: Message) -> None:
        out.append(message)

    through = whole_if_large(send)
    for message in messages:
        await through(message)
    return out


async def test_a_large_first_event_leaves_as_json() -> None:
    head, only = await sent(STREAM, event(LARGE), body(b"", more=False))

    assert head["status"] == 200
    assert dict(head["headers"]) == {
        b"cache-control": b"no-cache",
        b"content-type": b"application/json",
        b"content-length": str(len(LARGE)).encode(),
    }
    assert only == body(LARGE, more=False)


@pytest.mark.parametrize(
    "messages",
    [
        [STREAM, event(b"{}"), body(b"", more=False)],
        [STREAM, event(b"{}"), event(LARGE), body(b"", more=False)],
        [STREAM, body(b": ping\r\n\r\n"), event(LARGE), body(b"", more=False)],
        [STREAM, body(b"data: " + LARGE), body(b"", more=False)],
        [{**STREAM, "headers": [(b"content-type", b"application/json")]}, body(LARGE, more=False)],
    ],
    ids=["small", "after another", "after a ping", "no whole event", "no stream"],
)
async def test_everything_else_passes_unchanged(messages: list[Message]) -> None:
    assert await sent(*messages) == messages


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_sdk_client_of_either_era_gets_a_page_of_a_million_characters(mode: Any) -> None:
    bench = Bench(FakeBackend(on_read=lambda target: page(target.url, BOOK)))
    async with serving(bench) as site, Client(site.url, mode=mode) as client:
        first = (await client.call_tool("read_page", {"url": URL})).structured_content
        rest = (await client.call_tool("read_page", {"url": URL, "offset": first["next_offset"]})).structured_content

    assert first["length"] == len(BOOK) > 1_000_000
    assert 990_000 < first["next_offset"] <= 1_000_000
    assert first["markdown"] + rest["markdown"] == BOOK


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_client_that_asked_for_progress_gets_as_much_as_it_can_take(mode: Any) -> None:
    events: list[tuple[str, dict[str, str | int]]] = [("trying", {"instance": "jina"})]
    bench = Bench(FakeBackend(on_read=lambda target: page(target.url, BOOK), events=events))
    pieces: list[str] = []
    offset: int | None = 0

    async def listen(_progress: float, _total: float | None, _message: str | None) -> None:
        return

    async with serving(bench) as site, Client(site.url, mode=mode) as client:
        while offset is not None:
            given = {"url": URL, "offset": offset}
            result = await client.call_tool("read_page", given, progress_callback=listen)
            pieces.append(result.structured_content["markdown"])
            offset = result.structured_content["next_offset"]

    assert "".join(pieces) == BOOK
    assert len(pieces) == 4
    assert len(bench.backend.asked) == 1
