"""Calls over bare sockets, for tests that make many at once or end the server in the middle of them."""

from __future__ import annotations

import json
from typing import Any

import trio

from tests.bench._load import Call, Connection

DIED = (OSError, trio.BrokenResourceError, ValueError)
"""What a call raises whose server ends under it; ValueError for half an answer."""


async def ask(port: int, call: Call) -> dict[str, Any]:
    """The JSON-RPC result of one call on a connection of its own. Raises one of DIED when the server goes."""
    async with Connection(port) as connection:
        _, body = await connection.ask(call.request(port))
    # Either one object, or a stream whose last event is the answer.
    answer = json.loads(body.rpartition(b"data: ")[2])
    result: dict[str, Any] = answer["result"]
    return result
