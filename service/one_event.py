"""A large answer leaves as JSON and not as one event of a stream, since the SDK's client refuses an event over 1 MiB.

The SDK's server does the same in the newer protocol era for every answer that comes before its first notification. In
the older one it begins the stream at once, so the head of the stream is held back here until its first event is there.
That is no longer than the SDK's ping, which is an event like any other.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

# The limit is that of httpx2, 1,048,576 bytes; a little is left for the field names around the data.
MAX_EVENT_BYTES = 1_040_000

_EVENT = re.compile(rb"event: message\r\ndata: ([^\r\n]*)\r\n\r\n")


def whole_if_large(send: Send) -> Send:
    """A `send` for one request. Everything but a stream whose first event is too large passes unchanged."""
    held: list[Message] = []
    is_done = False

    async def passed(message: Message) -> None:
        nonlocal is_done
        if is_done:
            return
        if message["type"] == "http.response.start" and _is_stream(message):
            held.append(message)
            return
        data = _large_event(message) if held else None
        if data is None:
            while held:
                await send(held.pop())
            await send(message)
            return
        is_done = True
        await send(_json_head(held.pop(), len(data)))
        await send({"type": "http.response.body", "body": data, "more_body": False})

    return passed


def _is_stream(start: Message) -> bool:
    return any(name == b"content-type" and value.startswith(b"text/event-stream") for name, value in start["headers"])


def _large_event(message: Message) -> bytes | None:
    body = message.get("body", b"")
    if len(body) <= MAX_EVENT_BYTES:
        return None
    found = _EVENT.fullmatch(body)
    return found[1] if found else None


def _json_head(start: Message, length: int) -> Message:
    own = {b"content-type": b"application/json", b"content-length": str(length).encode()}
    kept = [(name, value) for name, value in start["headers"] if name not in own]
    return {**start, "headers": [*kept, *own.items()]}
