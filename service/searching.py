"""The search tools: `web_search` and `web_search_images`, and the search of `search_and_read`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from actors.results import Merged, MergedHit, MergedImage, SearchResult
from providers._contract import ImageQuery, Query
from service import answers
from service.answers import Data, Frame, Searched
from service.arguments import Item
from service.calling import Answer, Call, each
from service.reasons import search_hint


async def web_search(call: Call) -> Answer:
    """Every query at once; a failed one never fails the others."""
    values = call.values

    async def ask(text: str) -> SearchResult[MergedHit]:
        query = Query(text, values["num_results"], values["page"], values["language"], values["date"])
        return await search(call, query, call.left)

    return _answer(call, await searched_each(values["query"], ask), answers.hits_text, answers.hits_data)


async def web_search_images(call: Call) -> Answer:
    """As `web_search`, for pictures."""
    values = call.values

    async def ask(text: str) -> SearchResult[MergedImage]:
        return await search_images(call, ImageQuery(text, values["num_results"], values["language"], values["date"]))

    return _answer(call, await searched_each(values["query"], ask), answers.images_text, answers.images_data)


async def search(call: Call, query: Query, timeout: float) -> SearchResult[MergedHit]:
    """Ask the backend one query; its result is `timeout` where it does not come back by the call's deadline."""
    asking = call.desk.backend.search(query, timeout=timeout, tell=call.tell)
    return await _bounded(call, query.text, query.limit, asking)


async def search_images(call: Call, query: ImageQuery) -> SearchResult[MergedImage]:
    """As `search`, for pictures, in what is left of the call's time."""
    asking = call.desk.backend.search_images(query, timeout=call.left, tell=call.tell)
    return await _bounded(call, query.text, query.limit, asking)


async def _bounded(call: Call, text: str, limit: int, asking: Awaitable[SearchResult[Merged]]) -> SearchResult[Merged]:
    found: SearchResult[Merged] | None = None
    with call.guard():
        found = await asking
    if found is None:
        return SearchResult(text, "timeout", (), (), call.elapsed)
    return replace(found, query=text, hits=found.hits[:limit])


async def searched_each(
    items: Sequence[Item], ask: Callable[[str], Awaitable[SearchResult[Merged]]]
) -> list[Searched[Merged]]:
    """One outcome per item; equal queries are asked once."""
    texts = list(dict.fromkeys(item.target for item in items if item.problem is None))
    results = dict(zip(texts, await each(texts, ask), strict=True))
    return [
        Searched(results[item.target])
        if item.problem is None
        else Searched(SearchResult(item.text, "failed", (), (), 0.0), item.problem)
        for item in items
    ]


def _answer(
    call: Call,
    searched: Sequence[Searched[Merged]],
    text_of: Callable[[Searched[Merged], Frame], str],
    data_of: Callable[[Searched[Merged], Frame], Data],
) -> Answer:
    frame = call.frame()
    data = {"results": [data_of(one, frame) for one in searched]}
    failure = failure_of(searched, frame)
    text = failure or "\n\n".join(text_of(one, frame) for one in searched)
    return Answer(text, data, failure is not None, search_facts(searched))


def failure_of(searched: Sequence[Searched[Any]], frame: Frame) -> str | None:
    """The sentence of a call whose queries all failed for a reason other than its deadline, else None."""
    if any(one.result.status != "failed" for one in searched):
        return None
    why = "; ".join(dict.fromkeys(failure for one in searched if (failure := one.failure(frame))))
    hint = search_hint((one.result for one in searched), frame.texts)
    return frame.texts.say("every_query_failed", why=why, hint=hint)


def search_facts(searched: Sequence[Searched[Any]]) -> dict[str, Any]:
    """The log fields of a search: what was asked, who ran, how much was found, what it cost."""
    reports = [report for one in searched for report in one.result.reports]
    queries = [one.result.query for one in searched]
    return {
        "query": queries[0] if len(queries) == 1 else queries,
        "instances": list(dict.fromkeys(report.instance for report in reports if report.status != "skipped")),
        "count": sum(len(one.result.hits) for one in searched),
        "billed": sum(report.billed for report in reports),
    }
