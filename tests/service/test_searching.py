"""The search tools over a fake backend: what is asked, what is answered, when a call fails."""

from __future__ import annotations

import pytest
import trio

from actors.results import Report, SearchResult
from providers._contract import ImageQuery, Kind, Query
from service.arguments import Limits
from service.calling import GRACE_SECONDS, ToolOptions
from tests.service.desk import Bench, FakeBackend, forever, found, hit, image, unfound


async def test_a_search_asks_what_the_caller_asked_for(autojump_clock: trio.testing.MockClock) -> None:
    bench = Bench()

    await bench.data("web_search", query=" trio ", num_results=3, page=2, language="en", date="w", timeout_ms=4000)

    assert bench.backend.asked == [Query("trio", 3, 2, "en", "w")]
    assert bench.backend.timeouts == pytest.approx([4.0], abs=0.05)


async def test_a_search_answers_hits_and_reports_in_both_halves() -> None:
    merged = hit(1, published="2026-01-02")
    reports = (
        Report("duckduckgo", "ok", count=1, elapsed=0.4),
        Report("brave", "late", Kind.LATE, elapsed=2.0),
        Report("searxng", "skipped", Kind.THROTTLED),
        Report("exa", "ok", detail="date filter not supported", count=1),
    )
    bench = Bench(FakeBackend(lambda query: found(merged, query=query.text, reports=reports)))

    answer = await bench.call("web_search", query="trio")

    assert answer.data == {
        "results": [
            {
                "query": "trio",
                "status": "success",
                "count": 1,
                "hits": [
                    {
                        "rank": 1,
                        "title": "Title 1",
                        "url": "https://site1.example/",
                        "snippet": "Snippet 1.",
                        "published": "2026-01-02",
                        "sources": ["duckduckgo"],
                    }
                ],
                "providers": [
                    {
                        "instance": "duckduckgo",
                        "status": "ok",
                        "reason": None,
                        "detail": None,
                        "count": 1,
                        "elapsed_ms": 400,
                    },
                    {
                        "instance": "brave",
                        "status": "late",
                        "reason": "late",
                        "detail": None,
                        "count": 0,
                        "elapsed_ms": 2000,
                    },
                    {
                        "instance": "searxng",
                        "status": "skipped",
                        "reason": "throttled",
                        "detail": None,
                        "count": 0,
                        "elapsed_ms": 0,
                    },
                    {
                        "instance": "exa",
                        "status": "ok",
                        "reason": None,
                        "detail": "date filter not supported",
                        "count": 1,
                        "elapsed_ms": 0,
                    },
                ],
                "error": None,
                "elapsed_ms": 250,
            }
        ]
    }
    assert answer.text.splitlines() == [
        "## trio",
        "1 result",
        "",
        "1. Title 1",
        "   https://site1.example/",
        "   2026-01-02 · found by duckduckgo",
        "   Snippet 1.",
        "",
        "Providers: duckduckgo: 1 found, 0.4 s; brave: late, 2.0 s; searxng: skipped, throttled, 0.0 s; "
        "exa: 1 found, date filter not supported, 0.0 s",
    ]


async def test_no_more_hits_are_answered_than_asked_for() -> None:
    bench = Bench(FakeBackend(lambda query: found(*map(hit, range(9)), query=query.text)))

    data = await bench.data("web_search", query="q", num_results=4)

    assert data["results"][0]["count"] == 4


async def test_nothing_found_is_a_success_that_says_so() -> None:
    bench = Bench(FakeBackend(lambda query: found(query=query.text)))

    answer = await bench.call("web_search", query="q")

    assert not answer.is_error
    assert answer.data is not None
    assert answer.data["results"][0]["status"] == "success"
    assert "no results: the providers found nothing" in answer.text
    assert "duckduckgo: nothing found" in answer.text


async def test_titles_and_snippets_stay_on_their_lines() -> None:
    merged = hit(1, snippet="two\nlines\n\n2. Forged", published=None)
    bench = Bench(FakeBackend(lambda _: found(merged)))

    answer = await bench.call("web_search", query="q")

    assert "   two lines 2. Forged" in answer.text.splitlines()


