"""The reading tools: `read_page`, `read_pages`, and `search_and_read`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import trio

from actors.results import MergedHit, ReadResult, Status
from providers._address import InvalidUrl, NotAllowed, parse_url
from providers._contract import Kind, Note, ProviderError, Query, Target
from providers._workers import run
from service import answers
from service.answers import Read, Searched
from service.arguments import MAX_PAGE_CHARS, Item
from service.calling import Answer, Call, each
from service.links import remove_links
from service.paging import PageKey, cut, share, within_bytes
from service.searching import failure_of, search, search_facts

# Longer text loses its links in a worker process, so that the event loop does not stand still meanwhile.
INLINE_CHARS = 50_000
# What search_and_read keeps back from its search for reading, where that leaves the search at least half.
READING_SECONDS = 12.0


@dataclass(frozen=True, slots=True)
class _Whole:
    """A page before it is cut. `markdown` is the text that offsets count in."""

    item: Item
    key: PageKey
    result: ReadResult
    markdown: str


async def read_page(call: Call) -> Answer:
    """One page, or the piece of it that begins at `offset`."""
    item: Item = call.values["url"]
    offset: int = call.values["offset"]
    limit = min(call.values["max_chars"] or MAX_PAGE_CHARS, MAX_PAGE_CHARS)
    read = _from_memory(call, item, offset, limit) or await _read_piece(call, item, offset, limit)
    frame = call.frame()
    data = answers.page_data(read, frame)
    if read.result.status == "failed":
        return Answer(_page_sentence(read, frame), data, True, _page_facts(read))
    return Answer(answers.page_text(read, frame), data, False, _page_facts(read))


def _page_sentence(read: Read, frame: answers.Frame) -> str:
    why = read.failure(frame)
    if read.result.reason is Kind.REFUSED:
        return str(why)
    return frame.texts.say("page_failed", why=why)


def _from_memory(call: Call, item: Item, offset: int, limit: int) -> Read | None:
    """The next piece of a page that was cut a while ago; nobody is asked for it, so there is no trace."""
    if offset == 0:
        return None
    kept = call.desk.cache.get(_key(call, item.target), trio.current_time())
    if kept is None:
        return None
    result = replace(kept.result, steps=(), elapsed=call.elapsed)
    piece = cut(kept.markdown, offset, within_bytes(kept.markdown, offset, limit, call.most_bytes))
    return Read(item.text, result, piece, result.notes)


async def _read_piece(call: Call, item: Item, offset: int, limit: int) -> Read:
    whole = await _read_whole(call, item)
    notes = whole.result.notes
    if offset > 0 and call.desk.cache.has_changed(whole.key, whole.markdown):
        notes = (*notes, Note.CHANGED)
    return _piece_of(call, whole, offset, within_bytes(whole.markdown, offset, limit, call.most_bytes), notes)


def _piece_of(call: Call, whole: _Whole, offset: int, limit: int, notes: tuple[Note, ...]) -> Read:
    """Cut a page, and keep what was cut for the next call."""
    piece = cut(whole.markdown, offset, limit)
    if piece.is_cut:
        call.desk.cache.keep(whole.key, whole.result, whole.markdown, trio.current_time())
    return Read(whole.item.text, whole.result, piece, notes, whole.item.problem)


def _key(call: Call, url: str) -> PageKey:
    values = call.values
    return PageKey(url, values.get("remove_links", False), values.get("robots_txt", False))


async def _read_whole(call: Call, item: Item) -> _Whole:
    """Read one page and take its links out, if that is asked for."""
    key = _key(call, item.target)
    if item.problem is not None:
        return _Whole(item, key, _unread(item.text, "failed"), "")
    result = await _ask(call, key)
    if result.page is None:
        return _Whole(item, key, result, "")
    if not key.remove_links:
        return _Whole(item, key, result, result.page.markdown)
    markdown: str | None = None
    try:
        with call.guard():
            markdown = await _without_links(result.page.markdown)
    except ProviderError as failure:
        failed = replace(result, status="failed", page=None, reason=failure.kind, detail=failure.detail)
        return _Whole(item, key, failed, "")
    if markdown is None:
        return _Whole(item, key, replace(result, status="timeout", page=None, elapsed=call.elapsed), "")
    return _Whole(item, key, result, markdown)


async def _ask(call: Call, key: PageKey) -> ReadResult:
    result: ReadResult | None = None
    if call.left > 0:
        with call.guard():
            result = await call.desk.backend.read(
                Target(key.url), timeout=call.left, tell=call.tell, robots_txt=key.robots_txt
            )
    return result or replace(_unread(key.url, "timeout"), elapsed=call.elapsed)


def _unread(url: str, status: Status) -> ReadResult:
    return ReadResult(url, status, None, None, (), (), None, None, 0.0)


async def _without_links(markdown: str) -> str:
    if len(markdown) <= INLINE_CHARS:
        return remove_links(markdown)
    return await run(remove_links, markdown)


# --- several --------------------------------------------------------------------------------------------------------


async def read_pages(call: Call) -> Answer:
    """Several pages, each cut to its share; a failed one never fails the others."""
    reads = await read_all(call, call.values["urls"])
    frame = call.frame()
    ok = sum(read.result.status == "success" for read in reads)
    data = {
        "pages": [answers.page_data(read, frame) for read in reads],
        "count": len(reads),
        "ok": ok,
        "elapsed_ms": answers.milliseconds(call.elapsed),
    }
    facts = {"count": len(reads), "ok": ok, "billed": _billed(reads)}
    if all(read.result.status == "failed" for read in reads):
        why = "; ".join(f"{read.url}: {read.failure(frame)}" for read in reads)
        return Answer(frame.texts.say("every_page_failed", why=why), data, True, facts)
    return Answer("\n\n".join(answers.page_text(read, frame) for read in reads), data, False, facts)


async def read_all(call: Call, items: Sequence[Item]) -> list[Read]:
    """Read every item, equal addresses once, and cut the pages to their shares of the limits."""
    options = call.desk.options
    unique = list({item.target or item.text: item for item in items}.values())

    async def ask(item: Item) -> _Whole:
        return await _read_whole(call, item)

    wholes = await each(unique, ask, at_once=options.read_pages_concurrency)
    limits = [limit for limit in (options.read_batch_max_chars, call.values["max_chars"] or 0) if limit > 0]
    lengths = [len(whole.markdown) for whole in wholes]
    allowed = share(lengths, min(limits, default=0), options.response_max_chars)
    reads = {
        item.target or item.text: _piece_of(call, whole, 0, limit, whole.result.notes)
        for item, whole, limit in zip(unique, wholes, allowed, strict=True)
    }
    return [replace(reads[item.target or item.text], url=item.text) for item in items]


async def search_and_read(call: Call) -> Answer:
    """Search, then read the best hits in what is left of the time. Only a failed search is an error."""
    values = call.values
    query = Query(values["query"].target, values["num_results"], 1, values["language"], values["date"])
    timeout = max(call.left - READING_SECONDS, call.left / 2)
    searched = Searched(await search(call, query, timeout))
    reads = await read_all(call, [_item_of(call, hit) for hit in searched.result.hits])
    frame = call.frame()
    data = _found_data(searched, reads, frame) | {"elapsed_ms": answers.milliseconds(call.elapsed)}
    failure = failure_of([searched], frame)
    text = failure or answers.found_and_read_text(searched, reads, frame)
    ok = sum(read.result.status == "success" for read in reads)
    facts = search_facts([searched])
    return Answer(text, data, failure is not None, facts | {"pages": ok, "billed": facts["billed"] + _billed(reads)})


def _item_of(call: Call, merged: MergedHit) -> Item:
    """A hit's address as something to read; vendors return addresses that may not be fetched, too."""
    texts, url = call.desk.texts, merged.hit.url
    try:
        target = parse_url(url, allow_private=call.desk.options.limits.allow_private)
    except InvalidUrl:
        return Item(url, problem=texts.say("invalid_url"))
    except NotAllowed:
        return Item(url, problem=texts.say("not_allowed"))
    return Item(url, str(target))


def _found_data(searched: Searched[MergedHit], reads: Sequence[Read], frame: answers.Frame) -> answers.Data:
    results = [
        answers.hit_data(rank, merged) | {"page": answers.page_data(read, frame)}
        for rank, (merged, read) in enumerate(zip(searched.result.hits, reads, strict=True), 1)
    ]
    return {
        "query": searched.result.query,
        "status": searched.result.status,
        "results": results,
        "providers": [answers.report_data(report) for report in searched.result.reports],
        "error": searched.failure(frame),
    }


def _billed(reads: Sequence[Read]) -> int:
    return sum(step.billed for read in reads for step in read.result.steps)


def _page_facts(read: Read) -> dict[str, Any]:
    """The log fields of one page; `ok` tells whether there is one."""
    return {
        "url": read.url,
        "provider": read.result.provider,
        "ok": read.result.status == "success",
        "steps": [f"{step.instance}:{step.reason or step.status}" for step in read.result.steps],
        "billed": _billed([read]),
    }
