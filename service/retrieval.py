"""The retrieval toolset (SPEC section 10): three tools over the same actors, for clients of that contract.

The text of an answer is the JSON of its structured content. Sentences of this contract are English whatever the help
language is, since clients compare them. A time-out is never an error of a call: the item says `timeout`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import trio

from actors.results import Merged, MergedHit, MergedImage, SearchResult
from providers._contract import ImageQuery, Query
from service import retrieval_data as data
from service.answers import Data, Frame, Read, Searched, milliseconds
from service.arguments import (
    BadArgument,
    Check,
    Item,
    Limits,
    Parameter,
    boolean,
    date,
    query_item,
    unless_all_bad,
    url_item,
    whole_number,
)
from service.calling import Answer, Call, Tool
from service.paging import cut, within_bytes
from service.reading import read_all
from service.searching import search, search_facts, search_images, searched_each
from service.settings import RetrievalLimits
from service.texts import Texts

SECONDS = 5.0
SAYS = Texts("en")

_LIST: Data = {"type": "array", "items": {"type": "string"}}
_INTEGER: Data = {"type": "integer"}
_BOOLEAN: Data = {"type": "boolean"}
_DATE: Data = {"enum": ["d", "w", "m", "y", None]}


class Refused(BadArgument):
    """An argument with a sentence of its own in this contract; all others are `invalid request`."""


def refusal(problem: BadArgument) -> str:
    return str(problem) if isinstance(problem, Refused) else SAYS.say("invalid_request")


def retrieval_tools(limits: RetrievalLimits, *, has_images: bool) -> tuple[Tool, ...]:
    """The toolset; the image search is in it only where an instance can do it."""
    tool = partial(Tool, seconds=SECONDS, refusal=refusal, draining="request_canceled")
    tools = (
        tool(
            "web_search",
            "tool.retrieval.web_search",
            "web_search",
            (_QUERIES, _count("max_results", limits.default_results, limits.max_results), _TIMEOUT, _DATED),
            data.WEB_SEARCH,
            run=partial(web_search, gate=_Gate(limits.max_search_in_flight)),
            title="tool.web_search.title",
        ),
        tool(
            "web_search_images",
            "tool.retrieval.web_search_images",
            "web_search_images",
            (_QUERIES, _count("max_images", limits.default_images, limits.max_images), _TIMEOUT, _DATED),
            data.WEB_SEARCH_IMAGES,
            run=partial(web_search_images, gate=_Gate(limits.max_images_in_flight)),
            title="tool.web_search_images.title",
        ),
        tool(
            "web_scrape",
            "tool.retrieval.web_scrape",
            "read_pages",
            (
                _URLS,
                Parameter("robots_txt", "robots_txt", _BOOLEAN, boolean, False),
                _TIMEOUT,
                Parameter("remove_links", "remove_links", _BOOLEAN, boolean, False),
                _count("max_chars", limits.default_document_chars, limits.max_document_chars),
            ),
            data.WEB_SCRAPE,
            run=web_scrape,
            title="tool.web_scrape.title",
        ),
    )
    return tools if has_images else tuple(each for each in tools if each.name != "web_search_images")


# --- arguments ------------------------------------------------------------------------------------------------------


def _listed(item_of: Callable[[str, Texts, Limits], Item], many: str) -> Check:
    """A list of 1 to MAX_QUERIES; what is wrong with all of its entries, and too many of them, has a sentence."""

    def checked(_name: str, value: Any, _texts: Texts, limits: Limits) -> tuple[Item, ...]:
        if not isinstance(value, list) or not value or not all(isinstance(entry, str) for entry in value):
            raise BadArgument
        if len(value) > limits.max_queries:
            raise Refused(SAYS.say(many))
        try:
            return unless_all_bad([item_of(entry, SAYS, limits) for entry in value])
        except BadArgument as problem:
            raise Refused(str(problem)) from problem

    return checked


def _lenient(default: int | None, least: int, most: int) -> Check:
    """Zero and less take the default; the rest is clamped, and where `least` exceeds `most`, `most` wins."""

    def checked(_name: str, value: Any, _texts: Texts, _limits: Limits) -> int | None:
        number = whole_number(value)
        if number is None:
            raise BadArgument
        return default if number <= 0 else min(max(number, least), most)

    return checked


def _timeout(name: str, value: Any, texts: Texts, limits: Limits) -> int | None:
    number: int | None = _lenient(None, limits.min_timeout_ms, limits.max_timeout_ms)(name, value, texts, limits)
    return number


def _count(name: str, default: int, most: int) -> Parameter:
    return Parameter(name, f"retrieval.{name}", _INTEGER, _lenient(default, 1, most), default, facts={"most": most})


_QUERIES = Parameter("queries", "retrieval.queries", _LIST, _listed(query_item, "too_many_queries"), allowed="queries")
_URLS = Parameter("urls", "retrieval.urls", _LIST, _listed(url_item, "too_many_urls"), allowed="urls")
_TIMEOUT = Parameter("timeout_ms", "timeout_ms", {"type": ["integer", "null"]}, _timeout, None)
_DATED = Parameter("date", "date", _DATE, date, None)


# --- searches -------------------------------------------------------------------------------------------------------


class _Gate:
    """How many searches of one tool may be on their way at a time; 0: any number."""

    def __init__(self, most: int) -> None:
        self._limiter = trio.CapacityLimiter(most) if most > 0 else None

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        if self._limiter is None:
            yield
            return
        async with self._limiter:
            yield

    async def search(
        self, call: Call, text: str, ask: Callable[[str], Awaitable[SearchResult[Merged]]]
    ) -> SearchResult[Merged]:
        """Ask once it is this query's turn; `timeout` where that does not come before the call's deadline."""
        found: SearchResult[Merged] | None = None
        with call.guard():
            async with self.held():
                found = await ask(text)
        return found or SearchResult(text, "timeout", (), (), call.elapsed)


async def web_search(call: Call, gate: _Gate) -> Answer:
    """Every query by itself; a failed one never fails the others."""
    values = call.values

    async def ask(text: str) -> SearchResult[MergedHit]:
        return await search(call, Query(text, values["max_results"], 1, None, values["date"]), call.left)

    return _searched(call, await searched_each(values["queries"], partial(gate.search, call, ask=ask)), data.hits_data)


async def web_search_images(call: Call, gate: _Gate) -> Answer:
    """As `web_search`, for pictures."""
    values = call.values

    async def ask(text: str) -> SearchResult[MergedImage]:
        return await search_images(call, ImageQuery(text, values["max_images"], None, values["date"]))

    searched = await searched_each(values["queries"], partial(gate.search, call, ask=ask))
    return _searched(call, searched, data.images_data)


def _searched(
    call: Call, searched: Sequence[Searched[Merged]], data_of: Callable[[Searched[Merged], Frame], Data]
) -> Answer:
    frame = replace(call.frame(), texts=SAYS)
    facts = search_facts(searched)
    if all(one.result.status == "failed" for one in searched):
        return Answer(_why([one.problem for one in searched], "every_search_failed"), is_error=True, facts=facts)
    metadata = {"total_request_time_ms": milliseconds(call.elapsed), "date": call.values["date"]}
    return _answer({"results": [data_of(one, frame) for one in searched], "metadata": metadata}, facts)


# --- pages ----------------------------------------------------------------------------------------------------------


async def web_scrape(call: Call) -> Answer:
    """Every page by itself, each cut at `max_chars`."""
    reads = [_within(read, call) for read in await read_all(call, call.values["urls"])]
    frame = replace(call.frame(), texts=SAYS)
    ok = sum(read.result.status == "success" for read in reads)
    facts = {"count": len(reads), "ok": ok, "billed": sum(step.billed for read in reads for step in read.result.steps)}
    if all(read.result.status == "failed" for read in reads):
        return Answer(_why([_problem(read) for read in reads], "every_scrape_failed"), is_error=True, facts=facts)
    metadata = {"total_request_time_ms": milliseconds(call.elapsed)}
    return _answer({"results": [data.scraped_data(read, frame) for read in reads], "metadata": metadata}, facts)


def _within(read: Read, call: Call) -> Read:
    """The page cut to its share of what a stream that has begun may carry (service/one_event.py).

    It stands in the answer twice, and in the text its quotes and line ends are escaped twice: hence four fifths.
    """
    if call.most_bytes is None:
        return read
    text, share = read.piece.text, call.most_bytes * 4 // 5 // len(call.values["urls"])
    limit = within_bytes(text, 0, len(text), share)
    return read if limit >= len(text) else replace(read, piece=replace(cut(text, 0, limit), length=read.piece.length))


def _problem(read: Read) -> str | None:
    """The sentence of this contract for a page that nobody tried to read."""
    return read.problem or (SAYS.say("robots_denied") if data.is_denied(read.result) else None)


# --- both -----------------------------------------------------------------------------------------------------------


def _why(problems: Sequence[str | None], otherwise: str) -> str:
    """What is wrong with every item, where that is one and the same thing."""
    (first, *others) = dict.fromkeys(problems)
    return SAYS.say(otherwise) if first is None or others else first


def _answer(value: Data, facts: dict[str, Any]) -> Answer:
    return Answer(json.dumps(value, ensure_ascii=False), value, facts=facts)
