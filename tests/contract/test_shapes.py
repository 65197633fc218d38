"""Answers of another shape than the sheet says, for every registered type: a typed error, or a sound value."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from providers._workers import inline_workers
from tests.contract._checks import outcome
from tests.contract.conftest import KEY_CANARY, PLAYED, Stand, case_id
from tests.fakenet import payload, vendor

every_case = pytest.mark.parametrize(("name", "case"), PLAYED, ids=case_id)

WRONG = (None, True, 7, -1.5, "", "text", [], {}, [[]], {"a": 1}, ["\ud83d"], 10**300)


@pytest.mark.parametrize(("name", "case"), [pair for pair in PLAYED if pair[1].good.endswith(".json")], ids=case_id)
async def test_field_of_a_wrong_type_gives_a_typed_error_or_a_sound_value(name, case):
    urls = dict.fromkeys([*vendor(name).REMOTES, "web"], "http://127.0.0.1:1")
    provider = vendor(name).build(urls, KEY_CANARY)
    tried = 0
    with inline_workers():
        for changed in changed_shapes(json.loads(payload(name, case.good))):
            body = json.dumps(changed).encode()
            transport = httpx.MockTransport(lambda request, body=body: httpx.Response(200, content=body))
            async with httpx.AsyncClient(transport=transport) as client:
                stand = Stand(None, case, name, provider, client)
                await outcome(stand, case.job(urls))
            tried += 1

    assert tried >= len(WRONG)


@every_case
async def test_answer_cut_or_garbled_anywhere_gives_a_typed_error_or_a_sound_value(name, case):
    urls = dict.fromkeys([*vendor(name).REMOTES, "web"], "http://127.0.0.1:1")
    provider = vendor(name).build(urls, KEY_CANARY)
    with inline_workers():
        for body in damaged(payload(name, case.good)):
            answer = httpx.Response(200, content=body, headers={"content-type": case.content_type})
            transport = httpx.MockTransport(lambda request, answer=answer: answer)
            async with httpx.AsyncClient(transport=transport) as client:
                await outcome(Stand(None, case, name, provider, client), case.job(urls))


def damaged(good: bytes) -> Iterator[bytes]:
    """The payload cut at thirty places, and with a lone surrogate, a NUL or a stray byte there instead."""
    for place in range(0, len(good), max(len(good) // 30, 1)):
        yield good[:place]
        for stray in (b"\\ud83d", b"\xed\xa0\x80", b"\x00", b"\xff", b'"', b"<"):
            yield good[:place] + stray + good[place + len(stray) :]


def changed_shapes(good: Any) -> Iterator[Any]:
    """The payload with each of its fields, once per name and depth, replaced by each wrong value, and left out."""
    seen = set()
    for path in paths(good):
        kind = tuple("*" if isinstance(step, int) else step for step in path)
        if kind in seen:
            continue
        seen.add(kind)
        for wrong in WRONG:
            changed = copy.deepcopy(good)
            parent = functools.reduce(lambda value, step: value[step], path[:-1], changed)
            parent[path[-1]] = wrong
            yield changed
        del parent[path[-1]]
        yield changed


def paths(value: Any, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in items:
        yield (*above, step)
        yield from paths(inner, (*above, step))
