"""Every remote reader against every trouble of the page and of its own: who is asked next, and how often (SPEC 3).

The site refuses the local readers, so that the reader in question is asked; those after it are good.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from actors.results import ReadResult
from providers._contract import Kind, Note
from tests.contract._memory import PAGE, Readers, open_readers, steps
from tests.contract._sites import (
    CHALLENGE,
    ORDER,
    PLAIN_500,
    READERS,
    SENTENCE,
    SHELL,
    SHORT,
    TEASER,
    RemoteReader,
    tavily,
)
from tests.fakenet import Answer, as_html
from tests.fakenet.scholarly import pdf
from tests.fakenet.tavily import failure as tavily_failure

TYPES = ("jina", "crawl4ai", "tavily", "firecrawl", "brightdata")
REFUSAL = as_html("<h1>403 Forbidden</h1>", 403)

every_reader = pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)


@asynccontextmanager
async def opened(reader: RemoteReader, **settings: str) -> AsyncIterator[Readers]:
    """A site that refuses the local readers, and no remote reader before `reader`."""
    async with open_readers(*TYPES, without=reader.without, **reader.settings, **settings) as readers:
        readers.net.answer("web", REFUSAL)
        yield readers


def instance(reader: RemoteReader) -> str:
    return reader.name.removesuffix(" keyed")


def step_of(reader: RemoteReader, result: ReadResult) -> tuple[str, str, Kind | None]:
    found: tuple[str, str, Kind | None] = next(step for step in steps(result) if step[0] == instance(reader))
    return found


def remote_calls(readers: Readers) -> dict[str, int]:
    return {name: readers.net.calls[name] for name in ORDER if readers.net.calls[name]}


def check_next(reader: RemoteReader, readers: Readers, result: ReadResult, tries: int = 1) -> None:
    """The next reader gave the page, nobody after it was asked; or there is none, and the read failed."""
    expected = {reader.played: tries} | ({} if reader.next is None else {reader.next: 1})
    assert remote_calls(readers) == expected
    assert readers.net.calls["web"] == 2
    assert result.status == ("failed" if reader.next is None else "success")
    if reader.next is not None:
        assert result.provider is not None
        assert result.provider.startswith(reader.next)
        assert result.notes == ()


# --- the page ---------------------------------------------------------------------------------------------------------


@every_reader
async def test_good_page_ends_the_walk(reader, autojump_clock):
    async with opened(reader) as readers:
        result = await readers.read()

    assert (result.status, result.provider) == ("success", instance(reader))
    assert remote_calls(readers) == {reader.played: 1}


@every_reader
async def test_page_that_is_gone_ends_the_walk_unpaid_from_there_on(reader, autojump_clock):
    async with opened(reader) as readers:
        readers.net.answer(reader.played, reader.told(404, "# Not found"))
        result = await readers.read()

    assert (result.status, result.reason) == ("failed", Kind.NOT_FOUND)
    assert remote_calls(readers) == {reader.played: 1}


@every_reader
async def test_page_that_refuses_the_reader_goes_to_the_next(reader, autojump_clock):
    async with opened(reader) as readers:
        readers.net.answer(reader.played, reader.told(403, "# Forbidden"))
        result = await readers.read()

    assert step_of(reader, result) == (instance(reader), "failed", reader.refused)
    check_next(reader, readers, result)


@every_reader
async def test_site_in_trouble_goes_to_the_next_and_is_not_held_against_the_reader(reader, autojump_clock):
    async with opened(reader) as readers:
        readers.net.answer(reader.played, reader.told(500, "# Internal server error"))
        result = await readers.read()
        check_next(reader, readers, result)
        # Five in a row would open a breaker.
        for _ in range(5):
            await readers.read()

    assert step_of(reader, result) == (instance(reader), "failed", Kind.UNSUPPORTED)
    assert readers.net.calls[reader.played] == 6


@every_reader
async def test_challenge_behind_a_success_goes_to_the_next_and_is_never_shown(reader, autojump_clock):
    async with opened(reader) as readers:
        readers.net.answer(reader.played, reader.told(200, CHALLENGE))
        result = await readers.read()

    assert step_of(reader, result) == (instance(reader), "failed", Kind.BLOCKED)
    check_next(reader, readers, result)
    assert result.page is None or "Just a moment" not in result.page.markdown


@every_reader
@pytest.mark.parametrize(
    ("text", "reason", "note"), [(SHELL, Kind.THIN, Note.THIN), (TEASER, Kind.TEASER, Note.PAYWALL_TEASER)]
)
async def test_shell_or_teaser_goes_to_the_next_and_is_kept_with_its_note(reader, text, reason, note, autojump_clock):
    async with opened(reader) as readers:
        readers.net.answer(reader.played, reader.told(200, text))
        result = await readers.read()

    assert step_of(reader, result) == (instance(reader), "failed", reason)
    if reader.next is not None:
        check_next(reader, readers, result)
    else:
        assert (result.status, result.notes) == ("success", (note,))


# --- the vendor -------------------------------------------------------------------------------------------------------


@every_reader
async def test_account_without_credit_goes_to_the_next_and_is_not_asked_again(reader, autojump_clock):
    async with opened(reader) as readers:
        readers.net.answer(reader.played, reader.spent)
        result = await readers.read()
        check_next(reader, readers, result)
        again = await readers.read()

    assert step_of(reader, result)[2] == Kind.QUOTA_SPENT
    assert step_of(reader, again) == (instance(reader), "skipped", Kind.CIRCUIT_OPEN)
    assert readers.net.calls[reader.played] == 1


@every_reader
async def test_rate_limit_goes_to_the_next_and_is_waited_out(reader, autojump_clock):
    async with opened(reader) as readers:
        readers.net.answer(reader.played, reader.limited)
        result = await readers.read()
        check_next(reader, readers, result)
        again = await readers.read()

    assert step_of(reader, result) == (instance(reader), "failed", Kind.RATE_LIMITED)
    assert step_of(reader, again) == (instance(reader), "skipped", Kind.CIRCUIT_OPEN)
    assert readers.net.calls[reader.played] == 1


@every_reader
async def test_vendor_in_trouble_goes_to_the_next_and_a_billed_request_is_not_repeated(reader, autojump_clock):
    async with opened(reader) as readers:
        readers.net.answer(reader.played, PLAIN_500)
        result = await readers.read()

    assert step_of(reader, result) == (instance(reader), "failed", Kind.UNAVAILABLE)
    check_next(reader, readers, result, tries=reader.tries)


@every_reader
async def test_vendor_that_hangs_loses_its_turn_in_time(reader, autojump_clock):
    async with opened(reader) as readers:
        readers.net.silence(reader.played)
        result = await readers.read()

    check_next(reader, readers, result)
    if reader.next == "crawl4ai":  # a free reader starts beside it
        assert step_of(reader, result) == (instance(reader), "failed", Kind.CANCELLED)
        assert result.elapsed < 12 + 3
    else:
        assert step_of(reader, result) == (instance(reader), "failed", Kind.TIMEOUT)
        assert result.elapsed <= 25
    assert readers.net.left_at[reader.played] <= result.elapsed


async def test_call_never_outlives_its_deadline_though_everybody_hangs(autojump_clock):
    async with open_readers(*TYPES) as readers:
        for name in ("web", *ORDER):
            readers.net.silence(name)
        result = await readers.read(timeout=20.0)

    assert (result.status, result.elapsed) == ("timeout", 20.0)
    assert set(readers.net.left_at) == {name for name in ("web", *ORDER) if readers.net.calls[name]}
    assert max(readers.net.left_at.values()) <= 20.0


# --- accounts of one vendor -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spent", [tavily_failure(432), tavily_failure(433), tavily_failure(429), tavily_failure(401)])
async def test_next_account_is_asked_where_one_is_refused(spent, autojump_clock):
    async with open_readers(*TYPES, without=("jina", "crawl4ai")) as readers:
        readers.net.answer("web", REFUSAL)
        good = readers.net.handlers["tavily"]
        readers.net.plays["tavily"] = lambda request: (
            spent if (request.header("authorization") or "").endswith("-1") else good(request)
        )
        result = await readers.read()

    assert (result.provider, remote_calls(readers)) == ("tavily-2", {"tavily": 2})


@pytest.mark.parametrize("told", [tavily(403, ""), tavily(500, ""), tavily(200, SHELL), tavily(200, CHALLENGE)])
async def test_other_accounts_are_not_paid_for_the_same_page(told, autojump_clock):
    async with open_readers(*TYPES, without=("jina", "crawl4ai")) as readers:
        readers.net.answer("web", REFUSAL)
        readers.net.answer("tavily", told)
        result = await readers.read()

    assert (result.provider, remote_calls(readers)) == ("firecrawl", {"tavily": 1, "firecrawl": 1})


# --- who is paid for nothing ------------------------------------------------------------------------------------------

LONG = f"<article><h1>A page</h1><p>{SENTENCE * 12}</p></article>"


def page(body: str, head: str = "") -> Answer:
    return as_html(f"<!doctype html><html><head><title>A page</title>{head}</head><body>{body}</body></html>")


FREE = {"jina-reader": 1, "crawl4ai": 1}
PAYWALL = (
    '<script type="application/ld+json">{"@context": "https://schema.org", "@type": "NewsArticle",'
    '"isAccessibleForFree": false}</script>'
)


@pytest.mark.parametrize(
    ("answer", "asked"),
    [
        pytest.param(page(LONG), {}, id="good"),
        pytest.param(as_html("gone", 404), {}, id="404"),
        pytest.param(as_html("gone", 410), {}, id="410"),
        pytest.param(Answer(200, b"a,b\n1,2\n", "text/csv"), {}, id="document"),
        pytest.param(page(f"<article><p>{SHORT}</p></article>"), FREE, id="thin"),
        pytest.param(REFUSAL, FREE | {"tavily": 1}, id="403"),
        pytest.param(as_html("down", 500), FREE | {"tavily": 1}, id="500"),
        pytest.param(page('<div id="root"></div><script src="/a.js"></script>'), FREE | {"tavily": 1}, id="shell"),
        pytest.param(page(f"<article><p>{TEASER}</p></article>", PAYWALL), FREE | {"tavily": 1}, id="teaser"),
    ],
)
async def test_paid_readers_are_asked_only_where_something_stood_in_the_way(answer, asked, autojump_clock):
    async with open_readers(*TYPES, JINA_API_KEY="") as readers:
        readers.net.answer("web", answer)
        readers.net.answer("jina-reader", READERS[0].told(200, SHORT))
        readers.net.answer("crawl4ai", READERS[2].told(200, SHORT))
        await readers.read()

    assert remote_calls(readers) == asked


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("http://127.0.0.1/article/type-k/1", {}),
        # To the operator's own reader an address with a secret is no secret told.
        (f"{PAGE}?access_token=0123456789abcdef", {"crawl4ai": 1}),
    ],
)
async def test_address_that_may_not_leave_is_sent_to_no_third_party(url, asked, autojump_clock):
    async with open_readers(*TYPES) as readers:
        readers.net.answer("web", REFUSAL)
        await readers.read(url)

    assert remote_calls(readers) == asked


@pytest.mark.parametrize(
    ("key", "path", "asked"),
    [
        ("test-key", "/scan.pdf", {"jina-reader": 1}),
        ("test-key", "/scan", {"tavily": 1}),
        ("", "/scan.pdf", {"tavily": 1}),
    ],
)
async def test_pdf_of_pictures_goes_to_who_can_read_it(key, path, asked, autojump_clock):
    async with open_readers(*TYPES, JINA_API_KEY=key) as readers:
        readers.net.handlers["web"].put(path, pdf([]), "application/pdf")
        for name in ("jina-reader", "tavily"):
            readers.net.answer(name, next(each for each in READERS if each.played == name).told(200, SENTENCE * 10))
        result = await readers.read(f"https://site.example{path}")

    assert remote_calls(readers) == asked
    assert result.status == "success"


async def test_keyed_jina_is_paid_and_not_asked_for_a_page_that_may_be_short(autojump_clock):
    async with open_readers(*TYPES) as readers:
        readers.net.answer("web", page(f"<article><p>{SHORT}</p></article>"))
        readers.net.answer("crawl4ai", READERS[2].told(200, SHORT))
        result = await readers.read()

    assert remote_calls(readers) == {"crawl4ai": 1}
    assert result.notes == (Note.THIN,)


# --- a first tier that hangs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("timeout", "after"), [(55.0, 12.0), (20.0, 5.0)])
async def test_page_whose_site_hangs_is_read_by_the_next_free_tier(timeout, after, autojump_clock):
    async with open_readers(*TYPES, JINA_API_KEY="") as readers:
        readers.net.silence("web")
        result = await readers.read(timeout=timeout)

    assert (result.status, result.provider) == ("success", "jina")
    assert after <= result.elapsed < after + 3
    assert (readers.net.calls["web"], remote_calls(readers)) == (1, {"jina-reader": 1})
    assert readers.net.left_at["web"] == result.elapsed


async def test_paid_readers_are_no_hedge(autojump_clock):
    async with open_readers(*TYPES, without=("jina", "crawl4ai")) as readers:
        readers.net.silence("web")
        result = await readers.read()

    assert (result.provider, result.elapsed) == ("tavily-1", 25.0)
    assert remote_calls(readers) == {"tavily": 1}
    assert readers.net.seen[0].target == PAGE.removeprefix("https://site.example")
