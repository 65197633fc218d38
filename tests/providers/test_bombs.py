"""Bombs of security/FACTS.md part C against real workers: a typed outcome in time, and the next page as ever.

In `make test` with deadlines of a second or two; `make soak` repeats them with the real ten.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import trio

from providers import _workers
from providers._contract import Document, Note, Page, ProviderError, TooHeavy
from providers._extract import extract
from providers._sanitise import sanitise
from providers._workers import open_workers
from tests import bombs

EXTRA_SECONDS = 0.5
MAIN_GROWTH_BYTES = 50 << 20
STALL_SECONDS = 0.05
# In the short suite two test processes share two cores with what they start: only a parser on the loop takes this long.
BUSY_STALL_SECONDS = 0.4

SHORT = {
    "attributes": ("text/html", lambda: bombs.HTML["attributes"](50_000).encode()),
    "less-than": ("text/html", lambda: bombs.HTML["less-than"](2_000_000).encode()),
    "author": ("text/html", lambda: bombs.HTML["author"](100_000).encode()),
    "laughs": ("application/rss+xml", bombs.laughs),
    "external-entity": ("application/rss+xml", bombs.external_entity),
    "deep-xml": ("text/xml", lambda: bombs.deep_xml(100_000)),
    "json-deep": ("application/json", lambda: bombs.json_values["deep"]),
    "json-indented": ("application/json", lambda: bombs.json_values["indented"]),
    "members": ("application/zip", lambda: bombs.many_members(3_000)),
    "pdf-tree-loop": ("application/pdf", bombs.PDF["tree-loop"]),
    "pdf-flate": ("application/pdf", lambda: bombs.flate_bomb(40)),
    "pdf-form-again": ("application/pdf", bombs.PDF["form-again"]),
    "pdf-ascii85": ("application/pdf", bombs.PDF["ascii85"]),
    "pdf-shared-stream": ("application/pdf", bombs.PDF["shared-stream"]),
}
LONG = {
    **{f"html-{kind}": ("text/html", lambda make=make: make(100_000).encode()) for kind, make in bombs.HTML.items()},
    **{f"json-{kind}": ("application/json", lambda value=value: value) for kind, value in bombs.json_values.items()},
    **{f"pdf-{kind}": ("application/pdf", make) for kind, make in bombs.PDF.items()},
    "docx-200": ("application/zip", lambda: bombs.docx_bomb(200)),
    "laughs": ("application/rss+xml", bombs.laughs),
}
Recipe = tuple[str, Callable[[], bytes]]


@pytest.fixture
async def pool() -> AsyncIterator[Callable[[], _workers.WorkerStatistics]]:
    async with open_workers(2) as statistics:
        await extract(plain())  # the imports of the template are over
        yield statistics


def plain() -> Document:
    return Document("http://good.example/", "http://good.example/", b"An ordinary page.", "text/plain")


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


async def blast(name: str, recipe: Recipe, seconds: float, stall: float = BUSY_STALL_SECONDS) -> Page | ProviderError:
    """Extract a bomb; assert on time, stall and memory of this process; return what came of it."""
    content_type, make = recipe
    url = f"http://{name}.example/"
    document = Document(url, url, make(), content_type)
    outcome: Page | ProviderError
    stalls: list[float] = []
    before = resident_bytes()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_watch, stalls)
        started = trio.current_time()
        try:
            with trio.fail_after(seconds + 5):
                outcome = await extract(document)
        except ProviderError as error:
            outcome = error
        took = trio.current_time() - started
        nursery.cancel_scope.cancel()

    assert took < seconds + EXTRA_SECONDS
    assert resident_bytes() - before < MAIN_GROWTH_BYTES
    assert max(stalls, default=0) < stall
    return outcome


async def _watch(stalls: list[float]) -> None:
    while True:
        before = trio.current_time()
        await trio.sleep(0.005)
        stalls.append(trio.current_time() - before - 0.005)


@pytest.mark.parametrize("name", SHORT)
async def test_a_bomb_has_a_typed_outcome_in_time_and_the_next_page_is_read(
    name: str, pool: Callable[[], _workers.WorkerStatistics], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = 1.0
    monkeypatch.setattr(_workers, "run", _hurried(_workers.run, seconds))
    monkeypatch.setattr(_workers, "run_parts", _hurried(_workers.run_parts, seconds))

    outcome = await blast(name, SHORT[name], seconds)

    if isinstance(outcome, Page):
        assert len(outcome.markdown) < 2_100_000
        assert "root:" not in outcome.markdown
    else:
        assert outcome.detail
    assert (await extract(plain())).markdown == "An ordinary page."
    assert pool().running == 0


@pytest.mark.soak
@pytest.mark.parametrize("name", LONG)
async def test_a_bomb_at_full_size_with_the_real_deadline(
    name: str, pool: Callable[[], _workers.WorkerStatistics]
) -> None:
    outcome = await blast(name, LONG[name], _workers.JOB_SECONDS, STALL_SECONDS)

    assert isinstance(outcome, (Page, ProviderError))
    assert (await extract(plain())).markdown == "An ordinary page."
    assert pool().running == 0


async def test_pages_of_a_pdf_that_were_read_before_the_kill_are_kept(
    pool: Callable[[], _workers.WorkerStatistics], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_workers, "run_parts", _hurried(_workers.run_parts, 2.0))
    monster = bombs.flate(b"BT /F1 9 Tf (" + b"a" * (19 << 20) + b") Tj ET")
    body = bombs.pages([bombs.text_page(f"Good page number {n}.") for n in (1, 2)] + [monster] * 8)

    outcome = await blast("kept", ("application/pdf", lambda: body), 2.0)

    assert isinstance(outcome, Page)
    assert "Good page number 2." in outcome.markdown
    assert Note.TRUNCATED in outcome.notes


async def test_a_page_of_a_million_characters_is_sanitised_without_a_stall(
    pool: Callable[[], _workers.WorkerStatistics],
) -> None:
    page = Page("http://e.example/", "Some words with a [link](http://e.example/) and a\u200b mark. " * 18_000)
    stalls: list[float] = []

    async with trio.open_nursery() as nursery:
        nursery.start_soon(_watch, stalls)
        await trio.sleep(0.02)
        cleaned = await sanitise(page)
        await trio.sleep(0.02)
        nursery.cancel_scope.cancel()

    assert len(page.markdown) > 1_000_000
    assert cleaned.sanitised
    assert max(stalls) < BUSY_STALL_SECONDS


async def test_a_host_with_two_kills_is_refused_before_any_work(
    pool: Callable[[], _workers.WorkerStatistics], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_workers, "run_parts", _hurried(_workers.run_parts, 0.3))
    url = "http://bad.example/x.pdf"
    document = Document(url, url, bombs.PDF["long-string"](), "application/pdf")
    for _ in range(2):
        with pytest.raises(TooHeavy):
            await extract(document)

    with pytest.raises(TooHeavy, match=r"bad\.example used up two workers"):
        await extract(Document(url, url, b"harmless", "text/plain"))


def _hurried(run: Callable[..., object], seconds: float) -> Callable[..., object]:
    """The same call with a shorter time for the job."""

    def hurried(*args: object, **options: object) -> object:
        return run(*args, **{**options, "timeout": seconds})

    return hurried