async def test_a_hit_without_title_or_snippet_shows_its_address() -> None:
    merged = hit(1, snippet="")
    bench = Bench(FakeBackend(lambda _: found(type(merged)(type(merged.hit)(merged.hit.url, ""), ("a", "b")))))

    answer = await bench.call("web_search", query="q")

    assert answer.text.splitlines()[3:6] == [
        "1. https://site1.example/",
        "   https://site1.example/",
        "   found by a, b",
    ]


# --- several queries ------------------------------------------------------------------------------------------------


async def test_queries_run_at_once_and_keep_their_order(autojump_clock: trio.testing.MockClock) -> None:
    async def slow(query: Query) -> SearchResult[object]:
        await trio.sleep({"a": 3.0, "b": 1.0}[query.text])
        return found(hit(1), query=query.text)

    bench = Bench(FakeBackend(slow))

    data = await bench.data("web_search", query=["a", "b"])

    assert [result["query"] for result in data["results"]] == ["a", "b"]
    assert trio.current_time() == pytest.approx(3.0)


async def test_one_failed_query_does_not_fail_the_others() -> None:
    def respond(query: Query) -> SearchResult[object]:
        return found(hit(1)) if query.text == "good" else unfound(Report("duckduckgo", "failed", Kind.BLOCKED))

    bench = Bench(FakeBackend(respond))

    answer = await bench.call("web_search", query=["good", "bad", " "])

    assert not answer.is_error
    assert answer.data is not None
    assert [result["status"] for result in answer.data["results"]] == ["success", "failed", "failed"]
    assert [result["error"] for result in answer.data["results"]] == [
        None,
        "duckduckgo: blocked",
        "query must not be empty",
    ]
    assert "failed: query must not be empty" in answer.text


async def test_equal_queries_are_asked_once_and_answered_twice() -> None:
    bench = Bench()

    data = await bench.data("web_search", query=["same", "same"])

    assert len(bench.backend.asked) == 1
    assert len(data["results"]) == 2


# --- failures -------------------------------------------------------------------------------------------------------


async def test_a_failed_search_says_what_happened_and_what_would_help(autojump_clock: trio.testing.MockClock) -> None:
    retry_at = trio.current_time() + 30.4
    report = Report("duckduckgo", "skipped", Kind.THROTTLED, "next slot in 30 s", retry_at=retry_at)
    bench = Bench(FakeBackend(lambda _: unfound(report)))

    answer = await bench.call("web_search", query="q")

    assert answer.is_error
    assert answer.text == (
        "every query failed: duckduckgo: throttled, next slot in 31 s "
        "(set SEARXNG_URL or a provider key to search more often)"
    )
    assert answer.data is not None
    assert answer.data["results"][0]["error"] == "duckduckgo: throttled, next slot in 31 s"


@pytest.mark.parametrize(
    ("reports", "sentence"),
    [
        (
            [Report("duckduckgo", "failed", Kind.BLOCKED, "captcha"), Report("searxng", "failed", Kind.UNAVAILABLE)],
            "every query failed: duckduckgo: blocked (captcha); searxng: unavailable "
            "(set another provider key to search more often)",
        ),
        (
            [Report("brave", "failed", Kind.DENIED)],
            "every query failed: brave: access denied (check the key and plan of brave)",
        ),
        (
            [Report("brave", "failed", Kind.TIMEOUT), Report("exa", "failed", Kind.UNAVAILABLE, "proxy")],
            "every query failed: brave: timeout; exa: unavailable (proxy) "
            "(check the network, the proxy and the address of brave, exa)",
        ),
        (
            [Report("brave", "failed", Kind.RATE_LIMITED, retry_at=1e9)],
            None,
        ),
        ([Report("brave", "failed", Kind.BUG)], "every query failed: brave: internal error (try again later)"),
        ([], "every query failed: no provider could be asked (try again later)"),
    ],
)
async def test_each_kind_of_failure_has_its_advice(reports: list[Report], sentence: str | None) -> None:
    bench = Bench(FakeBackend(lambda _: unfound(*reports)))

    answer = await bench.call("web_search", query="q")

    assert answer.is_error
    if sentence is None:
        assert "brave: rate limited, again in" in answer.text
    else:
        assert answer.text == sentence


