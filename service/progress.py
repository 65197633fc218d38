"""Progress notifications: what a waiting caller may see, sent without ever holding up the work."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import trio

from actors.results import Tell
from service.texts import Texts

# Enough for a batch that starts twenty pages at once; what does not fit is dropped, since newer news follows.
_PENDING = 32

Report = Callable[[float, str], Awaitable[None]]


def silent(_event: str, _fields: dict[str, str | int]) -> None:
    """A `Tell` for callers that asked for no progress."""


@asynccontextmanager
async def open_progress(report: Report | None, texts: Texts) -> AsyncIterator[Tell]:
    """A `Tell` whose events reach `report` as sentences, numbered 1, 2, 3 ...

    A client that does not read blocks the sending task only; it is cancelled when the block ends.
    """
    if report is None:
        yield silent
        return
    send, receive = trio.open_memory_channel[str](_PENDING)

    def tell(event: str, fields: dict[str, str | int]) -> None:
        try:
            send.send_nowait(texts.say(f"progress.{event}", **fields))
        except trio.WouldBlock:
            return

    async with trio.open_nursery() as nursery:
        nursery.start_soon(_forward, receive, report)
        yield tell
        nursery.cancel_scope.cancel()


async def _forward(receive: trio.MemoryReceiveChannel[str], report: Report) -> None:
    number = 0
    async for sentence in receive:
        number += 1
        await report(float(number), sentence)
