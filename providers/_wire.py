"""How a provider speaks HTTP: one request, one JSON answer, one page; failures come out as typed errors.

    reply = await get_json(client, self.url, params={"q": query.text}, headers=auth)
    with parsing():
        return Found(tuple(map(_hit, reply["results"])))

Where answers may be large, mapping them belongs into the worker too, and so into a module-level function:

    response = await ask(client, "GET", self.url, params={"q": query.text}, headers=auth)
    return await digest(response.content, _found)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

import httpx

from providers import _workers
from providers._contract import Malformed, TooHeavy, TooLarge
from providers._errors import parsing, translating
from providers._fetch import fetch_page
from providers._json import MAX_JSON_BYTES, digest_apart, digest_now
from providers._status import Rule, raise_for_status

__all__ = [
    "Rule",
    "ask",
    "digest",
    "fetch_page",
    "get_json",
    "parsing",
    "post_json",
    "raise_for_status",
    "translating",
]

# From here on a worker parses: 200 kB of JSON hold the loop for some 5 ms.
INLINE_BYTES = 200_000

T = TypeVar("T")
Json = Any
Params = Mapping[str, str | int | float | bool | None]

# Vendors' endpoints are few and always the same; parsing one takes longer than building the request around it.
_parsed = lru_cache(maxsize=64)(httpx.URL)


async def ask(
    client: httpx.AsyncClient,
    method: str,
    url: str,
    *,
    params: Params | None = None,
    headers: Mapping[str, str] | None = None,
    json: Json = None,
    content: bytes | None = None,
    data: Mapping[str, str] | None = None,
    parts: Mapping[str, str] | None = None,
    rules: Iterable[Rule] = (),
    max_body_bytes: int = MAX_JSON_BYTES,
    remote: str = "",
) -> httpx.Response:
    """Send one request to a vendor and return its answer, read whole, where its status is a success.

    `parts`: the fields of a multipart form without files. `remote`: names a second remote of the instance, which has
    a way of its own (`SideRemote` of its row).

    Raises typed errors: see `raise_for_status`, which gets `rules`, and `translating`. A body over
    `max_body_bytes` is Malformed, since the fault is the vendor's.
    """
    try:
        with translating():
            response = await client.request(
                method,
                _parsed(url),
                params=params,
                headers=headers,
                json=json,
                content=content,
                data=data,
                files={name: (None, value) for name, value in parts.items()} if parts else None,
                extensions={"max_body_bytes": max_body_bytes, "remote": remote},
            )
    except TooLarge as error:
        raise Malformed("answer too large") from error
    raise_for_status(response, rules)
    return response


async def get_json(
    client: httpx.AsyncClient,
    url: str,
    *,
    params: Params | None = None,
    headers: Mapping[str, str] | None = None,
    rules: Iterable[Rule] = (),
) -> Json:
    """GET a JSON answer. Raises what `ask` and `digest` raise."""
    response = await ask(client, "GET", url, params=params, headers=headers, rules=rules)
    return await digest(response.content, _as_it_is)


async def post_json(
    client: httpx.AsyncClient,
    url: str,
    *,
    json: Json,
    params: Params | None = None,
    headers: Mapping[str, str] | None = None,
    rules: Iterable[Rule] = (),
) -> Json:
    """POST a JSON body and read a JSON answer. Raises what `ask` and `digest` raise."""
    response = await ask(client, "POST", url, json=json, params=params, headers=headers, rules=rules)
    return await digest(response.content, _as_it_is)


async def digest(body: bytes, parse: Callable[[Json], T]) -> T:
    """Read a JSON body and hand it to `parse`, a module-level function; in a worker process where it is large.

    Raises Malformed where the body is no strict JSON, is over 5 MB, or `parse` stumbles over its shape. What
    `parse` raises of our typed errors comes through.
    """
    if len(body) > MAX_JSON_BYTES:
        raise Malformed("answer too large")
    if len(body) < INLINE_BYTES:
        return digest_now(body, parse)
    try:
        return await _workers.run(digest_apart, body, parse)
    except (TooHeavy, TooLarge) as error:
        raise Malformed("answer too heavy") from error


def _as_it_is(value: Json) -> Json:
    return value