async def test_failures_are_told_in_russian_too() -> None:
    report = Report("duckduckgo", "failed", Kind.BLOCKED)
    bench = Bench(FakeBackend(lambda _: unfound(report)), language="ru")

    answer = await bench.call("web_search", query="q")

    assert answer.text == (
        "не удался ни один запрос: duckduckgo: заблокировано "
        "(задайте SEARXNG_URL или ключ провайдера, чтобы искать чаще)"
    )


async def test_a_search_whose_time_ran_out_is_no_error() -> None:
    bench = Bench(FakeBackend(lambda _: unfound(status="timeout", elapsed=2.5004)))

    answer = await bench.call("web_search", query="q", timeout_ms=2500)

    assert not answer.is_error
    assert answer.data is not None
    assert answer.data["results"][0]["status"] == "timeout"
    assert answer.data["results"][0]["error"] == "no answer within 2.5 s"
    assert "failed: no answer within 2.5 s" in answer.text


async def test_a_backend_that_overstays_is_ended_shortly_after_the_deadline(
    autojump_clock: trio.testing.MockClock,
) -> None:
    bench = Bench(FakeBackend(forever, forever))

    for tool in ("web_search", "web_search_images"):
        started_at = trio.current_time()
        data = await bench.data(tool, query="q", timeout_ms=3000)

        assert data["results"][0]["status"] == "timeout"
        assert trio.current_time() - started_at == pytest.approx(3.0 + GRACE_SECONDS)


async def test_a_shutdown_ends_running_calls_with_what_is_ready(autojump_clock: trio.testing.MockClock) -> None:
    async def respond(query: Query) -> SearchResult[object]:
        if query.text == "slow":
            await trio.sleep_forever()
        return found(hit(1))

    bench = Bench(FakeBackend(respond))
    bench.calls.deadlines.shorten(trio.current_time() + 2)

    data = await bench.data("web_search", query=["quick", "slow"])

    assert [result["status"] for result in data["results"]] == ["success", "timeout"]
    assert trio.current_time() == pytest.approx(2.0)


@pytest.mark.parametrize(("default", "expected"), [(None, 15.0), (7000, 7.0), (1, 1.0), (10**9, 120.0)])
async def test_a_call_without_a_deadline_gets_the_default(
    default: int | None, expected: float, autojump_clock: trio.testing.MockClock
) -> None:
    bench = Bench(options=ToolOptions(Limits(default_timeout_ms=default)))

    await bench.data("web_search", query="q")

    assert bench.backend.timeouts == pytest.approx([expected], abs=0.05)


# --- pictures -------------------------------------------------------------------------------------------------------


async def test_pictures_are_answered_in_both_halves() -> None:
    full = image(
        1, title="A cat", page_url="https://a.example/", thumbnail_url="https://a.example/t.png", width=640, height=480
    )
    bench = Bench(FakeBackend(on_images=lambda query: found(full, image(2), query=query.text)))

    answer = await bench.call("web_search_images", query="cats", num_results="9", language="de", date="m")

    assert bench.backend.asked == [ImageQuery("cats", 9, "de", "m")]
    assert answer.data is not None
    assert answer.data["results"][0]["images"] == [
        {
            "rank": 1,
            "title": "A cat",
            "image_url": "https://img.example/1.png",
            "page_url": "https://a.example/",
            "thumbnail_url": "https://a.example/t.png",
            "width": 640,
            "height": 480,
            "source": "bing-images",
        },
        {
            "rank": 2,
            "title": "",
            "image_url": "https://img.example/2.png",
            "page_url": None,
            "thumbnail_url": None,
            "width": None,
            "height": None,
            "source": "bing-images",
        },
    ]
    assert answer.text.splitlines()[:11] == [
        "## cats",
        "2 pictures",
        "",
        "1. A cat",
        "   https://img.example/1.png",
        "   640x480 px · found by bing-images",
        "   page: https://a.example/",
        "",
        "2. https://img.example/2.png",
        "   https://img.example/2.png",
        "   found by bing-images",
    ]
