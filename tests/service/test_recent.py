"""The last calls are kept with what their providers did, whatever becomes of them, and without the text of a page."""

from __future__ import annotations

import trio.testing

from actors.results import Report, Step
from providers._contract import Kind
from service.recent import MAX_ABOUT_CHARS, MAX_CALLS, MAX_PARTS, MAX_STEPS, RecentCall
from tests.service.desk import Bench, FakeBackend, forever, found, hit, page, unread

URL = "https://a.example/"


def calls_of(bench: Bench) -> tuple[RecentCall, ...]:
    return bench.service.recent.newest_first()


async def test_a_search_is_kept_with_the_reports_of_its_instances(autojump_clock: trio.testing.MockClock) -> None:
    reports = (Report("brave", "failed", Kind.TIMEOUT, "no answer", elapsed=2.0), Report("exa", "ok", count=1))
    bench = Bench(FakeBackend(on_search=lambda query: found(hit(1), query=query.text, reports=reports)))

    await bench.call("web_search", query="tides")

    [call] = calls_of(bench)
    assert (call.tool, call.ended, call.rejected, call.asked, call.more_parts) == ("web_search", "ok", None, None, 0)
    [part] = call.parts
    assert (part.about, part.status, part.elapsed) == ("tides", "success", 0.25)
    assert tuple(part.steps) == reports


async def test_each_kind_of_asking_is_kept() -> None:
    bench = Bench()
    await bench.call("web_search_images", query="a lighthouse")
    await bench.call("read_page", url=URL)
    await bench.call("search_and_read", query="tides", num_results=2)

    both, read, images = calls_of(bench)

    assert [part.about for part in images.parts] == ["a lighthouse"]
    assert [step.instance for step in read.parts[0].steps] == ["trafilatura"]
    assert [part.about for part in both.parts] == ["tides", "https://site1.example/", "https://site2.example/"]


async def test_a_page_that_was_read_leaves_no_text_behind() -> None:
    bench = Bench(FakeBackend(on_read=lambda target: page(target.url, "word " * 1_000)))
    await bench.call("read_page", url=URL)

    assert "word word" not in repr(calls_of(bench))


async def test_a_failed_read_is_kept_with_its_steps() -> None:
    steps = (Step("trafilatura", "failed", Kind.BLOCKED), Step("jina", "skipped", Kind.THROTTLED))
    bench = Bench(FakeBackend(on_read=lambda target: unread(target.url, *steps)))

    await bench.call("read_page", url=URL)

    [call] = calls_of(bench)
    assert call.ended == "failed"
    assert [(step.instance, step.reason) for step in call.parts[0].steps] == [
        ("trafilatura", "blocked"),
        ("jina", "throttled"),
    ]


async def test_a_call_with_wrong_arguments_says_what_was_wrong() -> None:
    bench = Bench()
    await bench.call("read_page", url="nope")
    await bench.call("web_search", query=7)

    wrong_type, wrong_url = calls_of(bench)

    assert (wrong_url.ended, wrong_url.asked, wrong_url.parts) == ("failed", "nope", ())
    assert wrong_url.rejected == "invalid url"
    assert (wrong_type.ended, wrong_type.asked) == ("failed", None)


async def test_a_call_whose_client_left_shows_what_was_not_finished(autojump_clock: trio.testing.MockClock) -> None:
    bench = Bench(FakeBackend(on_search=forever))
    with trio.move_on_after(3):
        await bench.call("web_search", query=["one", "two"])

    [call] = calls_of(bench)
    assert (call.ended, call.elapsed) == ("given_up", 3.0)
    assert sorted((part.about, part.status) for part in call.parts) == [("one", None), ("two", None)]


async def test_the_newest_fifty_are_kept_and_numbered_on() -> None:
    bench = Bench()
    for number in range(MAX_CALLS + 7):
        await bench.call("web_search", query=f"q{number}")

    calls = calls_of(bench)

    assert [call.number for call in calls] == list(range(MAX_CALLS + 7, 7, -1))
    assert calls[0].parts[0].about == f"q{MAX_CALLS + 6}"


async def test_what_is_kept_of_one_call_has_an_end() -> None:
    steps = tuple(Report(f"i{number}", "ok") for number in range(9))

    bench = Bench(FakeBackend(on_search=lambda query: found(hit(1), query=query.text, reports=steps)))
    await bench.call("web_search", query=["a", "b", "c", "d", "e"])

    [call] = calls_of(bench)

    assert sorted(len(part.steps) for part in call.parts) == [0, MAX_STEPS - 27, 9, 9, 9]
    assert all(len(part.steps) + part.more_steps == 9 for part in call.parts)


async def test_more_parts_than_are_kept_are_counted() -> None:
    bench = Bench()
    await bench.call("read_pages", urls=[f"{URL}{number}?{'q' * 400}" for number in range(MAX_PARTS + 3)])

    [call] = calls_of(bench)

    assert (len(call.parts), call.more_parts) == (MAX_PARTS, 3)
    assert all(len(part.about) == MAX_ABOUT_CHARS for part in call.parts)


async def test_a_refused_call_is_not_among_them() -> None:
    bench = Bench()
    bench.calls.drain()
    await bench.call("web_search", query="q")

    seen = bench.calls.history.statistics(trio.current_time())

    assert calls_of(bench) == ()
    assert (sum(seen.failed), sum(seen.timed)) == (1, 0)


async def test_ended_calls_are_in_the_hour_of_all_calls(autojump_clock: trio.testing.MockClock) -> None:
    bench = Bench(FakeBackend(on_read=lambda target: unread(target.url)))
    await bench.call("web_search", query="q")
    await bench.call("read_page", url=URL)

    seen = bench.calls.history.statistics(trio.current_time())

    assert (sum(seen.answered), sum(seen.failed), sum(seen.timed)) == (1, 1, 2)
